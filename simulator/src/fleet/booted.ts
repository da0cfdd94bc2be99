import { join } from 'node:path'
import * as z from 'zod/mini'
import { kernelArgument } from '../machine/kernel-line.ts'
import { seeded } from '../random.ts'
import { readState, writeState } from '../store.ts'
import {
  addressAt,
  bmcAddressOf,
  type Spot,
  TALOS,
  PLAIN_SCHEMATIC,
  type ServerPlan,
} from './plan.ts'
import { faultSchema } from './faults.ts'
import { ALL_MODEL_NAMES, MODEL_NAMES, type ModelName } from './hardware.ts'
import { PLACES } from './places.ts'
import { placeCode, schematicId, talosVersion, uuid, word } from './scenario.ts'

/** Options for booting new machines. */
export const bootSchema = z.strictObject({
  /** The full kernel command line, as an image or a network boot has it. */
  kernel_command_line: z.string().check(
    z.maxLength(4096, 'a kernel command line has at most 4096 characters'),
    z.refine(
      (line) => kernelArgument(line, 'talos.platform') === 'metal',
      'Talos boots here with talos.platform=metal only',
    ),
  ),
  count: z._default(z.int().check(z.minimum(1), z.maximum(5000)), 1),
  datacenter: z.optional(placeCode),
  talos: z._default(talosVersion, TALOS.at(-1)!),
  /**
   * The image's schematic. Default: the newest one in the simulated factory whose kernel arguments
   * occur in the command line.
   */
  schematic: z.optional(schematicId),
  hardware: z.optional(z.enum(ALL_MODEL_NAMES)),
  slowness: z._default(z.number().check(z.minimum(0.1), z.maximum(100)), 1),
  /** UUID and serial number of every new board. Real boards sometimes share them. */
  uuid: z.optional(uuid),
  serial: z.optional(word),
  /** Wrong values that the machines send in place of their own when they announce themselves. */
  announce: z._default(
    z.strictObject({ uuid: z.optional(word), serial: z.optional(word), mac: z.optional(word) }),
    {},
  ),
  faults: z._default(z.array(faultSchema), []),
  /** What the network of the machine lacks, so that its image has to bring it. */
  site: z._default(
    z.strictObject({
      /** Nobody gives the machine an address: one of its documents has to. */
      no_dhcp: z._default(z.boolean(), false),
      /** The certificate in PEM of the authority behind which `talos.config` lies. */
      authority: z.optional(z.string()),
    }),
    { no_dhcp: false },
  ),
})
export type BootOptions = z.infer<typeof bootSchema>

/** How a machine outside of the scenario was booted. */
export interface Boot {
  kernelCommandLine: string
  announce: { uuid?: string | undefined; serial?: string | undefined; mac?: string | undefined }
  site: BootOptions['site']
}

/** A machine outside of the scenario, as it is stored. */
interface Record {
  number: number
  spot: Spot
  place: string
  model: ModelName
  wish: Omit<BootOptions, 'count'>
  schematic: string
}

/** Number of the first machine outside of the scenario. High, so that the scenario may grow. */
const FIRST_BOOTED = 1_000_000

/** Machines outside of the scenario. They survive a restart of the simulator. */
export class BootedFleet {
  readonly #path: string
  readonly #seed: string
  readonly #offset: number
  #records: Record[]

  constructor(dataDir: string, seed: string, offset: number) {
    this.#path = join(dataDir, 'booted.json')
    this.#seed = seed
    this.#offset = offset
    this.#records = (readState(this.#path) as Record[] | null) ?? []
  }

  plans(): ServerPlan[] {
    return this.#records.map((record) => this.#plan(record))
  }

  /** Adds and stores a machine for each free address in `spots`. */
  add(
    wish: BootOptions,
    schematic: string | null,
    spots: readonly Spot[],
    defaultPlace: string,
  ): ServerPlan[] {
    const { count: _, ...each } = wish
    let number = Math.max(0, ...this.#records.map((record) => record.number))
    const made = spots.map((spot): Record => {
      number++
      const model = wish.hardware ?? seeded(`${this.#seed}/booted/${number}`).pick(MODEL_NAMES)
      return {
        number,
        spot,
        place: wish.datacenter ?? defaultPlace,
        model,
        wish: each,
        schematic: wish.schematic ?? schematic ?? PLAIN_SCHEMATIC,
      }
    })
    this.#records = [...this.#records, ...made]
    writeState(this.#path, this.#records)
    return made.map((record) => this.#plan(record))
  }

  remove(index: number): void {
    this.#records = this.#records.filter(({ number }) => number + FIRST_BOOTED !== index)
    writeState(this.#path, this.#records)
  }

  #plan({ number, spot, place, model, wish, schematic }: Record): ServerPlan {
    return {
      index: FIRST_BOOTED + number,
      name: `boot-${String(number).padStart(3, '0')}`,
      address: addressAt(spot, this.#offset),
      place: PLACES.find(({ code }) => code === place) ?? PLACES[0]!,
      model,
      talosVersion: wish.talos,
      schematic,
      slowness: wish.slowness,
      missingDisks: false,
      secondNetwork: false,
      contents: {},
      media: [],
      power: 'on',
      isBare: false,
      bmc: {
        address: bmcAddressOf(addressAt(spot, this.#offset)),
        personality: 'plain',
        faults: [],
      },
      installed: null,
      faults: wish.faults,
      identity: { uuid: wish.uuid, serial: wish.serial },
      boot: {
        kernelCommandLine: wish.kernel_command_line,
        announce: wish.announce,
        site: wish.site,
      },
    }
  }
}

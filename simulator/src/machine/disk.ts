import type { DiskContent } from '../fleet/media.ts'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Fault } from '../fleet/faults.ts'
import { identityOf, type Identity } from '../fleet/hardware.ts'
import type { Spot } from '../fleet/addresses.ts'
import type { ServerPlan } from '../fleet/plan.ts'
import { readState, writeState } from '../store.ts'

export interface Counters {
  boots: number
  applies: number
  installs: number
  failedInstalls: number
  reboots: number
  resets: number
  bootstrapCalls: number
  /** Bootstrap calls that made an etcd cluster: across one cluster this may never be more than one. */
  bootstraps: number
}

/** What survives a power cut: what is on the disks, in the firmware and in the counters of the simulation. */
export interface Persisted {
  power: 'on' | 'off'
  installed: { version: string; disk: string; image: string } | null
  /** The installer failed after it had made the partitions: Talos takes the disk for one that it is on, and nothing boots from it. */
  half?: boolean
  /** The configuration on the STATE partition. */
  config: string | null
  /** The data directory of etcd on the EPHEMERAL partition: which cluster and which member, in hexadecimal. */
  etcd: { cluster: string; member: string } | null
  meta: Record<string, string>
  /** Disk to what stands on it; nothing on those that aren't named, Talos on the one that it is installed on. */
  contents?: Record<string, DiskContent>
  /** Changed when the simulated main board was swapped: other UUID and serial number. */
  identitySalt: string
  /** What became of the disks: the names of the first two of a kind given to each other, or the last one gone. */
  disks?: 'swapped' | 'lost'
  /** Where it is from its next boot on, if it was moved. */
  spot?: Spot
  /** What `BlockDeviceWipe` was told to wipe, by the names of then. */
  wiped?: string[]
  faults: Fault[]
  counters: Counters
}

const NOTHING: Counters = { boots: 0, applies: 0, installs: 0, failedInstalls: 0, reboots: 0, resets: 0, bootstrapCalls: 0, bootstraps: 0 }

export class MachineDisk {
  readonly state: Persisted
  readonly #path: string
  readonly #plan: ServerPlan
  readonly #seed: string

  constructor(folder: string, plan: ServerPlan, seed: string, load: boolean) {
    // Named by the place in the rack, which stays when the board (and with it the UUID) is swapped.
    this.#path = join(folder, `${plan.index + 1}.json`)
    this.#plan = plan
    this.#seed = seed
    const stored = load ? (readState(this.#path) as Persisted | null) : null
    this.state = stored ?? {
      power: plan.power,
      installed: plan.installed ? { version: plan.installed, disk: '', image: '' } : null,
      config: null,
      etcd: null,
      meta: {},
      contents: { ...plan.contents },
      identitySalt: '',
      faults: structuredClone(plan.faults),
      counters: { ...NOTHING },
    }
  }

  get identity(): Identity {
    const own = identityOf(this.#seed, this.#plan.index, this.#plan.model, this.state.identitySalt)
    const { boot } = this.#plan
    // A board that was swapped is another one, whatever the first was said to be.
    if (!boot || this.state.identitySalt !== '') return own
    return { uuid: boot.uuid ?? own.uuid, serial: boot.serial ?? own.serial }
  }

  /** Changes the state and writes it before returning. */
  change(act: (state: Persisted) => void): void {
    act(this.state)
    writeState(this.#path, this.state)
  }

  /** Forgets it all, for a machine that is taken away for good. */
  erase(): void {
    rmSync(this.#path, { force: true })
  }

  count(counter: keyof Counters): void {
    this.change((state) => {
      state.counters[counter]++
    })
  }
}

import type { DiskContent } from '../fleet/media.ts'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fault } from '../fleet/faults.ts'
import { identityOf, type Identity } from '../fleet/hardware.ts'
import type { Spot, ServerPlan } from '../fleet/plan.ts'
import { readState, writeState } from '../store.ts'
import type { Volumes } from './volumes/state.ts'

/** State that survives a power cut: disks, firmware and the simulation's counters. */
export interface Persisted {
  power: 'on' | 'off'
  installed: { version: string; disk: string; image: string } | null
  /** The version that the other entry of the boot loader starts; set by an upgrade. */
  previous?: { version: string; image: string }
  /** A staged upgrade, which the next boot installs. */
  staged?: { image: string }
  /**
   * The installer failed after partitioning: Talos counts as installed, but the disk doesn't boot.
   */
  half?: 'unformatted' | 'without-boot-loader'
  /** The configuration on the STATE partition. */
  config: string | null
  /** etcd's data directory on the EPHEMERAL partition: ids of cluster and member in hexadecimal. */
  etcd: { cluster: string; member: string } | null
  /**
   * The kubelet's client certificate on the EPHEMERAL partition: its authority and the name of its
   * node.
   */
  kubelet?: { ca: string; name: string }
  meta: Record<string, string>
  /** Content by disk. Other disks are empty, except for the one with Talos. */
  contents?: Record<string, DiskContent>
  /** RAID arrays and LVM volumes on the disks. */
  volumes?: Volumes
  /**
   * Changes when the simulated main board is swapped. A new board has another UUID and serial
   * number.
   */
  identitySalt: string
  /**
   * Simulated change of the disks: `swapped` exchanges the names of the first two of a kind, `lost`
   * removes the last one.
   */
  disks?: 'swapped' | 'lost'
  /** The machine's address from the next boot on, if it was moved. */
  spot?: Spot
  /** Names of the disks that `BlockDeviceWipe` has wiped, as of the time of the wipe. */
  wiped?: string[]
  faults: Fault[]
  counters: Counters
}

/**
 * `bootstraps` counts the calls that created an etcd cluster. The sum over all machines of a
 * cluster must never exceed one.
 */
const NOTHING = {
  boots: 0,
  applies: 0,
  installs: 0,
  upgrades: 0,
  failedInstalls: 0,
  reboots: 0,
  resets: 0,
  bootstrapCalls: 0,
  bootstraps: 0,
}
type Counters = typeof NOTHING

export class MachineDisk {
  readonly state: Persisted
  readonly #path: string
  readonly #plan: ServerPlan
  readonly #seed: string
  #own: { salt: string; identity: Identity } | undefined

  constructor(folder: string, plan: ServerPlan, seed: string, load: boolean) {
    // The file is named after the position in the rack, which doesn't change when the board (and
    // with it the UUID) is swapped.
    this.#path = join(folder, `${plan.index + 1}.json`)
    this.#plan = plan
    this.#seed = seed
    const stored = load ? (readState(this.#path) as Persisted | null) : null
    if (stored) stored.counters = { ...NOTHING, ...stored.counters }
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
    const salt = this.state.identitySalt
    if (this.#own?.salt !== salt)
      this.#own = {
        salt,
        identity: identityOf(this.#seed, this.#plan.index, this.#plan.model, salt),
      }
    const own = this.#own.identity
    const { identity } = this.#plan
    // After a swap of the board, the given identity no longer applies.
    if (salt !== '') return own
    return { uuid: identity.uuid ?? own.uuid, serial: identity.serial ?? own.serial }
  }

  /** Changes the state and persists it before returning. */
  change(act: (state: Persisted) => void): void {
    act(this.state)
    writeState(this.#path, this.state)
  }

  /** An uploaded etcd snapshot on the EPHEMERAL partition; null without one. */
  get snapshot(): Buffer | null {
    return existsSync(this.#snapshotPath) ? readFileSync(this.#snapshotPath) : null
  }

  keepSnapshot(content: Buffer): void {
    writeFileSync(`${this.#snapshotPath}.part`, content)
    renameSync(`${this.#snapshotPath}.part`, this.#snapshotPath)
  }

  dropSnapshot(): void {
    rmSync(this.#snapshotPath, { force: true })
  }

  get #snapshotPath(): string {
    return this.#path.replace(/\.json$/, '.snapshot')
  }

  /** Deletes the state of a removed machine. */
  erase(): void {
    this.dropSnapshot()
    rmSync(this.#path, { force: true })
  }

  count(counter: keyof Counters): void {
    this.change((state) => {
      state.counters[counter]++
    })
  }
}

import { randomUUID } from 'node:crypto'
import { AddressEventSchema } from '#talos/proto/gen/machine/machine_pb.ts'
import type { EtcdCluster } from '../cluster/etcd.ts'
import { isInstaller } from '../config/images.ts'
import { loadConfig } from '../config/load.ts'
import { addressWith, admits } from '../config/network.ts'
import { readNodeConfig } from '../config/node-config.ts'
import { minorOf } from '../config/versions.ts'
import type { Fault, Stage } from '../fleet/faults.ts'
import { hardwareOf, type Hardware, type Link, rearranged, withoutLast } from '../fleet/hardware.ts'
import { type ServerPlan, PLAIN_SCHEMATIC, addressAt } from '../fleet/plan.ts'
import type { ServerIdentity } from '../wire/certificates.ts'
import { Port } from '../wire/port.ts'
import type { World } from '../world.ts'
import type { ActiveConfig, ApiMode } from './active.ts'
import type { Announced, EtcdOrder, Machine, Partition, StaticPod } from './machine.ts'
import { MachineDisk } from './disk.ts'
import { Lifecycle } from './lifecycle.ts'
import { Journal } from './journal.ts'
import { Services, type ServiceState } from './services.ts'
import { announcedBy, hostnameOf, kernelLineOf } from './naming.ts'
import { StageTracker } from './stage.ts'
import { unmetBy } from './unmet.ts'
import { storeNow } from './trial.ts'
import { settleVolumes } from './volumes/settle.ts'
import { untilChange } from './waiting.ts'

/** Shortest pause between two checks, in milliseconds of real time. */
const SHORTEST_LOOK_MS = 20

export class SimulatedMachine implements Machine {
  readonly plan: ServerPlan
  readonly seed: string
  readonly world: World
  readonly disk: MachineDisk
  readonly journal: Journal
  readonly services: Services
  readonly stage: StageTracker
  readonly ports: { apid: Port; trustd: Port; kubernetes: Port; etcdHttp: Port }

  bootId = ''
  timeEpoch = 0
  #hadOffMs = 0
  /**
   * The installed Talos that this boot has started. Null if the machine was started by its boot
   * media.
   */
  #booted: { version: string; image: string } | null = null
  mode: ApiMode = 'off'
  identity: ServerIdentity | null = null
  config: ActiveConfig | null = null
  nodeReady = false
  isRegistered = false
  apiServerUp = false
  lastHeartbeat = Number.NEGATIVE_INFINITY
  onStage: (stage: Stage) => void = () => undefined
  onConfig: ((config: ActiveConfig) => void) | null = null
  restartKubelet: (() => void) | null = null
  bootstrapEtcd: ((order: EtcdOrder) => void) | null = null
  onSettings: (() => void) | null = null
  onPeer: (() => void) | null = null
  readonly staticPods = new Map<string, StaticPod>()
  readonly images = new Map<string, number>()
  cancelTry: (() => void) | null = null
  unsaved: string | null = null
  virtualAddresses: readonly string[] = []
  hasMeta = false
  wiped: { readonly disk: string; readonly parts: readonly Partition[] } | null = null
  hasEphemeral = false
  unattendedInstall: Machine['unattendedInstall'] = null
  rebootPending = false
  lateDisks = 0
  readonly lifecycle: Lifecycle
  #hardware: Hardware | null = null
  /** The address that the network assigns by DHCP. */
  #leased: string

  constructor(plan: ServerPlan, world: World, folder: string, seed: string, load: boolean) {
    this.plan = plan
    this.seed = seed
    this.world = world
    this.disk = new MachineDisk(folder, plan, seed, load)
    if (this.disk.state.spot) plan.address = addressAt(this.disk.state.spot, world.subnetOffset)
    this.#leased = plan.address
    this.journal = new Journal(world.clock.now)
    this.services = new Services(this.journal, world.clock.now)
    this.stage = new StageTracker(this.journal, (stage) => this.onStage(stage))
    this.ports = {
      apid: new Port(plan.address, 50_000),
      trustd: new Port(plan.address, 50_001),
      kubernetes: new Port(plan.address, 6443),
      etcdHttp: new Port(plan.address, 2383),
    }
    for (const port of Object.values(this.ports))
      port.admits = (from) =>
        from === port.address || admits(this.config?.loaded ?? null, port.port, from)
    this.lifecycle = new Lifecycle(this)
  }

  get hardware(): Hardware {
    return (this.#hardware ??= withoutLast(
      rearranged(
        hardwareOf(this.seed, this.plan.index, this.plan.model, {
          missingDisks: this.plan.missingDisks,
          secondNetwork: this.plan.secondNetwork,
          media: this.plan.media,
        }),
        this.disk.state.disks,
      ),
      this.lateDisks,
      this.systemDisk,
    ))
  }

  reread(): void {
    this.#hardware = null
  }

  now(): number {
    return this.world.clock.now() + this.#offMs
  }

  get isTimeSynced(): boolean {
    return this.#timeFault === undefined
  }

  get #offMs(): number {
    return this.#timeFault?.off_ms ?? 0
  }

  get #timeFault(): Extract<Fault, { kind: 'time' }> | undefined {
    return this.disk.state.faults.find((fault) => fault.kind === 'time')
  }

  async retime(): Promise<void> {
    if (this.#offMs !== this.#hadOffMs) this.timeEpoch++
    this.#hadOffMs = this.#offMs
    await this.world.api.renewSecured(this)
    this.evaluate()
    this.journal.changed()
  }

  get bootedFromDisk(): boolean {
    return this.#booted !== null
  }

  get isOn(): boolean {
    return this.disk.state.power === 'on'
  }

  get talosVersion(): string {
    return this.#booted?.version ?? this.plan.talosVersion
  }

  get talosMinor(): number {
    return minorOf(this.talosVersion)
  }

  get schematic(): string {
    const image = this.#booted?.image
    if (!image) return this.plan.schematic
    return /\/([0-9a-f]{64}):/.exec(image)?.[1] ?? PLAIN_SCHEMATIC
  }

  get kernelCommandLine(): string {
    return kernelLineOf(this, this.#booted?.image)
  }

  get isSecureBoot(): boolean {
    return this.kernelCommandLine.includes('lockdown=confidentiality')
  }

  get announced(): Announced {
    return announcedBy(this)
  }

  get systemDisk(): string | null {
    const { installed } = this.disk.state
    return installed ? installed.disk || (this.hardware.disks[0]?.name ?? null) : null
  }

  get hostname(): string {
    return hostnameOf(this)
  }

  get managementLink(): Link {
    return this.hardware.links[0]!
  }

  get hasAddress(): boolean {
    return this.#addressNow !== null
  }

  get #addressNow(): string | null {
    const { config, managementLink } = this
    return config ? addressWith(config.loaded, managementLink, this.#leased) : this.#leased
  }

  get ownNames(): string[] {
    return [
      this.plan.address,
      '127.0.0.1',
      '::1',
      this.hostname,
      ...(this.config?.node?.certSans ?? []),
    ]
  }

  get etcdCluster(): EtcdCluster | undefined {
    const { etcd } = this.disk.state
    return etcd ? this.world.etcd.get(etcd.cluster) : undefined
  }

  async takes(ms: number, signal?: AbortSignal): Promise<void> {
    await this.world.clock.sleep(ms * this.plan.slowness, signal)
  }

  async looksAgainAfter(ms: number, signal?: AbortSignal): Promise<void> {
    await this.world.clock.sleep(
      Math.max(ms * this.plan.slowness, SHORTEST_LOOK_MS * this.world.clock.speed),
      signal,
    )
  }

  async until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    await untilChange(this.journal, condition, signal)
  }

  service(id: string, state: ServiceState, message: string, healthy: boolean | null = null): void {
    this.services.set(id, state, message, healthy)
    if (id === 'etcd') this.etcdCluster?.observeQuorum()
    this.evaluate()
  }

  evaluate(): void {
    this.stage.conditions(unmetBy(this))
  }

  activate(text: string): ActiveConfig {
    const loaded = loadConfig(text, this.talosMinor)
    const since = this.world.clock.now()
    this.config = { text, loaded, node: readNodeConfig(loaded), since }
    this.plan.address = this.#addressNow ?? this.plan.address
    settleVolumes(this)
    this.journal.changed()
    return this.config
  }

  announceAddress(): void {
    this.journal.event(AddressEventSchema, {
      hostname: this.hostname,
      addresses: [this.plan.address],
    })
  }

  beginBoot(): void {
    this.goDark()
    storeNow(this)
    this.settle()
    this.bootId = randomUUID()
    this.timeEpoch = 0
    this.#hadOffMs = this.#offMs
    this.hasMeta = this.disk.state.installed !== null
    const { installed, half } = this.disk.state
    this.#booted =
      installed && !half ? { version: installed.version, image: installed.image } : null
    this.config = null
    this.cancelTry?.()
    this.cancelTry = null
    for (const port of Object.values(this.ports)) void port.hide(false)
    this.rebootPending = false
    this.wiped = null
    this.hasEphemeral = false
    this.unattendedInstall = null
    // Installers are in the store of the system's containerd, which is in memory.
    for (const reference of this.images.keys())
      if (isInstaller(reference)) this.images.delete(reference)
    this.services.clear()
    this.etcdCluster?.observeQuorum()
    this.stage.reset()
    this.journal.restart()
  }

  settle(): void {
    const { spot } = this.disk.state
    if (spot) this.#leased = addressAt(spot, this.world.subnetOffset)
    this.plan.address = this.#leased
    for (const port of Object.values(this.ports)) void port.move(this.plan.address)
  }

  async answerThere(): Promise<void> {
    const { address } = this.plan
    await Promise.all(
      Object.values(this.ports).map(async (port) => {
        // Another machine may have the address.
        await port
          .move(address)
          .catch((cause: unknown) => this.world.say(`${this.plan.name}: ${String(cause)}`))
        await port.hide(!this.hasAddress)
      }),
    )
  }

  goDark({ gently = false } = {}): void {
    if (this.nodeReady) this.lastHeartbeat = this.world.clock.elapsed()
    this.mode = 'off'
    this.identity = null
    this.apiServerUp = false
    this.nodeReady = false
    this.isRegistered = false
    this.virtualAddresses = []
    this.staticPods.clear()
    this.restartKubelet = null
    this.bootstrapEtcd = null
    this.onSettings = null
    this.onPeer = null
    for (const port of Object.values(this.ports)) port.close({ gently })
  }

  strike<Kind extends Fault['kind']>(
    kind: Kind,
    matches: (fault: Extract<Fault, { kind: Kind }>) => boolean = () => true,
  ): boolean {
    const isMeant = (fault: Fault): fault is Extract<Fault, { kind: Kind }> => fault.kind === kind
    const index = this.disk.state.faults.findIndex((fault) => isMeant(fault) && matches(fault))
    const fault = this.disk.state.faults[index]
    if (!fault) return false
    this.disk.change(({ faults }) => {
      if ('times' in fault && fault.times > 1) fault.times--
      else faults.splice(index, 1)
    })
    return true
  }
}

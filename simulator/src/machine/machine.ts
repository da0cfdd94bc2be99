import { createHash, randomUUID } from 'node:crypto'
import { AddressEventSchema } from '#talos/proto/gen/machine/machine_pb.ts'
import { Interrupted } from '../clock.ts'
import type { EtcdCluster } from '../cluster/etcd.ts'
import { isInstaller } from '../config/images.ts'
import { loadConfig, type Loaded } from '../config/load.ts'
import { keepsAddress, readNodeConfig, STATIC_PODS, type NodeConfig } from '../config/node-config.ts'
import { minorOf } from '../config/versions.ts'
import type { Fault, Stage } from '../fleet/faults.ts'
import { hardwareOf, type Hardware, type Link, rearranged } from '../fleet/hardware.ts'
import { type ServerPlan, PLAIN_SCHEMATIC, addressAt } from '../fleet/plan.ts'
import { kernelCommandLine } from '../factory/assets.ts'
import type { ServerIdentity } from '../wire/certificates.ts'
import { Port } from '../wire/port.ts'
import type { World } from '../world.ts'
import { MachineDisk } from './disk.ts'
import { kernelArgument } from './kernel-line.ts'
import { Lifecycle } from './lifecycle.ts'
import { Journal } from './journal.ts'
import { Services, type ServiceState } from './services.ts'
import { StageTracker, type Unmet } from './stage.ts'
import type { StaticPod } from './static-pods.ts'

export interface ActiveConfig {
  text: string
  loaded: Loaded
  /** Null if the configuration has no main document: the machine then stays in maintenance. */
  node: NodeConfig | null
}

const METAL = { platform: 'metal', arch: 'amd64' } as const

/**
 * How the API on port 50000 answers: not at all, to any client (maintenance), or only to clients with a certificate of the cluster.
 * A configured worker without a certificate is `dark`.
 */
export type ApiMode = 'off' | 'maintenance' | 'secured' | 'dark'

/** Shortest pause between two checks, in milliseconds of real time. */
const SHORTEST_LOOK_MS = 20

/** A simulated server: its hardware, its disks and its running state. */
export class Machine {
  readonly plan: ServerPlan
  readonly seed: string
  readonly world: World
  readonly disk: MachineDisk
  readonly journal: Journal
  readonly services: Services
  readonly stage: StageTracker
  readonly ports: { apid: Port; trustd: Port; kubernetes: Port }

  bootId = ''
  /** Number of clock jumps since the boot. */
  timeEpoch = 0
  #hadOffMs = 0
  /** The installed Talos that this boot has started. Null if the machine was started by its boot media. */
  #booted: { version: string; image: string } | null = null
  mode: ApiMode = 'off'
  /** The certificate of the API: one for maintenance, made at first use, or one of the cluster. */
  identity: Promise<ServerIdentity> | null = null
  config: ActiveConfig | null = null
  nodeReady = false
  /** Whether the kubelet reports to the cluster's API, ready or not. */
  isRegistered = false
  apiServerUp = false
  /** Simulated time at which kubelet last reported. */
  lastHeartbeat = Number.NEGATIVE_INFINITY
  onStage: (stage: Stage) => void = () => undefined
  onConfig: ((config: ActiveConfig) => void) | null = null
  /** Stops the kubelet and starts it again. Null while Talos doesn't run it. */
  restartKubelet: (() => void) | null = null
  /** Called when a new configuration has taken effect. */
  onSettings: (() => void) | null = null
  /** Called when a new configuration of another machine of the cluster has taken effect. */
  onPeer: (() => void) | null = null
  /** Static pods by name. */
  readonly staticPods = new Map<string, StaticPod>()
  /** Images that were pulled, with the time. */
  readonly images = new Map<string, number>()
  /** Reverts a configuration that was applied with mode `try`. */
  cancelTry: (() => void) | null = null
  /** Virtual addresses that this control plane currently has. */
  virtualAddresses: readonly string[] = []
  /** Whether the partition META existed at boot. If so, Talos counts as installed. Checked only at boot (Talos: volume_manager.go, VolumePhaseReady). */
  hasMeta = false
  /** Whether the EPHEMERAL volume was found or made in this boot. */
  hasEphemeral = false
  /** Whether a requested reboot will activate the configuration on the disk. */
  rebootPending = false
  readonly lifecycle: Lifecycle
  #hardware: Hardware | null = null

  constructor(plan: ServerPlan, world: World, folder: string, seed: string, load: boolean) {
    this.plan = plan
    this.seed = seed
    this.world = world
    this.disk = new MachineDisk(folder, plan, seed, load)
    if (this.disk.state.spot) plan.address = addressAt(this.disk.state.spot, world.subnetOffset)
    this.journal = new Journal(world.clock.now)
    this.services = new Services(this.journal, world.clock.now)
    this.stage = new StageTracker(this.journal, (stage) => this.onStage(stage))
    this.ports = { apid: new Port(plan.address, 50_000), trustd: new Port(plan.address, 50_001), kubernetes: new Port(plan.address, 6443) }
    this.lifecycle = new Lifecycle(this)
  }

  get hardware(): Hardware {
    return (this.#hardware ??= rearranged(
      hardwareOf(this.seed, this.plan.index, this.plan.model, { missingDisks: this.plan.missingDisks, media: this.plan.media }),
      this.disk.state.disks,
    ))
  }

  /** Drops the cached hardware, so that it is read again. */
  reread(): void {
    this.#hardware = null
  }

  /** The machine's own clock. */
  now(): number {
    return this.world.clock.now() + this.#offMs
  }

  /** Whether the machine's time servers have answered. Talos starts etcd, trustd and kubelet only after that. */
  get isTimeSynced(): boolean {
    return this.#timeFault === undefined
  }

  get #offMs(): number {
    return this.#timeFault?.off_ms ?? 0
  }

  get #timeFault(): Extract<Fault, { kind: 'time' }> | undefined {
    return this.disk.state.faults.find((fault) => fault.kind === 'time')
  }

  /** After a clock jump: issues certificates for the new time (Talos: secrets/api.go, triggered by the time status) and wakes waiters. */
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

  /** Version of the running Talos: the version on disk if the machine has booted from disk, otherwise the version of the boot media. */
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

  /** The kernel's command line: of the installed image if the factory has its schematic, otherwise of the boot media. */
  get kernelCommandLine(): string {
    const own = this.bootedFromDisk ? this.world.schematic(this.schematic) : undefined
    const booted = this.bootedFromDisk && this.schematic !== this.plan.schematic ? undefined : this.plan.boot?.kernelCommandLine
    const image = { ...METAL, secureboot: this.#booted?.image.includes('-secureboot/') === true }
    const line = own ? kernelCommandLine(image, own) : (booted ?? kernelCommandLine(image, { extraKernelArgs: [] }))
    return `${line} simulated=1`
  }

  /** Whether the machine has booted an image for secure boot, which locks the kernel down. */
  get isSecureBoot(): boolean {
    return this.kernelCommandLine.includes('lockdown=confidentiality')
  }

  /** Values of the variables in the machine's configuration URL. A value is empty until it is known. */
  get announced() {
    const { uuid, serial } = this.disk.identity
    const lies = this.plan.boot?.announce
    // There is no configuration yet, so only the kernel argument can set a host name.
    return {
      uuid: lies?.uuid ?? uuid,
      serial: lies?.serial ?? serial,
      mac: lies?.mac ?? this.managementLink.mac,
      hostname: kernelArgument(this.kernelCommandLine, 'talos.hostname') ?? '',
      code: this.disk.state.meta['0x0b'] ?? '',
    }
  }

  get systemDisk(): string | null {
    const { installed } = this.disk.state
    return installed ? installed.disk || (this.hardware.disks[0]?.name ?? null) : null
  }

  /**
   * The host name from the configuration, otherwise from the kernel argument, otherwise the stable host name that Talos derives from the machine's
   * identity.
   */
  get hostname(): string {
    const configured = this.config?.loaded.documents.find(({ kind }) => kind === 'HostnameConfig')?.body.hostname
    if (this.config?.node?.hostname) return this.config.node.hostname
    if (typeof configured === 'string' && configured !== '') return configured
    const booted = kernelArgument(this.kernelCommandLine, 'talos.hostname')
    if (booted) return booted
    const hash = BigInt(`0x${createHash('sha256').update(this.disk.identity.uuid).digest('hex').slice(0, 16)}`).toString(36)
    return `talos-${hash.slice(0, 3)}-${hash.slice(3, 6)}`
  }

  get managementLink(): Link {
    return this.hardware.links[0]!
  }

  /** Whether the active configuration keeps the machine's address. If it doesn't, the machine is unreachable. */
  get hasAddress(): boolean {
    return !this.config || keepsAddress(this.config.loaded, this.managementLink, this.plan.address)
  }

  /** Names and addresses for the certificates of the machine's services. */
  get ownNames(): string[] {
    return [this.plan.address, '127.0.0.1', '::1', this.hostname, ...(this.config?.node?.certSans ?? [])]
  }

  get etcdCluster(): EtcdCluster | undefined {
    const { etcd } = this.disk.state
    return etcd ? this.world.etcd.get(etcd.cluster) : undefined
  }

  /** Sleeps `ms` simulated milliseconds, multiplied by the server's slowness. */
  async takes(ms: number, signal?: AbortSignal): Promise<void> {
    await this.world.clock.sleep(ms * this.plan.slowness, signal)
  }

  /**
   * Sleeps between two checks of a condition outside of this machine: `ms` simulated milliseconds, but at least 20 ms of real time. At a high speed a hundred
   * machines would otherwise do nothing but check.
   */
  async looksAgainAfter(ms: number, signal?: AbortSignal): Promise<void> {
    await this.world.clock.sleep(Math.max(ms * this.plan.slowness, SHORTEST_LOOK_MS * this.world.clock.speed), signal)
  }

  /** Resolves when the condition is true. The condition is checked after every change of the machine. */
  async until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw new Interrupted()
    if (condition()) return
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        unwatch()
        signal.removeEventListener('abort', onAbort)
      }
      const onAbort = (): void => {
        stop()
        reject(new Interrupted())
      }
      const unwatch = this.journal.watch(() => {
        if (!condition()) return
        stop()
        resolve()
      })
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  service(id: string, state: ServiceState, message: string, healthy: boolean | null = null): void {
    this.services.set(id, state, message, healthy)
    if (id === 'etcd') this.etcdCluster?.observeQuorum()
    this.evaluate()
  }

  /** Updates the machine status with unmet conditions. */
  evaluate(): void {
    if (!this.config?.node) return this.stage.conditions([])
    const isControlPlane = this.config.node.role === 'controlplane'
    const required = ['apid', 'kubelet', 'machined', ...(isControlPlane ? ['etcd', 'trustd'] : [])].toSorted()
    const unmet: Unmet[] = this.isTimeSynced ? [] : [{ name: 'time', reason: 'time is not synced' }]
    const down = required.filter((id) => !this.services.isUp(id)).map((id) => `${id} ${this.services.isRunning(id) ? 'not healthy' : 'not running'}`)
    if (down.length > 0) unmet.push({ name: 'services', reason: down.join(', ') })
    const pods = isControlPlane ? this.#unreadyPods : []
    if (pods.length > 0) unmet.push({ name: 'staticPods', reason: pods.join(', ') })
    if (!this.nodeReady) unmet.push({ name: 'nodeReady', reason: `node "${this.hostname}" status is not ready` })
    this.stage.conditions(unmet)
  }

  /** The problem of each unhealthy static pod (Talos: controllers/runtime/machine_status.go, staticPodsCheck). */
  get #unreadyPods(): string[] {
    const unready = [...this.staticPods.values()].filter(({ ready }) => !ready)
    if (unready.length > 0) return unready.map(({ name, isPullFailing }) => `kube-system/${name}-${this.hostname} ${isPullFailing ? 'pending' : 'not ready'}`)
    return this.apiServerUp ? [] : STATIC_PODS.map((name) => `kube-system/${name} not running`)
  }

  /** Activates a configuration that this machine has accepted. */
  activate(text: string): ActiveConfig {
    const loaded = loadConfig(text, this.talosMinor)
    this.config = { text, loaded, node: readNodeConfig(loaded) }
    this.journal.changed()
    return this.config
  }

  announceAddress(): void {
    this.journal.event(AddressEventSchema, { hostname: this.hostname, addresses: [this.plan.address] })
  }

  /** Clears all state that doesn't survive a restart. */
  beginBoot(): void {
    this.goDark()
    this.settle()
    this.bootId = randomUUID()
    this.timeEpoch = 0
    this.#hadOffMs = this.#offMs
    this.hasMeta = this.disk.state.installed !== null
    const { installed, half } = this.disk.state
    this.#booted = installed && !half ? { version: installed.version, image: installed.image } : null
    this.config = null
    this.cancelTry?.()
    this.cancelTry = null
    this.rebootPending = false
    this.hasEphemeral = false
    // Installers are in the store of the system's containerd, which is in memory.
    for (const reference of this.images.keys()) if (isInstaller(reference)) this.images.delete(reference)
    this.services.clear()
    this.etcdCluster?.observeQuorum()
    this.stage.reset()
    this.journal.restart()
  }

  /** Starts to use the address that was assigned since the last boot. */
  settle(): void {
    const { spot } = this.disk.state
    if (!spot) return
    this.plan.address = addressAt(spot, this.world.subnetOffset)
    for (const port of Object.values(this.ports)) port.address = this.plan.address
  }

  /** Closes all ports. */
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
    this.onSettings = null
    this.onPeer = null
    for (const port of Object.values(this.ports)) port.close({ gently })
  }

  /** Uses up one occurrence of a fault of this kind. False if there is none. */
  strike<Kind extends Fault['kind']>(kind: Kind, matches: (fault: Extract<Fault, { kind: Kind }>) => boolean = () => true): boolean {
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

import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeConfig } from '../config/node-config.ts'
import type { LoadBalancer } from '../kubernetes/balancing/definitions.ts'
import type { Machine } from '../machine/machine.ts'
import { makeFolder, readState, writeState } from '../store.ts'

/** A member of an etcd cluster. */
export interface Member {
  /** 64 bits as hexadecimal. */
  id: string
  /** Number of the machine in the fleet. A machine that was wiped and joined again is a new member. */
  machine: number
  name: string
  address: string
  learner: boolean
  /** Size of the member's database file if it differs from the size of its content. */
  dbBytes?: number
}

export interface KubernetesState {
  /** The load balancer of Services; undefined until a load balancer has first run. */
  loadBalancer?: LoadBalancer
  resourceVersion: number
  deprecatedApis?: DeprecatedApi[]
  /** Objects by storage key, `group/plural/namespace/name`. */
  objects: Record<string, StoredObject>
}

/** A deprecated API that a client has called. */
export interface DeprecatedApi {
  group: string
  version: string
  resource: string
  subresource: string
  /** The Kubernetes release without this API, such as `1.37`. */
  removed_release: string
}

export interface StoredObject {
  body: Record<string, unknown>
  /** Fields by field manager, for server-side apply. */
  managers: Record<string, string[]>
  /** The key with which the API server has encrypted the object: its kind and a hash of it. Undefined: not encrypted. */
  key?: string
}

interface Stored {
  id: string
  talosId: string
  name: string
  caCrt: string
  createdBy: number
  members: Member[]
  term: number
  alarms?: Alarm[]
  /** Whether the cluster was restored from a snapshot. */
  isRecovered?: boolean
  counters?: ClusterCounters
  kubernetes: KubernetesState
}

/** An alarm of a member. It stops writes to the whole cluster until it is disarmed. */
export interface Alarm {
  member: string
  alarm: 'nospace' | 'corrupt'
}

/** Counters of problems in a cluster since it was created. */
export interface ClusterCounters {
  /** How often etcd lost its quorum. */
  quorumLosses: number
  /** How often a PodDisruptionBudget had fewer healthy pods than it requires, after it had enough. */
  budgetBreaches: number
  /** Largest number of nodes that were not ready at the same time, after they had been ready. */
  mostUnready: number
}

/** Quota of the database (etcd: `--quota-backend-bytes`, default). */
const QUOTA_BYTES = 2 * 1024 ** 3
const EMPTY_BYTES = 2_400_000
const CALLS = 'bootstrap-calls.json'
const PORTS = { peer: 2380, client: 2379 }

/** An etcd cluster and its data. A cluster outlives its members, so the cluster's state has a separate file. */
export class EtcdCluster {
  readonly state: Stored
  readonly #path: string
  readonly #machine: (index: number) => Machine | undefined
  #isTogether = false
  #hadQuorum = false
  #isDirty = false

  constructor(path: string, state: Stored, machine: (index: number) => Machine | undefined) {
    this.#path = path
    this.state = state
    this.#machine = machine
  }

  /** Changes the cluster and persists it before returning. */
  change(act: (state: Stored) => void): void {
    act(this.state)
    this.#isDirty = true
    if (!this.#isTogether) this.#write()
  }

  #write(): void {
    if (this.#isDirty) writeState(this.#path, this.state)
    this.#isDirty = false
  }

  /** Persists several changes in one write. */
  together(act: () => void): void {
    if (this.#isTogether) return act()
    this.#isTogether = true
    try {
      act()
    } finally {
      this.#isTogether = false
      this.#write()
    }
  }

  get voters(): Member[] {
    return this.state.members.filter((member) => !member.learner)
  }

  /** Whether a member's machine runs etcd with this member's data. */
  isAlive(member: Member): boolean {
    const machine = this.machineOf(member)
    return machine !== undefined && machine.disk.state.etcd?.member === member.id && machine.services.isRunning('etcd')
  }

  machineOf(member: Member): Machine | undefined {
    return this.#machine(member.machine)
  }

  /** Whether more than half of the voting members run. Consistent reads and writes need a quorum. */
  get hasQuorum(): boolean {
    const { voters } = this
    return voters.filter((member) => this.isAlive(member)).length * 2 > voters.length
  }

  get leader(): Member | undefined {
    return this.hasQuorum ? this.voters.find((member) => this.isAlive(member)) : undefined
  }

  get counters(): ClusterCounters {
    return { quorumLosses: 0, budgetBreaches: 0, mostUnready: 0, ...this.state.counters }
  }

  count(counter: keyof ClusterCounters, to = this.counters[counter] + 1): void {
    if (to > this.counters[counter]) this.change((state) => (state.counters = { ...this.counters, [counter]: to }))
  }

  /** Counts a loss of the quorum. Called whenever a member may have started or stopped. */
  observeQuorum(): void {
    const { hasQuorum } = this
    if (this.#hadQuorum && !hasQuorum) this.count('quorumLosses')
    this.#hadQuorum = hasQuorum
  }

  /** Size of a member's database file, and of the part of it that is in use. */
  sizeOf(member: Member): { bytes: number; inUse: number } {
    const inUse = EMPTY_BYTES + JSON.stringify(this.state.kubernetes).length
    return { bytes: Math.max(inUse, member.dbBytes ?? 0), inUse }
  }

  /** Disarms all alarms. A member whose database is still too large raises its alarm again. */
  disarm(): Alarm[] {
    const ended = this.state.alarms ?? []
    this.change((state) => (state.alarms = ended.filter(({ member, alarm }) => alarm === 'nospace' && this.#isFull(member))))
    return ended
  }

  #isFull(id: string): boolean {
    const member = this.member(id)
    return member !== undefined && this.sizeOf(member).bytes > QUOTA_BYTES
  }

  /** Raises an alarm, and fills the member's database if a size is given. */
  raise(id: string, alarm: Alarm['alarm'], dbBytes?: number): void {
    this.change((state) => {
      state.alarms = [...(state.alarms ?? []).filter((known) => known.member !== id || known.alarm !== alarm), { member: id, alarm }]
      for (const member of state.members) if (member.id === id && dbBytes !== undefined) member.dbBytes = dbBytes
    })
  }

  defragment(id: string): void {
    this.change((state) => {
      for (const member of state.members) if (member.id === id) delete member.dbBytes
    })
  }

  /** Why etcd refuses a read or a write, or null (etcd: server/etcdserver/apply). */
  refusal(isWrite: boolean): string | null {
    const alarms = this.state.alarms ?? []
    if (alarms.some(({ alarm }) => alarm === 'corrupt')) return 'etcdserver: corrupt cluster'
    return isWrite && alarms.some(({ alarm }) => alarm === 'nospace') ? 'etcdserver: mvcc: database space exceeded' : null
  }

  member(id: string): Member | undefined {
    return this.state.members.find((member) => member.id === id)
  }

  /** Whether another learner may be added: etcd allows one at a time (`--max-learners`). */
  get takesLearner(): boolean {
    return this.state.members.every((member) => !member.learner)
  }

  /** Adds a machine as a learner, which can't vote. The member has no name until its first start. */
  add(machine: Machine): Member {
    const member = { id: newId(), machine: machine.plan.index, name: '', address: machine.plan.address, learner: true }
    this.change((state) => state.members.push(member))
    this.observeQuorum()
    return member
  }

  promote(id: string): void {
    this.change((state) => {
      for (const member of state.members) if (member.id === id) member.learner = false
    })
    this.observeQuorum()
  }

  remove(id: string): void {
    this.change((state) => {
      state.members = state.members.filter((member) => member.id !== id)
      state.term++
      state.alarms = (state.alarms ?? []).filter((alarm) => alarm.member !== id)
    })
    this.observeQuorum()
  }
}

export const peerUrl = (member: Member): string => `https://${member.address}:${PORTS.peer}`
export const clientUrl = (member: Member): string => `https://${member.address}:${PORTS.client}`

const newId = (): string => randomBytes(8).toString('hex')

/** Every etcd cluster that was ever made in this simulation. */
export class EtcdRegistry {
  readonly #folder: string
  readonly #calls: Record<string, number>
  readonly #clusters = new Map<string, EtcdCluster>()
  #machine: (index: number) => Machine | undefined = () => undefined

  constructor(folder: string) {
    this.#folder = makeFolder(folder)
    this.#calls = (readState(join(folder, CALLS)) as Record<string, number> | null) ?? {}
    for (const file of readdirSync(folder)) if (file.endsWith('.json') && file !== CALLS) this.#add(readState(join(folder, file)) as Stored)
  }

  /** Sets the lookup of machines by number. */
  connect(machine: (index: number) => Machine | undefined): void {
    this.#machine = machine
  }

  /** Counts a bootstrap call for this Talos cluster id, even if the call fails. */
  countCall(talosId: string): void {
    this.#calls[talosId] = this.callsOf(talosId) + 1
    writeState(join(this.#folder, CALLS), this.#calls)
  }

  callsOf(talosId: string): number {
    return this.#calls[talosId] ?? 0
  }

  get all(): EtcdCluster[] {
    return [...this.#clusters.values()]
  }

  get(id: string): EtcdCluster | undefined {
    return this.#clusters.get(id)
  }

  /** Makes a new etcd cluster with this machine as its only member, empty or with the content of a snapshot. A second bootstrap with the same secrets makes a second cluster, as in reality. */
  create(machine: Machine, config: NodeConfig, recovered?: KubernetesState): { cluster: EtcdCluster; member: Member } {
    const member: Member = { id: newId(), machine: machine.plan.index, name: machine.hostname, address: machine.plan.address, learner: false }
    const state: Stored = {
      id: randomUUID(),
      talosId: config.cluster.id,
      name: config.cluster.name,
      caCrt: config.cluster.etcdCa?.crt ?? '',
      createdBy: machine.plan.index,
      members: [member],
      term: 2,
      ...(recovered && { isRecovered: true }),
      kubernetes: recovered ?? { resourceVersion: 1, objects: {} },
    }
    const cluster = this.#add(state)
    cluster.change(() => undefined)
    return { cluster, member }
  }

  /**
   * Drops unfinished clusters. If the simulator is killed during a bootstrap, the cluster's file may exist without the state of the machine's disk, which is
   * written next. The bootstrap call then got no response, and the machine's counter `bootstraps` doesn't include the cluster.
   */
  dropUnfinished(): void {
    for (const [id, { state }] of this.#clusters) {
      const maker = this.#machine(state.createdBy)
      const made = this.all.filter((cluster) => cluster.state.createdBy === state.createdBy).length
      if (!maker || state.members.length !== 1 || maker.disk.state.etcd?.cluster === id || made <= maker.disk.state.counters.bootstraps) continue
      this.#clusters.delete(id)
      rmSync(join(this.#folder, `${id}.json`))
    }
  }

  /** The etcd cluster that a configured control plane finds through discovery and can join: same cluster id, same etcd authority, quorum. */
  joinable(config: NodeConfig): EtcdCluster | undefined {
    return this.all.find((cluster) => cluster.state.talosId === config.cluster.id && cluster.state.caCrt === config.cluster.etcdCa?.crt && cluster.hasQuorum)
  }

  #add(state: Stored): EtcdCluster {
    const cluster = new EtcdCluster(join(this.#folder, `${state.id}.json`), state, (index) => this.#machine(index))
    this.#clusters.set(state.id, cluster)
    return cluster
  }
}

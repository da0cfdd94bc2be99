import { randomBytes } from 'node:crypto'
import type { Machine } from '../machine/machine.ts'
import { writeState } from '../store.ts'
import type { Alarm, ClusterCounters, Member, Stored } from './stored.ts'

/** Quota of the database (etcd: `--quota-backend-bytes`, default). */
const QUOTA_BYTES = 2 * 1024 ** 3
const EMPTY_BYTES = 2_400_000
/**
 * How long a member has to be connected before its cluster takes a change of the members, in ms
 * (etcd: server/etcdserver/server.go, HealthInterval).
 */
const CONNECTED_MS = 5_000
const UNHEALTHY = 'etcdserver: unhealthy cluster'

/**
 * An etcd cluster and its data. A cluster outlives its members, so the cluster's state has a
 * separate file.
 */
export class EtcdCluster {
  readonly state: Stored
  readonly #path: string
  readonly #machine: (index: number) => Machine | undefined
  #isTogether = false
  #hadQuorum = false
  /** Since when each member runs, in simulated time. */
  readonly #since = new Map<string, number>()
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
    return (
      machine !== undefined &&
      machine.disk.state.etcd?.member === member.id &&
      machine.services.isRunning('etcd')
    )
  }

  machineOf(member: Member): Machine | undefined {
    return this.#machine(member.machine)
  }

  /**
   * Whether more than half of the voting members run. Consistent reads and writes need a quorum.
   */
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
    if (to > this.counters[counter])
      this.change((state) => (state.counters = { ...this.counters, [counter]: to }))
  }

  /** How many voting members have run long enough for a change of the members. */
  get #connected(): number {
    this.#noteRunning()
    return this.voters.filter((voter) => {
      const since = this.#since.get(voter.id)
      const now = this.machineOf(voter)?.world.clock.elapsed() ?? 0
      return since !== undefined && now - since >= CONNECTED_MS
    }).length
  }

  #noteRunning(): void {
    for (const member of this.state.members) {
      const machine = this.machineOf(member)
      if (!machine || !this.isAlive(member)) this.#since.delete(member.id)
      else if (!this.#since.has(member.id))
        this.#since.set(member.id, machine.world.clock.elapsed())
    }
  }

  /**
   * Why etcd adds no member now, or null: all voting members have to be connected (etcd:
   * server/etcdserver/server.go, mayAddMember). The only member is always connected.
   */
  get addRefusal(): string | null {
    const { length } = this.voters
    return length > 1 && this.#connected < length ? UNHEALTHY : null
  }

  /**
   * Why etcd doesn't remove this member now, or null. A learner and a member that doesn't run can
   * always be removed (mayRemoveMember).
   */
  removeRefusal(id: string): string | null {
    const member = this.member(id)
    if (!member || member.learner || !this.isAlive(member)) return null
    const { length } = this.voters
    return length > 1 && this.#connected - 1 < 1 + Math.floor((length - 1) / 2) ? UNHEALTHY : null
  }

  /** Counts a loss of the quorum. Called whenever a member may have started or stopped. */
  observeQuorum(): void {
    this.#noteRunning()
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
    this.change(
      (state) =>
        (state.alarms = ended.filter(
          ({ member, alarm }) => alarm === 'nospace' && this.#isFull(member),
        )),
    )
    return ended
  }

  #isFull(id: string): boolean {
    const member = this.member(id)
    return member !== undefined && this.sizeOf(member).bytes > QUOTA_BYTES
  }

  /** Raises an alarm, and fills the member's database if a size is given. */
  raise(id: string, alarm: Alarm['alarm'], dbBytes?: number): void {
    this.change((state) => {
      state.alarms = [
        ...(state.alarms ?? []).filter((known) => known.member !== id || known.alarm !== alarm),
        { member: id, alarm },
      ]
      for (const member of state.members)
        if (member.id === id && dbBytes !== undefined) member.dbBytes = dbBytes
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
    return isWrite && alarms.some(({ alarm }) => alarm === 'nospace')
      ? 'etcdserver: mvcc: database space exceeded'
      : null
  }

  member(id: string): Member | undefined {
    return this.state.members.find((member) => member.id === id)
  }

  /** Whether another learner may be added: etcd allows one at a time (`--max-learners`). */
  get takesLearner(): boolean {
    return this.state.members.every((member) => !member.learner)
  }

  /**
   * Adds a machine as a learner, which can't vote. The member has no name until its first start.
   */
  add(machine: Machine): Member {
    const member = {
      id: newId(),
      machine: machine.plan.index,
      name: '',
      address: machine.plan.address,
      learner: true,
    }
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

export const newId = (): string => randomBytes(8).toString('hex')

const PORTS = { peer: 2380, client: 2379 }
export const peerUrl = (member: Member): string => `https://${member.address}:${PORTS.peer}`
export const clientUrl = (member: Member): string => `https://${member.address}:${PORTS.client}`

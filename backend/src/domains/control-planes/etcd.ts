/**
 * etcd as its control planes report it, and whether a change of the cluster may begin or continue.
 */
import type { PlanCheck } from '#contract/clusters/changes/changes.ts'
import type { Remedy } from '#contract/clusters/changes/remedies.ts'
import { Problem } from '#contract/errors.ts'
import { type EtcdMember, messageOf, type Service, type TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { ClusterView } from './view.ts'
import { etcdIll, hasGivenUp } from './given-up.ts'
import { controlPlanesOf } from './kubernetes.ts'
import { remedy, remedyForEach, settleFull } from './remedies.ts'
import { allOf, joined } from '../../sentences.ts'
import { check, forNowIf } from './checks.ts'
import { talosOf } from './view.ts'
import { problemOfStrangers } from './strangers.ts'

export interface MemberReport {
  readonly node_id: string
  readonly name: string
  /** Whether the machine answers. */
  readonly answers: boolean
  /** Why the member isn't healthy; null if it is. */
  readonly problem: string | null
  /** The member's alarm, such as `NOSPACE`; null if it has none. */
  readonly alarm: string | null
  /** Whether the member reports alarms. Without a leader, it can't. */
  readonly knowsAlarms: boolean
  readonly isLeader: boolean
  readonly learner: boolean
  readonly sizeBytes: number | null
  /** The version that it runs, such as `3.6.12`; null if unknown. */
  readonly version: string | null
  /** The version of its data, such as `3.6.0`; null if unknown. */
  readonly storageVersion: string | null
  /**
   * Why no control plane must restart, because of members that no server has; null if none prevents
   * it. The same in each report.
   */
  readonly strangers: string | null
}

/**
 * With this alarm every member refuses to read and to write (etcd `server/etcdserver/apply`,
 * applierV3Corrupt), so nothing can be drained or removed.
 */
const corrupt =
  'its data differs from that of the others (alarm CORRUPT), and etcd answers nothing any more: restore the cluster from a snapshot'

const problemOfService = (service: Service | undefined): string =>
  service !== undefined && hasGivenUp(service.state, messageOf(service))
    ? etcdIll(service.state, messageOf(service))
    : service?.message || 'etcd does not run'

/** Reads the state of etcd from every control plane. */
export async function etcdReports(view: ClusterView): Promise<MemberReport[]> {
  const asked = await Promise.all(
    controlPlanesOf(view.state.members).map(async ({ node_id, name }) => {
      const of = {
        node_id,
        name,
        alarm: null,
        isLeader: false,
        learner: false,
        sizeBytes: null,
        version: null,
        storageVersion: null,
        memberId: null,
        alarms: null,
        members: [] as EtcdMember[],
      }
      try {
        return await talosOf(view, node_id, async (client) => {
          const service = (await client.services()).find((s) => s.id === 'etcd')
          if (service?.state !== 'Running' || service.healthy !== true)
            return { ...of, answers: true, problem: problemOfService(service) }
          const status = await client.etcdStatus()
          const { memberId, leaderId, learner, sizeBytes } = status
          const versions = {
            version: status.version || null,
            storageVersion: status.storageVersion || null,
          }
          // Alarms are read through raft (etcd `v3_server.go`, Alarm), so without a leader the call
          // would only time out.
          if (leaderId === null)
            return {
              ...of,
              answers: true,
              problem: 'etcd has no leader',
              learner,
              sizeBytes,
              ...versions,
              memberId,
            }
          const [alarms, members] = await Promise.all([
            client.etcdAlarms(),
            learner ? [] : membersOf(client),
          ])
          const problem = learner
            ? 'it is a learner, which still copies the data of the other members'
            : null
          return {
            ...of,
            answers: true,
            problem,
            isLeader: memberId === leaderId,
            learner,
            sizeBytes,
            ...versions,
            memberId,
            alarms,
            members,
          }
        })
      } catch (error) {
        if (view.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
          throw error
        return { ...of, answers: false, problem: error.message }
      }
    }),
  )
  const { todo } = settleFull(asked.filter((m) => m.sizeBytes === null))
  const problemOf = (alarm: string, what: string) =>
    alarm === 'CORRUPT'
      ? corrupt
      : alarm === 'NOSPACE'
        ? `${what} (alarm NOSPACE): ${todo}`
        : `alarm ${alarm}`
  /**
   * An alarm of a member that does not answer, or that was removed, stops the writes of all others
   * too.
   */
  const known = new Set(asked.map((m) => m.memberId))
  const firstAsked = asked.find((m) => m.memberId !== null)
  const strangers = await problemOfStrangers(
    view,
    asked.find((m) => m.members.length > 0)?.members ?? [],
    new Map(asked.flatMap((m) => (m.memberId === null ? [] : [[m.node_id, m.memberId] as const]))),
  )
  return asked.map(({ memberId, alarms, members: _members, ...rest }) => {
    const m = { ...rest, knowsAlarms: alarms !== null, strangers }
    const raised = (alarms ?? []).filter((a) => a.alarm !== 'NONE')
    const own = raised.find((a) => a.memberId === memberId)?.alarm
    if (own !== undefined)
      return {
        ...m,
        alarm: own,
        problem: problemOf(own, 'its database has reached its maximum size'),
      }
    const foreign =
      firstAsked?.memberId === memberId
        ? raised.find((a) => !known.has(a.memberId))?.alarm
        : undefined
    if (foreign === undefined) return m
    return {
      ...m,
      alarm: foreign,
      problem: problemOf(
        foreign,
        'it accepts no writes, because the database of another member has reached its maximum size',
      ),
    }
  })
}

/** The members; empty if the machine can't tell them now. */
const membersOf = (client: TalosClient): Promise<EtcdMember[]> =>
  client.etcdMembers().catch((error: unknown) => {
    if (error instanceof TalosError && error.kind !== 'cancelled') return []
    throw error
  })

/** Whether more than half of the control planes report the state of their member. */
export const hasMajority = (reports: readonly MemberReport[]): boolean =>
  reports.filter((r) => r.sizeBytes !== null).length * 2 > reports.length

/** The changes that settle what the control planes report, the best one first. */
export function etcdRemedies(reports: readonly MemberReport[]): Remedy[] {
  if (reports.some((r) => r.alarm === 'CORRUPT')) return [remedy('restore')]
  const down = reports.filter((r) => r.sizeBytes === null)
  if (reports.some((r) => r.alarm === 'NOSPACE')) return settleFull(down).remedies
  // Without a majority no member can be removed.
  return down.length === 0 || !hasMajority(reports) ? [] : remedyForEach('replace', down)
}

/**
 * Whether what the members lack may end by itself: they are silent, start or catch up. An alarm, and
 * a member that no server has, stay until somebody acts.
 */
export const isPassing = (reports: readonly MemberReport[]): boolean =>
  reports.every(({ alarm, strangers }) => alarm === null && strangers === null)

const problemsOf = (reports: readonly MemberReport[]): string =>
  joined(reports.flatMap(({ name, problem }) => (problem === null ? [] : [`${name}: ${problem}`])))

/**
 * Check: every member of etcd is healthy, and etcd keeps its majority without one of them. A change
 * that restarts or removes one server at a time needs all others.
 */
export function checkEtcd(reports: readonly MemberReport[]): PlanCheck {
  const problem =
    reports.length === 0
      ? 'No control plane answers'
      : problemsOf(reports) || (reports[0]!.strangers ?? '')
  return forNowIf(
    isPassing(reports),
    check(
      'etcd',
      problem === '',
      problem ||
        allOf(reports.length, 'members of etcd are healthy', 'The member of etcd is healthy'),
      etcdRemedies(reports),
    ),
  )
}

/**
 * Whether etcd takes writes, without which no pod is moved and no node joins. An alarm of one
 * member stops the writes of all.
 */
export function checkAlarms(reports: readonly MemberReport[]): PlanCheck {
  if (!reports.some((r) => r.knowsAlarms))
    return forNowIf(
      true,
      check(
        'alarms',
        false,
        'No control plane reports whether etcd has an alarm',
        etcdRemedies(reports),
      ),
    )
  const alarmed = reports.filter((r) => r.alarm !== null)
  return check(
    'alarms',
    alarmed.length === 0,
    problemsOf(alarmed) || 'etcd has no alarm',
    etcdRemedies(reports),
  )
}

/** The control planes with the leader last, so that etcd elects a leader only once. */
export const leaderLast = <T extends { readonly node_id: string }>(
  controlPlanes: readonly T[],
  reports: readonly MemberReport[],
): T[] =>
  controlPlanes.toSorted((a, b) => Number(isLeader(a, reports)) - Number(isLeader(b, reports)))
const isLeader = (
  { node_id }: { readonly node_id: string },
  reports: readonly MemberReport[],
): boolean => reports.some((r) => r.node_id === node_id && r.isLeader)

/** Why etcd isn't healthy as a whole; null if every member is. */
export async function etcdTrouble(view: ClusterView): Promise<string | null> {
  const reports = await etcdReports(view)
  return reports.length > 0 && reports.every((r) => r.problem === null)
    ? null
    : problemsOf(reports) || 'No control plane answers'
}

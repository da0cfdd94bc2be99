/** Reads the state of etcd from the control planes of a cluster. */
import {
  type ClusterHealth,
  type EtcdAlarm,
  etcdAlarms,
  type EtcdMemberHealth,
} from '#contract/clusters/health.ts'
import { Problem } from '#contract/errors.ts'
import { type EtcdMember, messageOf, type TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Clock } from '../../clock.ts'
import { etcdIll } from './given-up.ts'
import { etcdId, hostOf } from './removal.ts'
import { timeLimit } from '../../time-limit.ts'
import type { Member, ControlPlaneParts } from './view.ts'

/** Time limits in ms of one call and of all calls to one control plane. */
const callMs = 3_000
const wholeMs = 4_000

type Status = Awaited<ReturnType<TalosClient['etcdStatus']>>

/** What one control plane reported. */
export interface EtcdReport {
  readonly server: Pick<Member, 'node_id' | 'name'>
  readonly address: string | null
  /** Why the machine did not answer; null if it did. */
  readonly failed: string | null
  /** Why its etcd does not run or is not healthy; null if it is. */
  readonly ill: string | null
  readonly status: Status | null
  /** How long the status took, in ms; null if there is none. */
  readonly statusMs: number | null
  readonly members: readonly EtcdMember[]
  /** By member id; null if etcd did not answer, for example without a quorum. */
  readonly alarms: Awaited<ReturnType<TalosClient['etcdAlarms']>> | null
}

const silent = { ill: null, status: null, statusMs: null, members: [], alarms: null } as const

/** Resolves to null if the machine can't answer. Other errors are thrown. */
const orNull = async <T>(asked: Promise<T>): Promise<T | null> => {
  try {
    return await asked
  } catch (error) {
    if (error instanceof TalosError && error.kind !== 'cancelled') return null
    throw error
  }
}

/**
 * Every member lists the alarms of all members among its errors (etcd, `maintenance.Status`). A
 * member with an alarm still votes; alarms have their own field.
 */
const alarmInErrors = /\balarm:(?:NOSPACE|CORRUPT)\b/

async function reportOf(
  client: TalosClient,
  clock: Pick<Clock, 'monotonic'>,
): Promise<Omit<EtcdReport, 'server' | 'address'>> {
  const service = (await client.services()).find((s) => s.id === 'etcd')
  if (service?.state !== 'Running')
    return {
      ...silent,
      failed: null,
      ill:
        service === undefined ? 'etcd is not set up' : etcdIll(service.state, messageOf(service)),
    }
  const began = clock.monotonic()
  const took = (status: Status) => ({ status, ms: clock.monotonic() - began })
  const [timed, members, alarms] = await Promise.all([
    orNull(client.etcdStatus().then(took)),
    orNull(client.etcdMembers()),
    orNull(client.etcdAlarms()),
  ])
  const status = timed?.status ?? null
  const ill =
    service.healthy === true
      ? (status?.errors.find((e) => !alarmInErrors.test(e)) ?? null)
      : `etcd is not healthy${tail(messageOf(service))}`
  return {
    failed: null,
    ill,
    status,
    statusMs: timed?.ms ?? null,
    members: members ?? [],
    alarms,
  }
}

const tail = (message: string | null): string =>
  message === null || message === '' ? '' : `: ${message}`

/**
 * Reads all control planes in parallel. A machine that has not answered after four seconds counts
 * as silent. Throws only if `signal` is aborted.
 */
export function askEtcd(
  { servers, secrets, clock }: ControlPlaneParts,
  controlPlanes: readonly Member[],
  signal: AbortSignal,
): Promise<EtcdReport[]> {
  const ask = async (m: Member): Promise<EtcdReport> => {
    const limit = timeLimit(wholeMs)
    let address: string | null = null
    try {
      const connection = await servers.connection(m.node_id)
      address = connection.address
      const options = { signal: AbortSignal.any([signal, limit]), deadlineMs: callMs }
      return {
        server: m,
        address,
        ...(await connection.secure(
          (await secrets.talosAdmin(m.cluster_id))!,
          (client) => reportOf(client, clock),
          options,
        )),
      }
    } catch (error) {
      signal.throwIfAborted()
      if (limit.aborted)
        return {
          server: m,
          address,
          ...silent,
          failed: `did not answer within ${wholeMs / 1000} s`,
        }
      if (!(error instanceof TalosError || error instanceof Problem)) throw error
      return { server: m, address, ...silent, failed: error.message }
    }
  }
  return Promise.all(controlPlanes.map(ask))
}

/**
 * The members of etcd with what the server of each has reported; the control planes without an id
 * if nobody reports the members. Pure.
 */
export function etcdHealth(reports: readonly EtcdReport[]): ClusterHealth['etcd'] {
  const list = reports.find((r) => r.members.length > 0)?.members
  if (list === undefined)
    return {
      members: reports.map((r) => row(r.server.name, undefined, r, null)),
      reason:
        reports.length === 0
          ? 'No control plane has answered with the certificates of the cluster yet'
          : 'No control plane reports the members of etcd',
    }
  const alarms = reports.find((r) => r.alarms !== null)?.alarms ?? null
  // A member that was added but never started has no name in etcd; its address identifies the
  // server. A server that has told its member has no second one (`strangers.ts`).
  const reporterOf = (e: EtcdMember) =>
    reports.find((r) => r.status?.memberId === e.id) ??
    reports.find(
      (r) =>
        r.status === null &&
        (r.server.name === e.hostname ||
          (r.address !== null && e.peerUrls.some((url) => hostOf(url) === r.address))),
    )
  const members = list.map((e) => {
    const report = reporterOf(e)
    return row(e.hostname || (report?.server.name ?? `Member ${e.id}`), e, report, alarms)
  })
  const outside = reports.filter((r) => !list.some((e) => reporterOf(e) === r))
  return {
    members: [
      ...members,
      ...outside.map((r) =>
        row(r.server.name, undefined, { ...r, ill: r.ill ?? 'It is no member of etcd' }, null),
      ),
    ],
    reason: null,
  }
}

const alarmOf = (word: string): EtcdAlarm[] =>
  etcdAlarms.filter((alarm) => alarm === word.toLowerCase())

function row(
  name: string,
  e: EtcdMember | undefined,
  report: EtcdReport | undefined,
  alarms: EtcdReport['alarms'],
): EtcdMemberHealth {
  const status = report?.status ?? null
  const reason =
    report === undefined
      ? `No server of the cluster has this member. If it is dead, remove it: talosctl etcd remove-member ${etcdId(e!.id)}`
      : (report.failed ?? report.ill)
  return {
    id: e?.id ?? null,
    name,
    node_id: report?.server.node_id ?? null,
    leader: status === null || e === undefined ? null : status.leaderId === e.id,
    learner: e?.learner ?? null,
    version: status?.version ?? null,
    size_bytes: status?.sizeBytes ?? null,
    in_use_bytes: status?.inUseBytes ?? null,
    alarms:
      e === undefined || alarms === null
        ? null
        : alarms.filter((a) => a.memberId === e.id).flatMap((a) => alarmOf(a.alarm)),
    healthy: report === undefined || report.failed !== null ? null : report.ill === null,
    reason,
  }
}

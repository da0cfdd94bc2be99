/**
 * Looks at a server: queries its current state and changes nothing. Each query adds lines to the
 * machine's log, so unneeded queries are avoided.
 */
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import { messageOf, type Service, type TalosClient } from '#talos/client/client.ts'
import { readInstallation } from '#talos/client/installation.ts'
import { stageOf, type UnmetCondition, unmetOf } from '#talos/client/events.ts'
import { resources } from '#talos/client/resources.ts'
import { readPull } from '#talos/client/pulls.ts'
import { readTrouble } from '#talos/client/trouble.ts'
import { readUnattendedInstall } from '#talos/client/unattended-install.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import type { ServerConnection } from '../../../talos-fleet/fleet.ts'
import type { Seen, SeenService } from './acts.ts'
import type { MemberTurn } from './run.ts'
import { follow, type Followed, type Installing, runsFromMemory } from './unattended.ts'

type Secured = Extract<Seen, { kind: 'secured' }>
type Trouble = Pick<Secured, 'trouble' | 'isInstallSkipped' | 'last'>
interface Asked {
  readonly sends: number
  readonly stage: string
  readonly at: number
  readonly trouble: Trouble
  /** The phase of a restart, and when it was seen first. */
  readonly restart: { readonly phase: string; readonly since: number } | null
}
/** What earlier queries of joining servers have shown, by queue key. In memory only. */
export interface Looks {
  /** The last query of the log: attempt, stage, time and what it showed. */
  readonly asked: Map<string, Asked>
  readonly followed: Map<string, Followed>
  /** Since when the etcd of a server has been seen as a learner. */
  readonly learners: Map<string, number>
}

/**
 * Age of an installation, in ms, after which the server's log is queried for a failure. After a
 * failed attempt the log is queried at once.
 */
const troubleAfterMs = 5_000
/**
 * Intervals of further queries, in ms: longer if a failure is known already. At a new stage the log
 * is queried at once.
 */
const troubleEveryMs = { known: 15_000, unknown: 4_000 }

/**
 * Admin credentials that the server accepts. A server that was silent when the authority of the
 * Talos API was rotated, and is leaving the cluster, accepts only those of a former authority.
 */
export async function adminOf({
  parts: { servers, secrets },
  job,
  m,
}: Pick<MemberTurn, 'parts' | 'job' | 'm'>): Promise<Credentials | null> {
  const admin = await secrets.talosAdmin(m.cluster_id)
  const former =
    m.wanted === 'released' && admin !== null ? await secrets.formerTalosAdmins(m.cluster_id) : []
  if (former.length === 0) return admin
  const connection = await servers.connection(m.node_id)
  for (const credentials of [admin!, ...former]) {
    try {
      await connection.secure(credentials, machineStatus, { signal: job.signal })
      return credentials
    } catch (error) {
      if (job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
        throw error
      if (!(error instanceof TalosError && error.kind === 'certificate')) return admin
    }
  }
  return admin
}

/** Queries a server of a cluster, and decides whether to query its log for a failure too. */
export async function lookAt(turn: MemberTurn, looks: Looks): Promise<Seen> {
  const seen = withLearner(turn, looks.learners, await lookWithLog(turn, looks.asked))
  const { key } = turn.job
  if (turn.m.secured_at !== null || turn.m.wanted !== 'joined') looks.followed.delete(key)
  if (seen.kind !== 'secured' || seen.unattended === null) return seen
  const { job, m } = turn
  const { trouble, last, unattended } = seen
  const now = follow(looks.followed.get(key), job.now(), m.sends, unattended, [trouble, last])
  looks.followed.set(key, now)
  return {
    ...seen,
    unattended: {
      ...unattended,
      lastError: now.lastError,
      unchangedMs: job.elapsedMs(now.since),
      sinceNewsMs: job.elapsedMs(now.newsAt),
    },
  }
}

/** Adds for how long etcd has been seen as a learner. A server that is silent says nothing. */
function withLearner({ job }: MemberTurn, learners: Looks['learners'], seen: Seen): Seen {
  if (seen.kind !== 'secured') return seen
  const etcd = seen.services['etcd']
  if (etcd?.learnerMs == null) {
    learners.delete(job.key)
    return seen
  }
  const since = learners.get(job.key) ?? job.now()
  learners.set(job.key, since)
  const shown = { ...etcd, learnerMs: job.elapsedMs(since) }
  return { ...seen, services: { ...seen.services, etcd: shown } }
}

async function lookWithLog(turn: MemberTurn, asked: Looks['asked']): Promise<Seen> {
  const { parts, job, m } = turn
  try {
    // If true, the log is queried at once at each new stage: Talos restarts within seconds after a
    // failure, and the restart clears the log.
    const isSlow =
      m.at === 'boot' ||
      (m.at === 'install' && (m.sends > 1 || job.elapsedMs(m.at_since) > troubleAfterMs))
    const isJoining = m.wanted === 'joined' && m.secured_at === null
    const before = asked.get(job.key)
    const last = before?.sends === m.sends ? before : undefined
    const askTrouble = (stage: string) => {
      if (!isJoining) return false
      if (last?.stage !== stage) return isSlow || stage === 'rebooting'
      return (
        job.now() - last.at >=
        (last.trouble.trouble === null ? troubleEveryMs.unknown : troubleEveryMs.known)
      )
    }
    const expected = {
      expectSecured: m.send_intent_at !== null,
      askTrouble,
      askInstallation: isJoining,
      installs: isJoining && m.was_installed === false ? m : null,
      askPulls: m.wanted === 'joined',
    }
    const seen = await look(
      await parts.servers.connection(m.node_id),
      await adminOf(turn),
      expected,
      job.signal,
    )
    if (!isJoining) asked.delete(job.key)
    if (seen.kind !== 'secured' || !isJoining) return seen
    const now = job.now()
    const lasting = (restart: Asked['restart']): Secured['restart'] =>
      restart && { phase: restart.phase, ms: now - restart.since }
    if (!seen.askedTrouble)
      return last?.stage === seen.stage
        ? { ...seen, ...last.trouble, restart: lasting(last.restart) }
        : seen
    const { restart: shown, ...found } = seen
    const trouble = {
      trouble: found.trouble,
      isInstallSkipped: found.isInstallSkipped,
      last: found.last,
    }
    const isSame =
      last?.stage === found.stage && last.restart !== null && last.restart.phase === shown?.phase
    const restart = isSame ? last.restart : shown && { phase: shown.phase, since: now }
    asked.set(job.key, { sends: m.sends, stage: found.stage, at: now, trouble, restart })
    // The first attempt has had no other failure than one of this boot.
    const isTroubleOver =
      m.unbootable_at === null &&
      found.trouble === null &&
      (m.sends === 1 || (last !== undefined && last.trouble.trouble !== null))
    return { ...found, restart: lasting(restart), isTroubleOver }
  } catch (error) {
    return unseen(error, job.signal)
  }
}

/** An etcd that doesn't run answers only at the deadline, in ms. */
const etcdDeadlineMs = 3_000

interface Expected {
  /** Whether the server has a configuration. If so, its secured API is tried first. */
  readonly expectSecured: boolean
  /** Whether to query the log for a failure, at a given Talos stage. */
  readonly askTrouble?: (stage: string) => boolean
  /**
   * Whether to query what is installed on the disk. Needed until the server is seen to boot from
   * its disk.
   */
  readonly askInstallation?: boolean
  /**
   * The server's row until it has booted from the disk that Talos is installed on, to query which
   * boot it runs.
   */
  readonly installs?: Installing | null
  /** Whether to query what a service pulls that is being prepared. */
  readonly askPulls?: boolean
}

/** @throws only if the caller's signal is aborted */
export async function look(
  connection: ServerConnection,
  credentials: Credentials | null,
  expected: Expected,
  signal: AbortSignal,
): Promise<Seen> {
  try {
    if (expected.expectSecured && credentials) {
      const seen = await lookSecured(connection, credentials, expected, signal)
      if (seen.kind !== 'foreign') return seen
      // The certificate isn't the cluster's: the server is in maintenance or belongs to somebody
      // else.
      return (await connection.presence({ signal })) === 'maintenance'
        ? await lookInMaintenance(connection, signal)
        : seen
    }
    if ((await connection.presence({ signal })) === 'maintenance')
      return await lookInMaintenance(connection, signal)
    return credentials
      ? await lookSecured(connection, credentials, expected, signal)
      : { kind: 'foreign', reason: 'it asks for a client certificate' }
  } catch (error) {
    return unseen(error, signal)
  }
}

async function lookSecured(
  connection: ServerConnection,
  credentials: Credentials,
  expected: Expected,
  signal: AbortSignal,
): Promise<Seen> {
  try {
    return await connection.secure(
      credentials,
      async (client) => {
        const machine = await machineStatus(client)
        // Every call adds three lines to the machine's log, so services are queried only when they
        // matter.
        const isUp = machine.stage === 'booting' || machine.stage === 'running'
        const services = isUp ? await client.services() : []
        const described = services.map(async (s) => {
          const pull = expected.askPulls === true ? await readPull(client, s) : null
          const own = expected.askPulls === true && s.id === 'etcd' ? await etcdOf(client, s) : {}
          return [
            s.id,
            {
              state: s.state,
              healthy: s.healthy === true,
              message: messageOf(s) ?? '',
              pull,
              ...own,
            },
          ] as const
        })
        const byId = await Promise.all(described)
        const installation =
          isUp && expected.askInstallation ? await readInstallation(client) : null
        const unattended =
          machine.stage === 'booting' && expected.askInstallation
            ? await readUnattendedInstall(client)
            : null
        const bootId =
          expected.installs && (isUp || machine.stage === 'installing')
            ? await client.bootId()
            : null
        // The reset that follows erases the cause.
        const isInMemory =
          expected.installs != null &&
          runsFromMemory(expected.installs, { ...machine, bootId, unattended })
        const isNewlyFailed = unattended?.phase === 'failed' && expected.installs?.trouble === null
        const trouble =
          isInMemory ||
          isNewlyFailed ||
          (machine.stage !== 'running' && expected.askTrouble?.(machine.stage))
            ? await readTrouble(client)
            : null
        return {
          kind: 'secured',
          ...machine,
          services: Object.fromEntries(byId),
          installation,
          bootId,
          unattended: unattended && {
            ...unattended,
            lastError: null,
            unchangedMs: 0,
            sinceNewsMs: 0,
          },
          askedTrouble: trouble !== null,
          trouble: (isInMemory ? trouble?.installFailure : null) ?? trouble?.reason ?? null,
          isInstallSkipped: trouble?.isInstallSkipped ?? false,
          last: trouble?.last ?? null,
          restart: trouble?.restartPhase == null ? null : { phase: trouble.restartPhase, ms: 0 },
          isTroubleOver: false,
          log: trouble?.lines ?? [],
        }
      },
      { signal },
    )
  } catch (error) {
    if (error instanceof TalosError && error.kind === 'certificate')
      return { kind: 'foreign', reason: error.message }
    return unseen(error, signal)
  }
}

/** What only etcd itself tells of an etcd that isn't healthy. */
async function etcdOf(
  client: TalosClient,
  { state, healthy }: Service,
): Promise<Pick<SeenService, 'hasData' | 'learnerMs'>> {
  if (state === 'Failed') return { hasData: await client.hasEtcdData() }
  if (state !== 'Running' || healthy === true) return {}
  try {
    const { learner } = await client.etcdStatus({ deadlineMs: etcdDeadlineMs })
    return { learnerMs: learner ? 0 : null }
  } catch (error) {
    if (error instanceof TalosError && error.kind !== 'cancelled') return {}
    throw error
  }
}

const lookInMaintenance = (connection: ServerConnection, signal: AbortSignal): Promise<Seen> =>
  connection.maintenance(
    async (client) => {
      const [machine, installation] = await Promise.all([
        machineStatus(client),
        readInstallation(client),
      ])
      return { kind: 'maintenance', stage: machine.stage, installation }
    },
    { signal },
  )

async function machineStatus(
  client: TalosClient,
): Promise<{ stage: string; unmet: UnmetCondition[] }> {
  const status = (await client.get(resources.machineStatus, 'machine'))?.spec
  if (status === undefined)
    throw new TalosError('invalid_data', 'server sent invalid data (machine status)')
  return { stage: stageOf(status.stage), unmet: unmetOf(status.status?.unmetConditions ?? []) }
}

/**
 * Converts an error to an observation of the server. Throws if this program has aborted the query,
 * because an abort says nothing about the server.
 */
export function unseen(
  error: unknown,
  signal: AbortSignal,
): Extract<Seen, { kind: 'dark' | 'stranger' }> {
  if (signal.aborted) throw signal.reason
  if (error instanceof Problem && error.code === 'identity_changed')
    return { kind: 'stranger', reason: error.message }
  if (error instanceof Problem) return { kind: 'dark', reason: error.message }
  if (error instanceof TalosError)
    return {
      kind: 'dark',
      reason: error.message,
      answers: error.kind === 'clock' || error.kind === 'refused',
    }
  throw error
}

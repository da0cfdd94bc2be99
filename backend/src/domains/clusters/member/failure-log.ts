/**
 * Log lines of failed servers. Talos keeps its log in memory, so the lines are stored while the
 * failing boot still answers. After the next restart the machine's log is that of another boot.
 */
import type { clusterServerFailure } from '#contract/clusters/clusters.ts'
import type { Answer } from '#contract/operation.ts'
import type { Installation } from '#talos/client/installation.ts'
import { readTrouble } from '#talos/client/trouble.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import type { Change } from '../../../record.ts'
import type { ServerConnection } from '../../../talos-fleet/fleet.ts'
import { withoutTokens } from '../../../talos-fleet/without-tokens.ts'
import { mostSends } from './acts.ts'
import type { MemberRow } from '../store.ts'

/**
 * Maximum total size of the stored lines, which are up to 200 lines of at most 300 characters; the
 * newest are kept.
 */
const mostCharacters = 32_000
/** Minimum interval, in ms, between writes of lines about the same failure. */
const writeEveryMs = 2_000
const readWithinMs = 5_000

type Kept = Partial<Pick<MemberRow, 'trouble' | 'failure_log' | 'failure_log_at'>>

interface Told {
  readonly trouble: string | null
  readonly log: readonly string[]
  readonly isInstallSkipped: boolean
  readonly isTroubleOver: boolean
  readonly installation: Installation | null
  readonly unattended?: object | null
}

/** The newest whole lines that fit, without tokens. */
function kept(lines: readonly string[]): string {
  const all = withoutTokens(lines.join('\n'))
  if (all.length <= mostCharacters) return all
  const newest = all.slice(-mostCharacters)
  return newest.slice(newest.indexOf('\n') + 1)
}

/**
 * The columns to write with the failure and the log of a boot; empty if nothing is new. During a
 * first attempt the log is stored only if it shows a failure. During later attempts it is always
 * stored, because the moment of the failure may be missed. A boot that skipped the installation, to
 * be restarted, says nothing about the cause, so the known one and its log stay.
 */
export function troubleOf(
  m: Pick<MemberRow, 'trouble' | 'failure_log_at' | 'sends'>,
  { trouble, log, isInstallSkipped, isTroubleOver, installation, unattended }: Told,
  now: number,
): Kept {
  // Talos that installs itself while it boots always skips the sequence.
  const isSkipped = isInstallSkipped && (unattended ?? null) === null
  if (isSkipped && installation?.state !== 'whole' && m.trouble !== null) return {}
  if (isTroubleOver) return m.trouble === null ? {} : { trouble: null }
  // The failure text ends with the installer's message, which may still be missing early in a new
  // attempt. So the start of the stored text isn't a new failure.
  const isNew =
    trouble !== null && trouble !== m.trouble && m.trouble?.startsWith(`${trouble}: `) !== true
  const isDue = m.failure_log_at === null || now - m.failure_log_at.getTime() >= writeEveryMs
  const isWorthKeeping = log.length > 0 && (trouble !== null || m.sends > 1) && (isNew || isDue)
  return {
    ...(isNew && { trouble }),
    ...(isWorthKeeping && { failure_log: kept(log), failure_log_at: new Date(now) }),
  }
}

/**
 * Columns with the last log lines of a failing server that answers; empty if they can't be read.
 * Throws only when `signal` aborts.
 */
export async function lastLines(
  connection: ServerConnection,
  credentials: Credentials,
  now: number,
  signal: AbortSignal,
): Promise<Kept> {
  try {
    const { lines } = await connection.secure(credentials, (client) => readTrouble(client), {
      signal,
      deadlineMs: readWithinMs,
    })
    return lines.length > 0 ? { failure_log: kept(lines), failure_log_at: new Date(now) } : {}
  } catch {
    if (signal.aborted) throw signal.reason
    return {}
  }
}

export const failureAnswer = ({
  failure,
  trouble,
  failure_log,
  failure_log_at,
}: MemberRow): Answer<typeof clusterServerFailure> => ({
  reason: failure ?? trouble,
  log:
    failure_log === null || failure_log_at === null
      ? null
      : { at: failure_log_at.toISOString(), lines: failure_log.split('\n') },
})

/** Event of a failed installation that will be repeated. */
export const installFailed = (m: MemberRow, clusterName: string): Change => ({
  action: 'server.install_failed',
  target: { kind: 'server', id: m.node_id, name: m.name },
  after: {
    cluster: clusterName,
    attempt: m.sends,
    of: mostSends,
    reason: m.trouble ?? 'it came back in maintenance without reporting a reason',
  },
})

/**
 * The two audit entries about a failed server: one for the server's events, one for its cluster's
 * events.
 */
export const serverFailed = (m: MemberRow, clusterName: string, reason: string): Change[] => [
  {
    action: 'server.failed',
    target: { kind: 'server', id: m.node_id, name: m.name },
    // The server's name is left out of the server's own events.
    after: {
      cluster: clusterName,
      reason: reason.startsWith(`${m.name} `) ? reason.slice(m.name.length + 1) : reason,
    },
  },
  {
    action: 'cluster.server_failed',
    target: { kind: 'cluster', id: m.cluster_id, name: clusterName },
    after: { node_id: m.node_id, name: m.name, reason },
  },
]

/**
 * What a server said when it failed. Talos keeps its log in memory, so the lines are kept here while the boot that fails can still be asked: what is read after
 * the next restart is about another boot.
 */
import type { clusterServerFailure } from '#contract/clusters/clusters.ts'
import type { Answer } from '#contract/operation.ts'
import { readTrouble } from '#talos/client/trouble.ts'
import type { Credentials } from '#talos/pki/clients.ts'
import type { Change } from '../../../record.ts'
import type { ServerConnection } from '../../../talos-fleet/fleet.ts'
import { withoutTokens } from '../../joining/without-tokens.ts'
import { mostSends } from './decide-server.ts'
import type { MemberRow } from '../store.ts'

/** Of 40 lines of at most 300 characters; the newest stay. */
const mostCharacters = 8_000
/** While a boot fails it is looked at often: its lines are written down at most this often where they tell of the same trouble. */
const writeEveryMs = 2_000
const readWithinMs = 5_000

type Kept = Partial<Pick<MemberRow, 'trouble' | 'failure_log' | 'failure_log_at'>>

const kept = (lines: readonly string[]): string => withoutTokens(lines.join('\n')).slice(-mostCharacters)

/**
 * Columns for what a look showed of a boot that may fail; none where it says nothing new. Of a first attempt lines are kept only once they tell of trouble; after
 * that always, because the moment in which they do may be missed.
 */
export function troubleOf(
  m: Pick<MemberRow, 'trouble' | 'failure_log_at' | 'sends'>,
  { trouble, log }: { readonly trouble: string | null; readonly log: readonly string[] },
  now: number,
): Kept {
  // Talos says first that a task failed, and then what its program said: the shorter sentence adds nothing.
  const isNew = trouble !== null && trouble !== m.trouble && m.trouble?.startsWith(`${trouble}: `) !== true
  const isDue = m.failure_log_at === null || now - m.failure_log_at.getTime() >= writeEveryMs
  const isWorthKeeping = log.length > 0 && (trouble !== null || m.sends > 1) && (isNew || isDue)
  return { ...(isNew && { trouble }), ...(isWorthKeeping && { failure_log: kept(log), failure_log_at: new Date(now) }) }
}

/** Columns with the last lines of a server that fails while it answers; none where they can't be read. Never throws but for `signal`. */
export async function lastLines(connection: ServerConnection, credentials: Credentials, now: number, signal: AbortSignal): Promise<Kept> {
  try {
    const { lines } = await connection.secure(credentials, (client) => readTrouble(client), { signal, deadlineMs: readWithinMs })
    return lines.length > 0 ? { failure_log: kept(lines), failure_log_at: new Date(now) } : {}
  } catch {
    if (signal.aborted) throw signal.reason
    return {}
  }
}

export const failureAnswer = ({ failure, trouble, failure_log, failure_log_at }: MemberRow): Answer<typeof clusterServerFailure> => ({
  reason: failure ?? trouble,
  log: failure_log === null || failure_log_at === null ? null : { at: failure_log_at.toISOString(), lines: failure_log.split('\n') },
})

/** An installation came to nothing, and the configuration is sent again: for the events of the server. */
export const installFailed = (m: MemberRow, clusterName: string): Change => ({
  action: 'server.install_failed',
  target: { kind: 'server', id: m.node_id, name: m.name },
  after: { cluster: clusterName, attempt: m.sends, of: mostSends, reason: m.trouble ?? 'it came back in maintenance and did not say why' },
})

/** A server failed for good, until a person does something about it: for its own events and those of its cluster. */
export const serverFailed = (m: MemberRow, clusterName: string, reason: string): Change[] => [
  {
    action: 'server.failed',
    target: { kind: 'server', id: m.node_id, name: m.name },
    // Among its own events nobody asks whose they are.
    after: { cluster: clusterName, reason: reason.startsWith(`${m.name} `) ? reason.slice(m.name.length + 1) : reason },
  },
  { action: 'cluster.server_failed', target: { kind: 'cluster', id: m.cluster_id, name: clusterName }, after: { node_id: m.node_id, name: m.name, reason } },
]

/** Texts of a cluster's state. */
import type { Cluster, ClusterStatus } from '#contract/clusters/clusters.ts'
import { serversSaid } from '#contract/findings/servers-said.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { contactStateOf } from '#contract/servers/contact-state.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { moment } from '../../lib/time/time.ts'
import { findingTones, marked, type Marked } from '../../ui/feedback/finding-tones.ts'
import type { Tone } from '../../ui/feedback/tone.ts'
import { capital } from '../../lib/text.ts'
import { serverNow } from '../../lib/time/server-time.ts'

const tones: Readonly<Partial<Record<ClusterStatus, Tone>>> = {
  ready: 'ok',
  degraded: 'warn',
  failed: 'danger',
}

/** What is said of a cluster, with the shape that stands before its word. */
export const clusterState = ({
  said,
  status,
  reason,
}: Pick<Cluster, 'said' | 'status' | 'reason'>): Marked =>
  marked(
    said ?? { word: capital(status), severity: null, sentence: reason },
    tones[status] ?? 'busy',
  )

/** The servers of a cluster that are not well, with a shape; null if all are well. */
export function serversState(
  c: Pick<Cluster, 'servers_said' | 'control_planes' | 'workers'>,
): { tone: Tone; count: number; of: string } | null {
  const said = serversSaid(c.servers_said, c.control_planes + c.workers)
  return said && { tone: findingTones[said.severity!], count: said.count, of: said.of }
}

/** Whether the cluster is being created or deleted, so that its page opens on the timeline. */
export const isUnderWay = (c: Pick<Cluster, 'status'>): boolean =>
  !['ready', 'degraded'].includes(c.status)

/** "https://10.20.14.10:6443" → "10.20.14.10:6443". */
export const endpointShown = (endpoint: string): string => endpoint.replace(/^https:\/\//, '')

/**
 * The state of a server's Kubernetes node, with the reason if it isn't Ready. No alarm while an
 * operation on the server explains it, so that it has no finding.
 */
export function nodeSaid(server: Pick<ListedServer, 'kubernetes' | 'failure' | 'finding'>): Marked {
  const { kubernetes: node, failure, finding } = server
  if (failure) return { tone: 'danger', word: 'Failed', why: failure.reason }
  if (node === null) return { tone: 'off', word: 'Not joined yet', why: null }
  if (node.ready === null) return { tone: 'off', word: 'Unknown', why: node.reason }
  if (node.ready) return { tone: 'ok', word: 'Ready', why: null }
  return {
    tone: finding ? 'danger' : 'busy',
    word: 'Not ready',
    why: node.reason,
  }
}

/** Whether a server has the configuration that it should have. */
export function configurationSaid({
  drift,
  pending,
  trial,
}: Pick<ListedServer, 'drift' | 'pending' | 'trial'>): Marked {
  if (trial)
    return trial.state === 'undone'
      ? { tone: 'warn', word: 'Undone', why: trial.reason }
      : { tone: 'busy', word: 'On trial', why: trial.reason }
  if (pending) return { tone: 'warn', word: 'Waits', why: pending.reason }
  return drift
    ? { tone: 'warn', word: 'Changed outside', why: null }
    : { tone: 'ok', word: 'As sent', why: null }
}

/** Whether a server of the cluster responds; if not, since when and why. */
export function contactSaid(
  server: Pick<ListedServer, 'status' | 'operation_id' | 'talos'>,
  now = serverNow(),
): Marked {
  const { stage, unreachable_since: since, reason } = server.talos
  const doing =
    stage === 'running' || stage === 'maintenance' || stage === 'unknown'
      ? null
      : stage.replace('_', ' ')
  const silent = [since === null ? null : `since ${moment(since, now)}`, reason]
    .filter((part) => part !== null)
    .join(', ')
  const contact = contactStateOf(server, now)
  if (contact === 'unasked') return { tone: 'off', word: 'Not contacted yet', why: null }
  if (contact === 'answers') return { tone: 'ok', word: 'Answering', why: doing }
  if (contact === 'away')
    return { tone: 'busy', word: 'Away', why: [doing, silent].filter(Boolean).join(', ') }
  return { tone: 'danger', word: 'Unreachable', why: silent }
}

/**
 * Whether the cluster's address is new: its offer doesn't have the address yet, or it has no offer.
 */
export const isKeyNew = (c: Pick<Cluster, 'offer_address_set'>): boolean => !c.offer_address_set

/** Whether the list contains a cluster whose address is new. */
export function canShowNewKeys(shown: readonly Pick<Cluster, 'offer_address_set'>[]): Verdict {
  if (shown.length === 0) return no('There are no clusters here yet')
  return shown.some(isKeyNew)
    ? yes
    : no('The offers of all clusters here have the address of their cluster already')
}

/**
 * What is wrong with a server now, whatever its status: shown beside the status, in front of everything else. A server that is `ready` by its status
 * may have been switched off a minute ago.
 */
import type { Server } from './servers.ts'

export interface Trouble {
  kind: 'unreachable' | 'not_ready'
  word: string
  /** Null where nobody noted it. */
  since: string | null
  reason: string | null
}

/** How long a machine may be silent while something is done to it before that is worth an alarm: large servers take minutes to start. */
const patienceMs = 15 * 60_000

type Asked = Pick<Server, 'status' | 'operation_id'> & { talos: Pick<Server['talos'], 'reachable' | 'unreachable_since' | 'reason'> }
type Watched = Asked & Pick<Server, 'kubernetes'>

/**
 * Whether a server answers. `away`: it doesn't, and nobody expects it to, because something is being done to it: it installs, or restarts on our order.
 * `unasked`: nobody has asked it yet.
 */
export type ContactState = 'answers' | 'unreachable' | 'away' | 'unasked'

const isExpected = ({ operation_id }: Pick<Server, 'operation_id'>, since: string | null, now: number): boolean =>
  operation_id !== null && now - (since === null ? now : Date.parse(since)) < patienceMs

export function contactStateOf(server: Asked, now: number): ContactState {
  const { reachable, unreachable_since } = server.talos
  if (reachable === null) return 'unasked'
  if (reachable) return 'answers'
  return isExpected(server, unreachable_since, now) ? 'away' : 'unreachable'
}

/**
 * The worst of it: of a server that doesn't answer, that says enough. Null where nothing is known to be wrong with the server itself; a Kubernetes API that
 * doesn't answer is trouble of the cluster.
 */
export function troubleOf(server: Watched, now: number): Trouble | null {
  const { status, talos, kubernetes } = server
  const contact = contactStateOf(server, now)
  if (status === 'deleted' || contact === 'away') return null
  if (contact === 'unreachable') return { kind: 'unreachable', word: 'Unreachable', since: talos.unreachable_since, reason: talos.reason }
  if (kubernetes?.ready !== false || isExpected(server, kubernetes.since, now)) return null
  return { kind: 'not_ready', word: 'Node NotReady', since: kubernetes.since, reason: kubernetes.reason }
}

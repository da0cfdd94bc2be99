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

type Watched = Pick<Server, 'status' | 'operation_id' | 'kubernetes'> & { talos: Pick<Server['talos'], 'reachable' | 'unreachable_since' | 'reason'> }

/**
 * The worst of it: of a server that doesn't answer, that says enough. Null where nothing is known to be wrong with the server itself; a Kubernetes API that
 * doesn't answer is trouble of the cluster.
 */
export function troubleOf({ status, operation_id, talos, kubernetes }: Watched, now: number): Trouble | null {
  if (status === 'deleted') return null
  const isExpected = (since: string | null) => operation_id !== null && now - (since === null ? now : Date.parse(since)) < patienceMs
  if (talos.reachable === false) {
    const since = talos.unreachable_since
    return isExpected(since) ? null : { kind: 'unreachable', word: 'Unreachable', since, reason: talos.reason }
  }
  if (kubernetes?.ready !== false || isExpected(kubernetes.since)) return null
  return { kind: 'not_ready', word: 'Node NotReady', since: kubernetes.since, reason: kubernetes.reason }
}

/** Whether a server answers now. What is wrong with it is a finding (`contract/findings/`). */
import type { Server } from './servers.ts'

/**
 * How long a machine may be silent during an operation before it counts as unreachable, in ms.
 * Large servers take minutes to start.
 */
const patienceMs = 15 * 60_000

export type Asked = Pick<Server, 'operation_id'> & {
  talos: Pick<Server['talos'], 'reachable' | 'unreachable_since' | 'reason'>
}

/**
 * Whether a server answers. `away`: the server doesn't answer because an operation installs or
 * restarts it. `unasked`: the server was not contacted yet.
 */
export type ContactState = 'answers' | 'unreachable' | 'away' | 'unasked'

/** Whether an operation explains what has been so `since` then. */
export const isExpected = (
  { operation_id }: Pick<Server, 'operation_id'>,
  since: string | null,
  now: number,
): boolean => operation_id !== null && now - (since === null ? now : Date.parse(since)) < patienceMs

export function contactStateOf(server: Asked, now: number): ContactState {
  const { reachable, unreachable_since } = server.talos
  if (reachable === null) return 'unasked'
  if (reachable) return 'answers'
  return isExpected(server, unreachable_since, now) ? 'away' : 'unreachable'
}

/**
 * What is wrong with a server now, shown beside its status. A server whose status is `ready`
 * may have been switched off a minute ago.
 */
import type { Server } from './servers.ts'

export interface Trouble {
  kind: 'failed' | 'unreachable' | 'not_ready'
  word: 'Failed' | 'Unreachable' | 'Node NotReady'
  /** Null if unknown. */
  since: string | null
  reason: string | null
}

/**
 * How long a machine may be silent during an operation before it counts as unreachable, in ms.
 * Large servers take minutes to start.
 */
const patienceMs = 15 * 60_000

type Asked = Pick<Server, 'status' | 'operation_id'> & {
  talos: Pick<Server['talos'], 'reachable' | 'unreachable_since' | 'reason'>
}
type Watched = Asked & Pick<Server, 'kubernetes' | 'failure'>

/**
 * Whether a server answers. `away`: the server doesn't answer because an operation installs or
 * restarts it. `unasked`: the server was not contacted yet.
 */
export type ContactState = 'answers' | 'unreachable' | 'away' | 'unasked'

const isExpected = (
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

/**
 * The worst problem of a server, or null. A failed server waits for a decision, whether or not it
 * answers; an unreachable server has no further problems. A Kubernetes API that doesn't answer is a
 * problem of the cluster.
 */
export function troubleOf(server: Watched, now: number): Trouble | null {
  const { status, talos, kubernetes, failure } = server
  if (status === 'deleted') return null
  if (failure) return { kind: 'failed', word: 'Failed', ...failure }
  const contact = contactStateOf(server, now)
  if (contact === 'away') return null
  if (contact === 'unreachable')
    return {
      kind: 'unreachable',
      word: 'Unreachable',
      since: talos.unreachable_since,
      reason: talos.reason,
    }
  if (kubernetes?.ready !== false || isExpected(server, kubernetes.since, now)) return null
  return {
    kind: 'not_ready',
    word: 'Node NotReady',
    since: kubernetes.since,
    reason: kubernetes.reason,
  }
}

/** What is said first of a server. The worst come first, then what waits for a user. */
const standings = [
  'Failed',
  'Unreachable',
  'Node NotReady',
  'In doubt',
  'Change undone',
  'Patches wait',
  'Changed outside',
  'Change on trial',
  'To confirm',
  'Maintenance',
  'Ready',
  'Deleted',
] as const
export type Standing = (typeof standings)[number]

type Stood = Watched & {
  identity: Pick<Server['identity'], 'state'>
  trial?: Pick<NonNullable<Server['trial']>, 'state'> | null | undefined
  pending?: object | null | undefined
  drift?: object | null | undefined
}

export function standingOf(server: Stood, now: number): Standing {
  const { status, identity, trial, pending, drift } = server
  if (status === 'deleted') return 'Deleted'
  const trouble = troubleOf(server, now)
  if (trouble) return trouble.word
  if (identity.state === 'changed') return 'In doubt'
  if (status !== 'ready') return identity.state === 'confirmed' ? 'Maintenance' : 'To confirm'
  if (trial) return trial.state === 'undone' ? 'Change undone' : 'Change on trial'
  if (pending) return 'Patches wait'
  return drift ? 'Changed outside' : 'Ready'
}

/** Its place among all servers, the worst first. */
export const standingRank = (server: Stood, now: number): number =>
  standings.indexOf(standingOf(server, now))

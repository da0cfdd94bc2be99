/** What contact, Kubernetes and the cluster say of a server: the worst of it. Pure. */
import { contactStateOf, isExpected } from '#contract/servers/contact-state.ts'
import type { ServerCondition } from '../servers/api.ts'

export interface Trouble {
  readonly kind: 'failed' | 'unreachable' | 'not_ready'
  /** Null if unknown. */
  readonly since: string | null
  readonly reason: string | null
}

type Watched = Pick<ServerCondition, 'operation_id' | 'talos' | 'kubernetes' | 'failure'>

/**
 * A failed server waits for a decision, whether or not it answers; an unreachable server has no
 * further problems. A Kubernetes API that doesn't answer is a problem of the cluster.
 */
export function troubleOf(server: Watched, now: number): Trouble | null {
  const { talos, kubernetes, failure } = server
  if (failure) return { kind: 'failed', ...failure }
  const contact = contactStateOf(server, now)
  if (contact === 'away') return null
  if (contact === 'unreachable')
    return { kind: 'unreachable', since: talos.unreachable_since, reason: talos.reason }
  if (kubernetes?.ready !== false || isExpected(server, kubernetes.since, now)) return null
  return { kind: 'not_ready', since: kubernetes.since, reason: kubernetes.reason }
}

import { KubernetesError } from '../../kubernetes/client.ts'

/** About the asker or the moment, and not about what was asked: unauthorized, timeout, too many requests. */
const passingStatuses: ReadonlySet<number> = new Set([401, 408, 429])

/** Whether an answer says that what was asked can't be had, so that asking again as before does not help. */
export const isRefusal = (error: unknown): error is KubernetesError =>
  error instanceof KubernetesError && error.status !== undefined && error.status >= 400 && error.status < 500 && !passingStatuses.has(error.status)

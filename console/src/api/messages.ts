import { unexpected } from '../lib/reason.ts'

/** The specification's sentences, word for word. */
export const messages = {
  sessionExpired: 'Session expired. Please sign in again.',
  accessDenied: "Access denied. You don't have permission for this action.",
  unexpected: (message: string) =>
    `${unexpected}: ${message === '' ? 'Please try again later.' : message}`,
  userNotFound: 'User not found!',
  sessionIsExpired: 'Session is expired!',
  authenticationFailed: 'Authentication failed',
  noAuthenticationData: 'No authentication data received',
  cannotRetry: 'Cannot retry request',
  nameNotUpdated: 'Server name could not be updated',
  serverNotFound: (id: string) => `Server ${id} not found`,
  patchNotCreated: (id: string) => `Failed to create patch for node ${id}`,
} as const

/**
 * The specification's sentence for a failed call whose response has no message, whatever its
 * status; null for calls without one.
 * @param name of the call in the contract
 */
export function failedCall(
  name: string,
  { params, body }: { params?: unknown; body?: unknown } = {},
): string | null {
  const { id } = (params ?? {}) as { id?: string }
  if (name === 'serverGet') return messages.serverNotFound(id ?? '')
  if (name === 'patchCreate') return messages.patchNotCreated(id ?? '')
  if (name === 'serverUpdate' && typeof body === 'object' && body !== null && 'name' in body)
    return messages.nameNotUpdated
  return null
}

/**
 * The login page's sentence for `?error=`: our words for known codes, other values as plain text
 * after "Sign-in problem:".
 */
const known: Record<string, string> = {
  session_expired: messages.sessionExpired,
  signed_out: 'You are signed out.',
  forbidden: messages.accessDenied,
}

export function signInProblem(error: string): string {
  return Object.hasOwn(known, error) ? known[error]! : `Sign-in problem: ${error.slice(0, 300)}`
}

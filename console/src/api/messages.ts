import { unexpected } from '../lib/reason.ts'

/** The specification's sentences, word for word. */
export const messages = {
  sessionExpired: 'Session expired. Please sign in again.',
  accessDenied: "Access denied. You don't have permission for this action.",
  unexpected: (message: string) => `${unexpected}: ${message === '' ? 'Please try again later.' : message}`,
  userNotFound: 'User not found!',
  sessionIsExpired: 'Session is expired!',
  authenticationFailed: 'Authentication failed',
  noAuthenticationData: 'No authentication data received',
  cannotRetry: 'Cannot retry request',
} as const

/** The login page's sentence for `?error=`: our words for known codes, other values as plain text after "Sign-in problem:". */
const known: Record<string, string> = {
  session_expired: messages.sessionExpired,
  signed_out: 'You are signed out.',
  forbidden: messages.accessDenied,
}

export function signInProblem(error: string): string {
  return Object.hasOwn(known, error) ? known[error]! : `Sign-in problem: ${error.slice(0, 300)}`
}

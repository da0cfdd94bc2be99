import type { Answer, Operation } from '#contract/operation.ts'
import { toast } from '../ui/feedback/toast.ts'
import { newKey } from '../lib/key.ts'
import { type Ask, CallError, read, send } from './http.ts'
import { messages } from './messages.ts'
import { codeOf, proved, secondFactorMissing } from './identity/proof.ts'
import { accessToken, endsSession, SessionReplaced } from './access.ts'
import { ownSession, sessionLost, showsSession, storedToken, storedUserId } from './auth.ts'

export { CallError } from './http.ts'

export interface CallOptions {
  signal?: AbortSignal
  /**
   * Idempotency-Key of a POST. Pass the same key for a retry, so that the call takes effect only
   * once.
   */
  key?: string
  /**
   * If-Match: the `version` of the object when it was read. Without `version` the last write wins.
   */
  version?: number
}

/** Throws SessionReplaced unless `userId` is still the user of this browser's session. */
function demandUser(userId: string | null): void {
  if (storedUserId() !== userId) throw new SessionReplaced()
}

/**
 * Sends with the stored token. After a 401, refreshes the token once and repeats the request with
 * the same Idempotency-Key. A 403 shows a toast. If the call needs a recent proof of identity, asks
 * for it and repeats the request, too. Throws "Cannot retry request" if another user has signed in
 * in this browser meanwhile: the request must not be sent in their name. Throws SessionReplaced if
 * the user has signed out or another has signed in before the response: it must not be shown to
 * others.
 */
export async function authorized(
  operation: Operation,
  ask: { params?: unknown; query?: unknown; body?: unknown },
  options: CallOptions & { headers?: Record<string, string> } = {},
): Promise<Response> {
  const key = operation.method === 'POST' ? (options.key ?? newKey()) : undefined
  const attempt = (token: string) => send(operation, ask, { ...options, token, key })
  const { userId, session } = ownSession()
  const tokenOr = async (refused: string | null): Promise<string> => {
    try {
      return await accessToken(refused)
    } catch (error) {
      if (endsSession(error)) sessionLost(session, { refresh: error })
      throw error
    }
  }
  const token = await tokenOr(null)
  demandUser(userId)
  let response = await attempt(token)
  const repeat = async (refused: string | null) => {
    const renewed = await tokenOr(refused)
    if (storedUserId() !== userId) {
      // Shown here: what asks again in the new user's name would hide the error. But only to the
      // user who asked: to the next one the sentence would say nothing.
      if (showsSession(session)) toast.error(messages.cannotRetry, { id: 'cannot_retry' })
      throw new CallError(messages.cannotRetry, { status: response.status, code: 'cannot_retry' })
    }
    return attempt(renewed)
  }
  if (response.status === 401) {
    response = await repeat(token)
    if (response.status === 401) {
      sessionLost(session)
      throw new CallError(messages.sessionExpired, { status: 401, code: 'session_expired' })
    }
  }
  if (response.status === 409 && (await codeOf(response)) === 'proof_needed' && (await proved()))
    response = await repeat(null)
  demandUser(userId)
  if (response.status === 403) {
    if ((await codeOf(response)) === 'second_factor_required') secondFactorMissing.set(true)
    else toast.error(messages.accessDenied, { id: 'denied' })
  }
  return response
}

/**
 * Sends a call of the API, typed by the call's declaration. Throws CallError: `message` for users,
 * `fields` for forms.
 */
export async function call<O extends Operation>(
  operation: O,
  ask: Ask<O> = {},
  options: AbortSignal | CallOptions = {},
): Promise<Answer<O>> {
  const userId = storedUserId()
  const answer = await read(
    operation,
    ask,
    await authorized(
      operation,
      ask,
      options instanceof AbortSignal ? { signal: options } : options,
    ),
  )
  demandUser(userId)
  return answer
}

/**
 * Sends a call that needs no session, such as joining the waitlist. Like every call, it carries the
 * access token if one is stored.
 */
export async function callOpen<O extends Operation>(
  operation: O,
  ask: Ask<O> = {},
  signal?: AbortSignal,
): Promise<Answer<O>> {
  return read(operation, ask, await send(operation, ask, { signal, token: storedToken() }))
}

/** Downloads a call's response as a file, under the name that the server sends. */
export async function download<O extends Operation>(
  operation: O,
  ask: Ask<O>,
  fallbackName: string,
): Promise<void> {
  const userId = storedUserId()
  const response = await authorized(operation, ask)
  const name =
    /filename="([^"/\\]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ??
    fallbackName
  const text = await read(operation, ask, response)
  demandUser(userId)
  const url = URL.createObjectURL(
    new Blob([typeof text === 'string' ? text : JSON.stringify(text, null, 2)], {
      type: operation.media,
    }),
  )
  const link = document.createElement('a')
  link.href = url
  link.download = name
  document.body.append(link)
  link.click()
  link.remove()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

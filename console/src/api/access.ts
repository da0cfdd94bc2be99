/**
 * Access tokens. Whatever begins with a session ends with it: another tab may sign out, and another
 * user sign in, while an answer is on its way. So an answer is stored only if the session is still
 * the one that asked.
 */
import type { Answer } from '#contract/operation.ts'
import type { authorizeRefresh } from '#contract/sessions.ts'
import { pause } from '../lib/pause.ts'
import { CallError, entryCalls, noAnswer, readAnswer, send, type SendOptions } from './http.ts'
import { messages } from './messages.ts'
import { type Budget, patience, patiently } from './patience.ts'
import { report } from './report.ts'
import { tokenBox } from './tokens.ts'

const tokens = tokenBox(localStorage)

/**
 * A token with less than this left, in ms, counts as expired, because the request takes time to
 * arrive.
 */
const marginMs = 3_000
/**
 * Time limit for revoking the sessions, in ms. Log out finishes within 5 s even if the server never
 * responds.
 */
const revokeMs = 4_000
/**
 * Longest pause between attempts to revoke a session in the background, in ms. The pauses add up to
 * two minutes.
 */
const mostRevokePauseMs = 64_000

/** Thrown if there is no session. The message is one of the specification's sentences. */
export class NoSession extends Error {}

/**
 * Thrown if the session that asked has ended, or if another session has begun. The answer is
 * dropped, and the present session isn't concerned.
 */
export class SessionReplaced extends CallError {
  constructor() {
    super('The session in this browser has changed. Nothing was taken over from the old one.', {
      status: 409,
      code: 'session_replaced',
    })
  }
}

/**
 * Whether an error of `accessToken` means that the session is over. A DOMException doesn't: leaving
 * a page aborts the page's lock requests.
 */
export const endsSession = (error: unknown): boolean =>
  !(error instanceof DOMException || error instanceof SessionReplaced)

/**
 * Whether a session is stored: a user and a refresh token that has not expired. The access token is
 * not checked.
 */
export const stands = (): boolean => {
  const longLived = tokens.refresh()
  return tokens.user() !== null && longLived !== null && longLived.expiresAt > Date.now()
}

/**
 * Returns a valid access token. Refreshes it first if it is missing, expired, or equal to
 * `refused`, the token that the server just rejected with 401. Retries within `budget`. Throws
 * NoSession, SessionReplaced, or what the last refresh threw.
 */
export async function accessToken(
  refused: string | null = null,
  budget: Budget = patience(),
): Promise<string> {
  if (tokens.user() === null) throw new NoSession(messages.userNotFound)
  const session = tokens.session()
  if (session === null || !stands()) throw new NoSession(messages.sessionIsExpired)
  const stored = tokens.access()
  if (stored !== null && stored.value !== refused && stored.expiresAt > Date.now() + marginMs)
    return stored.value
  return refresh(session, refused ?? stored?.value ?? null, budget)
}

let refreshing: { session: string; token: Promise<string> } | null = null

/**
 * Refreshes the access token for all tabs, while holding a lock of the session. Skips the request
 * if another tab has just stored a new token.
 */
function refresh(session: string, seen: string | null, budget: Budget): Promise<string> {
  if (refreshing?.session === session) return refreshing.token
  const token = patiently(budget, (limitMs) =>
    locked(`steelyard.refresh.${session}`, limitMs, () => refreshNow(session, seen, limitMs)),
  )
    .catch((error: unknown) => {
      if (!(error instanceof SessionReplaced)) report(error)
      throw error
    })
    .finally(() => {
      if (refreshing?.token === token) refreshing = null
    })
  refreshing = { session, token }
  return token
}

async function refreshNow(session: string, seen: string | null, limitMs: number): Promise<string> {
  if (tokens.session() !== session) throw new SessionReplaced()
  const now = tokens.access()
  if (now !== null && now.value !== seen && now.expiresAt > Date.now() + marginMs) return now.value
  const old = tokens.refresh()
  if (old === null || old.expiresAt <= Date.now()) throw new NoSession(messages.sessionIsExpired)
  const response = await send(
    entryCalls.authorizeRefresh,
    { body: { refresh_token: old.value, rotate: true } },
    { limitMs },
  )
  const answer = (await readAnswer(response).catch((error: unknown) => {
    // A success that can't be read is as final as a refusal: the token may be spent.
    throw response.ok ? new NoSession(messages.sessionIsExpired) : error
  })) as Answer<typeof authorizeRefresh>
  if (!tokens.refreshed(session, answer.access_token, answer.refresh_token, Date.now())) {
    // The sign-out may not have reached the server, so the new tokens may be valid. Nobody may use
    // them.
    void revokeInBackground([answer.refresh_token ?? old.value])
    throw new SessionReplaced()
  }
  return answer.access_token
}

/**
 * Runs `what` while holding a Web Lock. Pages over plain HTTP have no Web Locks: there each tab
 * refreshes by itself. Throws `noAnswer` if another tab still holds the lock after `limitMs`.
 */
async function locked<T>(name: string, limitMs: number, what: () => Promise<T>): Promise<T> {
  if ((navigator as Partial<Navigator>).locks === undefined) return what()
  const late = AbortSignal.timeout(limitMs)
  try {
    return await navigator.locks.request(name, { signal: late }, what)
  } catch (error) {
    if (error instanceof DOMException && late.aborted) throw new CallError(noAnswer, { status: 0 })
    throw error
  }
}

/**
 * Ends the sessions of refresh tokens on the server. Returns the tokens whose sessions may not have
 * ended, because the server did not confirm it.
 */
export async function revoke(
  held: readonly string[],
  options: Pick<SendOptions, 'cookies' | 'token'> = {},
): Promise<string[]> {
  const ended = await Promise.all(
    held.map((refresh_token) =>
      // A closing tab doesn't cancel the request.
      send(
        entryCalls.authorizeLogout,
        { body: { refresh_token } },
        { limitMs: revokeMs, keepalive: true, ...options },
      ).then(
        ({ ok }) => ok,
        () => false,
      ),
    ),
  )
  return held.filter((_, at) => !ended[at])
}

/**
 * Like `revoke`, but nobody waits for it, and it is retried. The tokens are only in memory. Sent
 * without cookies: otherwise the response would clear this origin's storage (Clear-Site-Data), with
 * the session that may have begun since.
 */
export async function revokeInBackground(held: readonly string[]): Promise<void> {
  let left = await revoke(held)
  for (let waitMs = 1_000; left.length > 0 && waitMs <= mostRevokePauseMs; waitMs *= 2) {
    await pause(waitMs)
    left = await revoke(left)
  }
}

import type { Answer } from '#contract/operation.ts'
import type { authorizeRefresh, sessionGet, User } from '#contract/sessions.ts'
import { readClaims } from '../lib/jwt.ts'
import { createStore, useStore } from '../lib/store.ts'
import { toast } from '../ui/feedback/toast.ts'
import { entryCalls, CallError, noAnswer, readAnswer, send } from './http.ts'
import { messages } from './messages.ts'
import { type Budget, patience, patiently } from './patience.ts'
import { report } from './report.ts'
import { tokenBox, userKey } from './tokens.ts'

export type AuthStatus = 'loading' | 'signedIn' | 'signedOut'

const tokens = tokenBox(localStorage)
/** `loading` until the stored session has been validated. */
export const authStatus = createStore<AuthStatus>('loading')
export const useAuthStatus = (): AuthStatus => useStore(authStatus)

/** Id of the stored user; null without a session. */
export const storedUserId = (): string | null => tokens.user()?.id ?? null
/** The stored access token, even if it has expired; null without a session. For calls that need no session. */
export const storedToken = (): string | null => tokens.access()?.value ?? null

/** Whether a validation of the session, a sign-in or a Log out is running. */
export const authLoading = createStore(false)
export const useAuthLoading = (): boolean => useStore(authLoading)
let loadings = 0
async function whileLoading<T>(what: () => Promise<T>): Promise<T> {
  loadings++
  authLoading.set(true)
  try {
    return await what()
  } finally {
    loadings--
    authLoading.set(loadings > 0)
  }
}

const currentUser = createStore<User | null>(tokens.user())
/** The signed-in user; null until known. */
export const useUser = (): User | null => useStore(currentUser)

/** A token with less than this left, in ms, counts as expired, because the request takes time to arrive. */
const marginMs = 3_000

/** Time limit of a sign-in, in ms. The server's own limits are shorter. */
const signInMs = 30_000
/** Time limit for revoking the sessions, in ms. Log out finishes within 5 s even if the server never responds. */
const revokeMs = 4_000

/** Signs in with a password, and with a code of the second factor if the account has one. Throws as `signInBy`. */
export const signIn = (email: string, password: string, code?: string): Promise<unknown> =>
  signInBy(entryCalls.authorize, { email, password, ...(code !== undefined && { code }) })

/** Whether the password was right, but the account also needs a code. */
export const needsCode = (error: unknown): boolean => error instanceof CallError && error.code === 'second_factor_needed'

/**
 * Signs in by one of the calls that answer a user and tokens, and returns the whole answer. Throws an error whose message the form shows. A failure is also
 * reported (without the email) and shown as a toast, but not the question for a code.
 */
export const signInBy = (call: Parameters<typeof send>[0], body: object): Promise<unknown> => whileLoading(() => trySignIn(call, body))

async function trySignIn(call: Parameters<typeof send>[0], body: object): Promise<unknown> {
  toast.hearErrors()
  try {
    const response = await send(call, { body }, { limitMs: signInMs, cookies: true })
    if (!response.ok) await readAnswer(response, { failed: messages.authenticationFailed })
    const data = (await response.json().catch(() => null)) as { userData?: User; accessToken?: string; refreshToken?: string } | null
    if (!data?.userData || data.accessToken === undefined || data.refreshToken === undefined) throw new Error(messages.noAuthenticationData)
    for (const notice of ['wrapped', 'session']) toast.dismiss(notice)
    tokens.signIn(data.userData, data.accessToken, data.refreshToken, Date.now())
    begin()
    return data
  } catch (error) {
    if (needsCode(error)) throw error
    report(error)
    toast.error(messages.unexpected(error instanceof Error ? error.message : ''), { id: 'wrapped' })
    throw error
  }
}

/** Shows the changed name of the signed-in user. */
export function renamed(user: User): void {
  tokens.rename(user)
  currentUser.set(tokens.user())
}

function begin(): void {
  toast.hearErrors()
  currentUser.set(tokens.user())
  authStatus.set('signedIn')
}

/** Thrown if there is no session. The message is one of the specification's sentences. */
class NoSession extends Error {}

let refreshing: Promise<string> | null = null

/** Refreshes the access token for all tabs, while holding a lock. Skips the request if another tab has just stored a new token. */
function refresh(seen: string | null, budget: Budget): Promise<string> {
  refreshing ??= patiently(budget, (limitMs) => locked('steelyard.refresh', limitMs, () => refreshNow(seen, limitMs)))
    .catch((error: unknown) => {
      report(error)
      throw error
    })
    .finally(() => {
      refreshing = null
    })
  return refreshing
}

async function refreshNow(seen: string | null, limitMs: number): Promise<string> {
  const now = tokens.access()
  if (now !== null && now.value !== seen && now.expiresAt > Date.now() + marginMs) return now.value
  const old = tokens.refresh()
  if (old === null || old.expiresAt <= Date.now()) throw new NoSession(messages.sessionIsExpired)
  const response = await send(entryCalls.authorizeRefresh, { body: { refresh_token: old.value, rotate: true } }, { limitMs })
  const answer = (await readAnswer(response)) as Answer<typeof authorizeRefresh>
  tokens.refreshed(answer.access_token, answer.refresh_token, Date.now())
  return answer.access_token
}

/**
 * Runs `what` while holding a Web Lock. Pages over plain HTTP have no Web Locks: there each tab refreshes by itself.
 * Throws `noAnswer` if another tab still holds the lock after `limitMs`.
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

/** Whether a session is stored: a user and a refresh token that has not expired. The access token is not checked. */
const stands = (): boolean => {
  const longLived = tokens.refresh()
  return tokens.user() !== null && longLived !== null && longLived.expiresAt > Date.now()
}

/**
 * Returns a valid access token. Refreshes it first if it is missing, expired, or equal to `refused`, the token that the server just rejected
 * with 401. Retries within `budget`.
 * Throws NoSession, or what the last refresh threw.
 */
export async function accessToken(refused: string | null = null, budget: Budget = patience()): Promise<string> {
  if (tokens.user() === null) throw new NoSession(messages.userNotFound)
  if (!stands()) throw new NoSession(messages.sessionIsExpired)
  const stored = tokens.access()
  if (stored !== null && stored.value !== refused && stored.expiresAt > Date.now() + marginMs) return stored.value
  return refresh(refused ?? stored?.value ?? null, budget)
}

/** Whether an error of `accessToken` means that the session is over. A DOMException doesn't: leaving a page aborts the page's lock requests. */
export const endsSession = (error: unknown): boolean => !(error instanceof DOMException)

/** Called when a session ends, for instance to clear the query cache. `explicit`: the user logged out. */
type OnEnd = (how: { explicit: boolean }) => void
const onEnd = new Set<OnEnd>()
export const whenSessionEnds = (what: OnEnd): (() => void) => {
  onEnd.add(what)
  return () => onEnd.delete(what)
}

let loggingOut = false
let loggedOut = false

function end(explicit: boolean): void {
  if (authStatus.get() === 'signedOut' && tokens.user() === null) return
  loggedOut = explicit
  localStorage.clear()
  sessionStorage.clear()
  currentUser.set(null)
  authStatus.set('signedOut')
  for (const what of onEnd) what({ explicit })
}

/** Called if a session is over without a Log out: shows the notice and goes to the login page. */
export function sessionLost(): void {
  // No notice during Log out: the server ends the session first, so running calls fail before the local state is cleared.
  if (loggingOut) return
  if (authStatus.get() !== 'signedOut') toast.lastError(messages.sessionExpired, 'session')
  end(false)
}

/** Whether the user ended the last session by logging out, so that the next sign-in doesn't return to the previous page. */
export const wasLoggedOut = (): boolean => loggedOut

/** Revokes the user's refresh tokens, clears the local storage and the user's drafts, and goes to the login page, even without a response. */
export async function logOut(): Promise<void> {
  if (loggingOut) return
  loggingOut = true
  await whileLoading(revokeAll)
  end(true)
  loggingOut = false
}

async function revokeAll(): Promise<void> {
  const held = tokens.allRefresh()
  const user = tokens.user()
  if (user !== null) void import('./drafts.ts').then(({ removeDrafts }) => removeDrafts(user.id)).catch(report)
  const revoking = { cookies: true, limitMs: revokeMs, token: storedToken() }
  await Promise.allSettled(held.map((refresh_token) => send(entryCalls.authorizeLogout, { body: { refresh_token } }, revoking)))
}

/** Asks the server whether the stored session is valid, with retries, and sets the status. The user counts as signed in only after a positive response. */
export const validateSession = (): Promise<void> => whileLoading(validate)

async function validate(): Promise<void> {
  if (tokens.user() === null) return authStatus.set('signedOut')
  try {
    const budget = patience()
    const ask = (token: string): Promise<Answer<typeof sessionGet> | 'refused'> =>
      patiently(budget, async (limitMs) => {
        const response = await send(entryCalls.sessionGet, {}, { token, limitMs })
        return response.status === 401 ? 'refused' : ((await readAnswer(response)) as Answer<typeof sessionGet>)
      })
    const token = await accessToken(null, budget)
    let answer = await ask(token)
    if (answer === 'refused') answer = await ask(await accessToken(token, budget))
    if (answer === 'refused' || !tokens.isValid(Date.now())) throw new NoSession(messages.sessionIsExpired)
    currentUser.set(answer.user)
    authStatus.set('signedIn')
  } catch (error) {
    if (!endsSession(error)) return undefined
    report(error)
    // The specification requires that this error is logged.
    // oxlint-disable-next-line no-console
    console.error('The session could not be validated:', error instanceof Error ? error.message : error)
    sessionLost()
  }
  return undefined
}

/** Guard of signed-in routes: checks the stored tokens. If only the access token has expired, refreshes it first. */
export async function sessionHolds(): Promise<boolean> {
  if (authStatus.get() === 'loading') return true
  if (authStatus.get() === 'signedOut') return false
  if (tokens.isValid(Date.now())) return true
  try {
    await accessToken()
    return true
  } catch (error) {
    if (!endsSession(error)) return true
    sessionLost()
    return false
  }
}

/** Gets a new access token although the stored one is valid, because the user's scopes have changed. */
export const renewScopes = (): Promise<string> => accessToken(tokens.access()?.value ?? null)

let known: { token: string; scopes: readonly string[] } = { token: '', scopes: [] }
/** Scopes of the stored access token. Null if there is no session or no access token yet; the user's role is unknown then. */
export function heldScopes(): readonly string[] | null {
  const token = stands() ? (tokens.access()?.value ?? '') : ''
  if (token !== known.token) known = { token, scopes: token === '' ? [] : readClaims(token).scopes }
  return token === '' ? null : known.scopes
}

const lookEveryMs = 2_000
/** Detects the end of a stored session without a request: after its 24 h, or when the stored tokens are gone. */
export function watchSession(): void {
  setInterval(() => {
    if (authStatus.get() === 'signedIn' && !stands()) sessionLost()
  }, lookEveryMs)
}

/** Follows a sign-in or Log out in another tab. */
window.addEventListener('storage', (event) => {
  if (event.key !== userKey && event.key !== null) return
  if (tokens.user() !== null) begin()
  else if (authStatus.get() === 'signedIn') sessionLost()
})

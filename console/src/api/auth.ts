import type { Answer } from '#contract/operation.ts'
import type { authorizeRefresh, sessionGet, User } from '#contract/sessions.ts'
import { readClaims } from '../lib/jwt.ts'
import { createStore, useStore } from '../lib/store.ts'
import { toast } from '../ui/feedback/toast.ts'
import { entryCalls } from './entry-calls.ts'
import { CallError, noAnswer, readAnswer, send } from './http.ts'
import { messages } from './messages.ts'
import { type Budget, patience, patiently } from './patience.ts'
import { report } from './report.ts'
import { tokenBox, userKey } from './tokens.ts'

export type AuthStatus = 'loading' | 'signedIn' | 'signedOut'

const tokens = tokenBox(localStorage)
/** Begins as loading: the stored session has yet to be confirmed. */
export const authStatus = createStore<AuthStatus>('loading')
export const useAuthStatus = (): AuthStatus => useStore(authStatus)

const currentUser = createStore<User | null>(tokens.user())
/** Who is signed in; null until known. */
export const useUser = (): User | null => useStore(currentUser)

/** A token this close to its end, in ms, counts as expired: the request has to get there. */
const marginMs = 3_000

/** How long a sign-in may take, in ms: the server's own limits end sooner. */
const signInMs = 30_000
/** The sessions are revoked within this, in ms, or the person goes without: a Log out ends within 5 s whatever the server does. */
const revokeMs = 4_000

/** Throws an error whose message is for the form. A failure is reported, without the email, and shown as a notice. */
export async function signIn(email: string, password: string): Promise<void> {
  toast.hearErrors()
  try {
    const response = await send(entryCalls.authorize, { body: { email, password } }, { limitMs: signInMs, cookies: true })
    if (!response.ok) {
      const problem = await readAnswer(response).catch((error: unknown) => error)
      throw problem instanceof CallError && problem.said ? problem : new Error(messages.authenticationFailed)
    }
    const data = (await response.json().catch(() => null)) as { userData?: User; accessToken?: string; refreshToken?: string } | null
    if (!data?.userData || data.accessToken === undefined || data.refreshToken === undefined) throw new Error(messages.noAuthenticationData)
    for (const notice of ['wrapped', 'session']) toast.dismiss(notice)
    tokens.signIn(data.userData, data.accessToken, data.refreshToken, Date.now())
    begin()
  } catch (error) {
    report(error)
    toast.error(messages.unexpected(error instanceof Error ? error.message : ''), { id: 'wrapped' })
    throw error
  }
}

function begin(): void {
  toast.hearErrors()
  currentUser.set(tokens.user())
  authStatus.set('signedIn')
}

/** Thrown where there is no session to speak for; its message is one of the specification's. */
class NoSession extends Error {}

let refreshing: Promise<string> | null = null

/** One refresh for all tabs: under a lock, and not at all if another tab's has just come in. */
function refresh(seen: string | null, budget: Budget): Promise<string> {
  refreshing ??= patiently(budget, (limitMs) => locked('steelyard.refresh', limitMs, () => refreshNow(seen, limitMs))).finally(() => {
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

/** Without Web Locks (a page over plain HTTP) one refresh per tab has to do. Waiting longer than `limitMs` for another tab is as good as no answer. */
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

/** Whether the stored user and refresh token are there, and the token has not ended: what has to be so for a session, whatever the access token. */
const stands = (): boolean => {
  const longLived = tokens.refresh()
  return tokens.user() !== null && longLived !== null && longLived.expiresAt > Date.now()
}

/**
 * A token that holds, refreshed first where it is missing, expired, or `refused` (the one that a call was just answered 401 with), with the product's patience.
 * Throws NoSession, or what the last refresh threw.
 */
export async function accessToken(refused: string | null = null, budget: Budget = patience()): Promise<string> {
  if (tokens.user() === null) throw new NoSession(messages.userNotFound)
  if (!stands()) throw new NoSession(messages.sessionIsExpired)
  const stored = tokens.access()
  if (stored !== null && stored.value !== refused && stored.expiresAt > Date.now() + marginMs) return stored.value
  return refresh(refused ?? stored?.value ?? null, budget)
}

/** Whether an error of `accessToken` means that the session is over. One of the browser's own does not: it takes locks away from a page that is being left. */
export const endsSession = (error: unknown): boolean => !(error instanceof DOMException)

/** What else has to happen when a session ends, such as clearing the query cache. `explicit`: the person asked for it. */
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

/** The session is over and nobody asked for it: notice, and to the login page. */
export function sessionLost(): void {
  // What is under way learns of a Log out before that is done: the server ends the session first, and the browser clears what is stored.
  if (loggingOut) return
  if (authStatus.get() !== 'signedOut') toast.lastError(messages.sessionExpired, 'session')
  end(false)
}

/** Whether the last session of this page was ended by Log out: nobody is led back to where they were then. */
export const wasLoggedOut = (): boolean => loggedOut

/** Revokes every stored token of the user, here and at the server, deletes the user's drafts, and goes to the login page even where the server can't be told. */
export async function logOut(): Promise<void> {
  if (loggingOut) return
  loggingOut = true
  const held = tokens.allRefresh()
  const user = tokens.user()
  if (user !== null) void import('./drafts.ts').then(({ removeDrafts }) => removeDrafts(user.id))
  await Promise.allSettled(held.map((refresh_token) => send(entryCalls.authorizeLogout, { body: { refresh_token } }, { cookies: true, limitMs: revokeMs })))
  end(true)
  loggingOut = false
}

/** Asks the server whether the stored session holds, with the product's patience, and sets the status by the answer. Without a yes nobody is signed in. */
export async function validateSession(): Promise<void> {
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
    // The specification wants it logged.
    // oxlint-disable-next-line no-console
    console.error('The session could not be validated:', error instanceof Error ? error.message : error)
    sessionLost()
  }
  return undefined
}

/** What a guarded route asks before it lets in: the stored tokens. Where only the access token has ended, it is fetched anew first. */
export async function sessionHolds(): Promise<boolean> {
  if (authStatus.get() === 'loading') return true
  if (authStatus.get() === 'signedOut') return false
  if (tokens.isValid(Date.now())) return true
  try {
    await accessToken()
    return true
  } catch (error) {
    if (!endsSession(error)) return true
    report(error)
    sessionLost()
    return false
  }
}

let known: { token: string; scopes: readonly string[] } = { token: '', scopes: [] }
/** The scopes of the stored access token; null where there is no session, or its token is still to be fetched: then nothing can be said of the person's role. */
export function heldScopes(): readonly string[] | null {
  const token = stands() ? (tokens.access()?.value ?? '') : ''
  if (token !== known.token) known = { token, scopes: token === '' ? [] : readClaims(token).scopes }
  return token === '' ? null : known.scopes
}

const lookEveryMs = 2_000
/** The end of a stored session is noticed without a call: its 24 h are over, or what was stored is gone. */
export function watchSession(): void {
  setInterval(() => {
    if (authStatus.get() === 'signedIn' && !stands()) sessionLost()
  }, lookEveryMs)
}

/** Another tab signed in or out. */
window.addEventListener('storage', (event) => {
  if (event.key !== userKey && event.key !== null) return
  if (tokens.user() !== null) begin()
  else if (authStatus.get() === 'signedIn') sessionLost()
})

import type { Answer } from '#contract/operation.ts'
import type { authorizeRefresh, sessionGet, User } from '#contract/sessions.ts'
import { readClaims } from '../lib/jwt.ts'
import { createStore, useStore } from '../lib/store.ts'
import { toast } from '../ui/toast.ts'
import { entryCalls } from './entry-calls.ts'
import { CallError, readAnswer, send } from './http.ts'
import { messages } from './messages.ts'
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

/** Sign-in and refresh are wrapped: a failure is reported and shown as a notice. What is reported carries no email. */
async function wrapped<T>(what: () => Promise<T>): Promise<T> {
  try {
    return await what()
  } catch (error) {
    report(error)
    toast.error(messages.unexpected(error instanceof Error ? error.message : ''), { id: 'wrapped' })
    throw error
  }
}

/** Throws an error whose message is for the form. */
export const signIn = (email: string, password: string): Promise<void> =>
  wrapped(async () => {
    const response = await send(entryCalls.authorize, { body: { email, password } }, {})
    if (!response.ok) {
      const problem = await readAnswer(response).catch((error: unknown) => error)
      throw problem instanceof CallError && problem.message !== '' ? problem : new Error(messages.authenticationFailed)
    }
    const data = (await response.json().catch(() => null)) as { userData?: User; accessToken?: string; refreshToken?: string } | null
    if (!data?.userData || data.accessToken === undefined || data.refreshToken === undefined) throw new Error(messages.noAuthenticationData)
    for (const notice of ['wrapped', 'session']) toast.dismiss(notice)
    tokens.signIn(data.userData, data.accessToken, data.refreshToken, Date.now())
    currentUser.set(tokens.user())
    authStatus.set('signedIn')
  })

/** Thrown where there is no session to speak for; its message is one of the specification's. */
class NoSession extends Error {}

let refreshing: Promise<string> | null = null

/** One refresh for all tabs: under a lock, and not at all if another tab's has just come in. */
function refresh(seen: string | null): Promise<string> {
  refreshing ??= wrapped(() => locked('steelyard.refresh', () => refreshNow(seen))).finally(() => {
    refreshing = null
  })
  return refreshing
}

async function refreshNow(seen: string | null): Promise<string> {
  const now = tokens.access()
  if (now !== null && now.value !== seen && now.expiresAt > Date.now() + marginMs) return now.value
  const old = tokens.refresh()
  if (old === null || old.expiresAt <= Date.now()) throw new NoSession(messages.sessionIsExpired)
  const response = await send(entryCalls.authorizeRefresh, { body: { refresh_token: old.value, rotate: true } }, {})
  const answer = (await readAnswer(response)) as Answer<typeof authorizeRefresh>
  tokens.refreshed(answer.access_token, answer.refresh_token, Date.now())
  return answer.access_token
}

/** Without Web Locks (a page over plain HTTP) one refresh per tab has to do. */
const locked = <T>(name: string, what: () => Promise<T>): Promise<T> =>
  (navigator as Partial<Navigator>).locks === undefined ? what() : navigator.locks.request(name, what)

/** A token that holds, refreshed first where it is missing, expired, or `refused` (the one that a call was just answered 401 with). Throws NoSession, or what the refresh threw. */
export async function accessToken(refused: string | null = null): Promise<string> {
  if (tokens.user() === null) throw new NoSession(messages.userNotFound)
  const longLived = tokens.refresh()
  if (longLived === null || longLived.expiresAt <= Date.now()) throw new NoSession(messages.sessionIsExpired)
  const stored = tokens.access()
  if (stored !== null && stored.value !== refused && stored.expiresAt > Date.now() + marginMs) return stored.value
  return refresh(refused ?? stored?.value ?? null)
}

/** Whether an error means that the session is over. A Steelyard that does not answer, or answers 5xx, has not ended anything. */
export const endsSession = (error: unknown): boolean =>
  error instanceof NoSession || (error instanceof CallError && error.status >= 400 && error.status < 500 && error.status !== 429)

/** What else has to happen when a session ends, such as clearing the query cache. `explicit`: the person asked for it. */
type OnEnd = (how: { explicit: boolean }) => void
const onEnd = new Set<OnEnd>()
export const whenSessionEnds = (what: OnEnd): (() => void) => {
  onEnd.add(what)
  return () => onEnd.delete(what)
}

function end(explicit: boolean): void {
  if (authStatus.get() === 'signedOut' && tokens.user() === null) return
  localStorage.clear()
  sessionStorage.clear()
  currentUser.set(null)
  authStatus.set('signedOut')
  for (const what of onEnd) what({ explicit })
}

/** The session is over and nobody asked for it: notice, and to the login page. */
export function sessionLost(): void {
  if (authStatus.get() !== 'signedOut') toast.error(messages.sessionExpired, { id: 'session' })
  end(false)
}

/** Revokes every stored token of the user, here and at the server, deletes the user's drafts, and goes to the login page even where the server can't be told. */
export async function logOut(): Promise<void> {
  const held = tokens.allRefresh()
  const user = tokens.user()
  if (user !== null) void import('./drafts.ts').then(({ removeDrafts }) => removeDrafts(user.id))
  await Promise.allSettled(held.map((refresh_token) => send(entryCalls.authorizeLogout, { body: { refresh_token } }, { clears: true })))
  end(true)
}

/** Asks the server whether the stored session holds, and sets the status by the answer. Where it does not answer, what is stored decides. */
export async function validateSession(): Promise<void> {
  if (tokens.user() === null) return authStatus.set('signedOut')
  try {
    const token = await accessToken()
    let response = await send(entryCalls.sessionGet, {}, { token })
    if (response.status === 401) response = await send(entryCalls.sessionGet, {}, { token: await accessToken(token) })
    const answer = (await readAnswer(response)) as Answer<typeof sessionGet>
    currentUser.set(answer.user)
    authStatus.set(tokens.isValid(Date.now()) ? 'signedIn' : 'signedOut')
  } catch (error) {
    report(error)
    if (endsSession(error)) return sessionLost()
    authStatus.set(tokens.isValid(Date.now()) ? 'signedIn' : 'signedOut')
  }
  return undefined
}

/** What a guarded route asks before it lets in. */
export async function sessionHolds(): Promise<boolean> {
  if (authStatus.get() === 'loading') return true
  if (authStatus.get() === 'signedOut') return false
  if (tokens.isValid(Date.now())) return true
  try {
    await accessToken()
    return true
  } catch (error) {
    if (!endsSession(error)) return true
    end(false)
    return false
  }
}

let scopesOf: { token: string; scopes: readonly string[] } = { token: '', scopes: [] }
/** The scopes of the stored access token. */
export function heldScopes(): readonly string[] {
  const token = tokens.access()?.value ?? ''
  if (token !== scopesOf.token) scopesOf = { token, scopes: token === '' ? [] : readClaims(token).scopes }
  return scopesOf.scopes
}

/** Another tab signed in or out. */
window.addEventListener('storage', (event) => {
  if (event.key !== userKey && event.key !== null) return
  const user = tokens.user()
  currentUser.set(user)
  if (user !== null) authStatus.set('signedIn')
  else if (authStatus.get() === 'signedIn') {
    authStatus.set('signedOut')
    for (const what of onEnd) what({ explicit: false })
  }
})

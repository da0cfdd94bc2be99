import type { sessionGet, User } from '#contract/sessions.ts'
import type { Answer } from '#contract/operation.ts'
import { createStore, useStore } from '../lib/store.ts'
import { toast } from '../ui/feedback/toast.ts'
import {
  accessToken,
  endsSession,
  NoSession,
  revoke,
  revokeInBackground,
  SessionReplaced,
  stands,
} from './access.ts'
import { entryCalls, CallError, isUndecided, noAnswer, readAnswer, send } from './http.ts'
import { messages } from './messages.ts'
import { patience, patiently } from './patience.ts'
import { report } from './report.ts'
import { recordKey, tokenBox, userKey } from './tokens.ts'

export type AuthStatus = 'loading' | 'signedIn' | 'signedOut'

const tokens = tokenBox(localStorage)
/** `loading` until the stored session has been validated. */
export const authStatus = createStore<AuthStatus>('loading')
export const useAuthStatus = (): AuthStatus => useStore(authStatus)

/** Id of the stored user; null without a session. */
export const storedUserId = (): string | null => tokens.user()?.id ?? null
/**
 * The session of this tab: the one whose data its pages show. Another tab may have stored another
 * one.
 */
let mine: string | null = tokens.session()
/**
 * The stored access token, even if it has expired; null without a session. For calls that need no
 * session.
 */
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

/** Time limit of a sign-in, in ms. The server's own limits are shorter. */
const signInMs = 30_000

/**
 * Signs in with a password, and with a code of the second factor if the account has one. Throws as
 * `signInBy`.
 */
export const signIn = (email: string, password: string, code?: string): Promise<unknown> =>
  signInBy(entryCalls.authorize, { email, password, ...(code !== undefined && { code }) })

/** Whether the password was right, but the account also needs a code. */
export const needsCode = (error: unknown): boolean =>
  error instanceof CallError && error.code === 'second_factor_needed'

/**
 * Signs in by one of the calls that answer a user and tokens, and returns the whole answer. Throws
 * an error whose message the form shows. A failure is also reported (without the email) and shown
 * as a toast, but not the question for a code.
 */
export const signInBy = (call: Parameters<typeof send>[0], body: object): Promise<unknown> =>
  whileLoading(() => trySignIn(call, body))

async function trySignIn(call: Parameters<typeof send>[0], body: object): Promise<unknown> {
  toast.hearErrors()
  const before = tokens.session()
  try {
    const response = await send(call, { body }, { limitMs: signInMs, cookies: true })
    if (!response.ok) await readAnswer(response, { failed: messages.authenticationFailed })
    const data = (await response.json().catch(() => null)) as {
      userData?: User
      accessToken?: string
      refreshToken?: string
    } | null
    if (!data?.userData || data.accessToken === undefined || data.refreshToken === undefined)
      throw new Error(messages.noAuthenticationData)
    if (storedUserId() !== null && storedUserId() !== data.userData.id)
      makeRoom(before, data.refreshToken)
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

/**
 * Ends the session of another user, whom a sign-in replaces. `before`: the session when the sign-in
 * began; `fresh`: the refresh token of the sign-in. Throws SessionReplaced if the other user signed
 * in later, in another tab: then the sign-in is dropped.
 */
function makeRoom(before: string | null, fresh: string): void {
  if (tokens.session() !== before) {
    void revokeInBackground([fresh])
    throw new SessionReplaced()
  }
  void revokeInBackground(tokens.allRefresh())
  end({ explicit: true })
}

/** Shows the changed name of the signed-in user. */
export function renamed(user: User): void {
  if (user.id !== storedUserId()) return
  tokens.rename(user)
  currentUser.set(tokens.user())
}

function begin(): void {
  toast.hearErrors()
  mine = tokens.session()
  currentUser.set(tokens.user())
  authStatus.set('signedIn')
}

interface End {
  /** The user logged out. */
  explicit: boolean
  /**
   * Another user has signed in in another tab. The page must be loaded again, because it shows what
   * the previous user could see.
   */
  replaced?: boolean
}
/** Called when a session ends, for instance to clear the query cache. */
type OnEnd = (how: End) => void
const onEnd = new Set<OnEnd>()
export const whenSessionEnds = (what: OnEnd): (() => void) => {
  onEnd.add(what)
  return () => onEnd.delete(what)
}

let loggingOut = false
let loggedOut = false
/** The session of which another tab logs out; null if none does. */
let leftElsewhere: string | null = null

/**
 * `isCleared`: another tab has cleared the local storage, and may be storing the next session
 * already.
 */
function end(how: End, { isCleared = false } = {}): void {
  if (authStatus.get() === 'signedOut' && tokens.user() === null) return
  loggedOut = how.explicit
  if (!isCleared) localStorage.clear()
  sessionStorage.clear()
  mine = how.replaced ? tokens.session() : null
  currentUser.set(null)
  authStatus.set('signedOut')
  for (const what of onEnd) what(how)
}

/**
 * Called if `session` is over without a Log out: shows the notice and goes to the login page. Does
 * nothing if another session has begun since: a late refusal must not end that one. `refresh`: the
 * error of the refresh that failed. If the server has not decided within the time limit, the notice
 * says what went wrong.
 */
export function sessionLost(
  session: string | null,
  { isCleared = false, refresh }: { isCleared?: boolean; refresh?: unknown } = {},
): void {
  // No notice during Log out: the server ends the session first, so running calls fail before the
  // local state is cleared.
  if (loggingOut) return
  const now = tokens.session()
  if (now !== null && now !== session) return follow()
  if (session !== null && session === leftElsewhere) return end({ explicit: true }, { isCleared })
  if (authStatus.get() !== 'signedOut')
    toast.lastError(
      isUndecided(refresh) ? messages.unexpected(refresh.message) : messages.sessionExpired,
      'session',
    )
  end({ explicit: false }, { isCleared })
}

/**
 * Follows a sign-in or Log out in another tab, which has stored another session than that of this
 * tab.
 */
function follow({ isCleared = false } = {}): void {
  const now = tokens.session()
  if (now === mine) return
  if (now === null) {
    if (authStatus.get() !== 'signedOut') sessionLost(mine, { isCleared })
  } else if (mine === null || userOf(mine) === userOf(now)) begin()
  else end({ explicit: true, replaced: true }, { isCleared: true })
}

const userOf = (session: string): string => session.split(' ', 1)[0]!

/**
 * The user and the session in whose name this tab makes a call. Throws SessionReplaced if another
 * user's session is stored.
 */
export function ownSession(): { userId: string | null; session: string | null } {
  const before = mine
  follow()
  const session = tokens.session()
  if (before !== null && session !== null && userOf(before) !== userOf(session))
    throw new SessionReplaced()
  return { userId: storedUserId(), session }
}

/** Whether this tab still shows the pages of `session`, also if another one is stored since. */
export const showsSession = (session: string | null): boolean => mine === session

/**
 * Whether the user ended the last session by logging out, so that the next sign-in doesn't return
 * to the previous page.
 */
export const wasLoggedOut = (): boolean => loggedOut

/**
 * Revokes the user's refresh tokens, clears the local storage, and goes to the login page, even
 * without a response.
 */
export async function logOut(): Promise<void> {
  if (loggingOut) return
  loggingOut = true
  const session = tokens.session()
  tokens.leave()
  await whileLoading(revokeAll)
  loggingOut = false
  // The response has cleared the storage (Clear-Site-Data), unless it was lost. Meanwhile, somebody
  // may have signed in in another tab.
  const now = tokens.session()
  if (now === null || now === session) end({ explicit: true })
  else follow()
}

async function revokeAll(): Promise<void> {
  const held = tokens.allRefresh()
  void revokeInBackground(await revoke(held, { cookies: true, token: storedToken() }))
}

/**
 * Asks the server whether the stored session is valid, with retries, and sets the status. The user
 * counts as signed in only after a positive response.
 */
export const validateSession = (): Promise<void> => whileLoading(validate)

async function validate(): Promise<void> {
  const [session, userId] = [tokens.session(), storedUserId()]
  mine = session
  if (userId === null) return authStatus.set('signedOut')
  try {
    const budget = patience()
    const ask = (token: string): Promise<unknown> =>
      patiently(budget, async (limitMs) => {
        const response = await send(entryCalls.sessionGet, {}, { token, limitMs })
        return response.status === 401 ? 'refused' : readWhatever(response)
      })
    const token = await accessToken(null, budget)
    let answer = await ask(token)
    if (answer === 'refused') answer = await ask(await accessToken(token, budget))
    if (tokens.session() !== session) return follow()
    if (!confirms(answer, userId) || !tokens.isValid(Date.now()))
      throw new NoSession(messages.sessionIsExpired)
    currentUser.set(answer.user)
    authStatus.set('signedIn')
  } catch (error) {
    const now = tokens.session()
    // Another call of the page may have been refused first and have ended the session. The
    // validation has failed all the same, and is logged.
    const isReplaced = now !== session && now !== null
    if (isReplaced || !endsSession(error)) return now === session ? undefined : follow()
    report(error)
    // The specification requires that this error is logged.
    // oxlint-disable-next-line no-console
    console.error(
      'The session could not be validated:',
      error instanceof Error ? error.message : error,
    )
    if (now === null) follow()
    else sessionLost(session, { refresh: error })
  }
  return undefined
}

/**
 * The content of a successful response, whatever it is; undefined if it isn't JSON. Throws
 * CallError if the response is an error or breaks off.
 */
async function readWhatever(response: Response): Promise<unknown> {
  if (!response.ok) return readAnswer(response)
  const text = await response.text().catch(() => {
    throw new CallError(noAnswer, { status: 0 })
  })
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/**
 * Whether a validation's answer is `{user, scopes, expiresAt}` of this user. Checked by hand,
 * because the first page doesn't load the schema library.
 */
function confirms(
  answer: unknown,
  userId: string,
): answer is Pick<Answer<typeof sessionGet>, 'user' | 'scopes' | 'expiresAt'> {
  const { user, scopes, expiresAt } = (answer ?? {}) as Partial<
    Record<'user' | 'scopes' | 'expiresAt', unknown>
  >
  const { id, email, name } = (user ?? {}) as Partial<Record<keyof User, unknown>>
  return (
    id === userId &&
    typeof email === 'string' &&
    typeof name === 'string' &&
    Array.isArray(scopes) &&
    scopes.every((scope) => typeof scope === 'string') &&
    typeof expiresAt === 'string' &&
    !Number.isNaN(Date.parse(expiresAt))
  )
}

/**
 * Guard of signed-in routes: checks the stored tokens. If only the access token has expired,
 * refreshes it first.
 */
export async function sessionHolds(): Promise<boolean> {
  if (authStatus.get() === 'loading') return true
  if (authStatus.get() === 'signedOut') return false
  if (tokens.isValid(Date.now())) return true
  const session = tokens.session()
  try {
    await accessToken()
    return true
  } catch (error) {
    if (tokens.session() === session && !endsSession(error)) return true
    const isReplaced = tokens.session() !== null && tokens.session() !== session
    sessionLost(session, { refresh: error })
    return isReplaced && authStatus.get() === 'signedIn'
  }
}

const lookEveryMs = 2_000
/**
 * Detects the end of a stored session without a request: after its 24 h, or when the stored tokens
 * are gone.
 */
export function watchSession(): void {
  setInterval(() => {
    if (authStatus.get() === 'signedIn' && !stands()) sessionLost(mine)
  }, lookEveryMs)
}

// A key of null: another tab has cleared the storage. Events arrive late, so the next session may
// be stored already.
window.addEventListener('storage', ({ key, newValue }) => {
  if (mine !== null && key === recordKey(mine) && newValue === null) leftElsewhere = mine
  if (key === userKey || key === null) follow({ isCleared: key === null })
})

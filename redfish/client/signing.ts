/**
 * Signs in, and asks signed in. One session, which is used again as long as the BMC accepts it, or
 * HTTP Basic where the first sign-in gives no session.
 */
import { Buffer } from 'node:buffer'
import { RedfishError } from '../errors.ts'
import type { Read } from '../readers/readers.ts'
import { type Answers, okay } from './answers.ts'
import { locationPath, pathOf } from './paths.ts'
import type { Question, Reply, Transport } from './transport.ts'

export interface Account {
  readonly username: string
  readonly password: string
}

/** How the BMC knows the caller. A secret: whoever holds the token is signed in. */
export type SignedIn =
  | { readonly kind: 'session'; readonly token: string; readonly path: string | null }
  /** The BMC has no sessions, or gave none at the first sign-in. */
  | { readonly kind: 'basic' }

/**
 * Called after a sign-in and after a session has ended (null), before anything else is asked. Returns
 * another sign-in that is used instead, if somebody else has signed in meanwhile.
 */
export type OnSignedIn = (now: SignedIn | null) => Promise<SignedIn | null | undefined | void>

export interface Signing {
  /** Asks signed in. @throws RedfishError `denied` after one refusal of the password */
  readonly ask: (question: Question) => Promise<Reply>
  readonly signOut: (signal: AbortSignal) => Promise<void>
  /** The token of the session, which no message may repeat. */
  readonly secrets: () => readonly string[]
}

interface SigningParts {
  readonly wire: Transport
  readonly account: Account
  readonly said: Answers['said']
  readonly root: (signal: AbortSignal) => Promise<Read<'root'>>
  readonly given: SignedIn | null
  readonly onSignedIn: OnSignedIn | undefined
}

const denied = (message: string | null, status: number) =>
  new RedfishError(
    'denied',
    `The BMC refuses the user name or the password${message === null ? '' : `: ${message.replace(/\.$/, '')}`}`,
    { status },
  )

const authorization = (now: SignedIn, account: Account): Record<string, string> =>
  now.kind === 'session'
    ? { 'X-Auth-Token': now.token }
    : {
        Authorization: `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`,
      }

export function signing({ wire, account, said, root, given, onSignedIn }: SigningParts): Signing {
  let signedIn: SignedIn | null = given
  let signing: Promise<SignedIn> | null = null

  /** Signs in once. A refusal is final: each try counts toward a lock-out. */
  const signIn = async (signal: AbortSignal): Promise<SignedIn> => {
    const { Links, SessionService } = await root(signal)
    const sessions = Links.Sessions ?? (SessionService && pathOf(`${SessionService}/Sessions`))
    const fresh = async (): Promise<SignedIn> => {
      if (!sessions) return { kind: 'basic' }
      const reply = await wire.ask({
        method: 'POST',
        path: sessions,
        body: { UserName: account.username, Password: account.password },
        signal,
      })
      if (reply.status === 401 || reply.status === 403)
        throw denied(await said(reply), reply.status)
      const token = reply.headers['x-auth-token']
      if (!okay(reply.status) || token === undefined || token.length > 2_000)
        return { kind: 'basic' }
      const { location } = reply.headers
      return {
        kind: 'session',
        token,
        path: location === undefined ? null : locationPath(location, wire),
      }
    }
    const made = await fresh()
    const other = await onSignedIn?.(made)
    if (!other) return made
    // Another process has signed in at the same time: one session is enough.
    if (made.kind === 'session') await end(made, signal)
    return other
  }

  const end = async (session: SignedIn, signal: AbortSignal): Promise<void> => {
    if (session.kind !== 'session' || session.path === null) return
    await wire
      .ask({
        method: 'DELETE',
        path: session.path,
        headers: { 'X-Auth-Token': session.token },
        signal,
      })
      .catch(() => undefined)
  }

  const current = (signal: AbortSignal): Promise<SignedIn> => {
    if (signedIn) return Promise.resolve(signedIn)
    signing ??= signIn(signal)
      .then((now) => (signedIn = now))
      .finally(() => (signing = null))
    return signing
  }

  /** Asks signed in. A session that the BMC has ended is replaced once; a password never retried. */
  const ask = async (question: Question): Promise<Reply> => {
    const used = await current(question.signal)
    const first = await wire.ask({
      ...question,
      headers: { ...question.headers, ...authorization(used, account) },
    })
    if (first.status !== 401) return first
    if (used.kind === 'basic') throw denied(await said(first), 401)
    if (signedIn === used) {
      signedIn = null
      await onSignedIn?.(null)
    }
    const next = await current(question.signal)
    const second = await wire.ask({
      ...question,
      headers: { ...question.headers, ...authorization(next, account) },
    })
    if (second.status === 401) throw denied(await said(second), 401)
    return second
  }

  return {
    ask,
    async signOut(signal) {
      const last = signedIn
      if (last?.kind !== 'session') return
      signedIn = null
      await end(last, signal)
      await onSignedIn?.(null)
    },
    secrets: () => [account.password, ...(signedIn?.kind === 'session' ? [signedIn.token] : [])],
  }
}

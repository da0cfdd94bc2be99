import type { User } from '#contract/sessions.ts'
import { type Claims, readClaims } from '../lib/jwt.ts'

/**
 * Keys of the local storage, as specified: the current user, tokens, each user's list of tokens,
 * and sessions. Nothing else is stored. Any script on this origin can read the local storage, so no
 * foreign script may run (docs/security.md).
 */
const keys = {
  user: 'steelyard.user',
  token: (sessionId: string, type: Token['type']) => `steelyard.token.${sessionId}.${type}`,
  userTokens: (userId: string) => `steelyard.user-tokens.${userId}`,
  session: (sessionId: string) => `steelyard.session.${sessionId}`,
}
export const userKey = keys.user
/** The key of the record of a session, given as `tokenBox(…).session()` names it. */
export const recordKey = (session: string): string => keys.session(session.split(' ')[1]!)

export interface Token {
  value: string
  type: 'access' | 'refresh'
  /**
   * Milliseconds since the epoch. Of an access token: its `exp`, by the server's clock. `access()`
   * returns the time by the local clock.
   */
  expiresAt: number
  userId: string
  sessionId: string
}

/** Storage keys of the tokens of one session. */
interface UserTokens {
  accessToken: string
  refreshToken: string
  sessionId: string
}

/** Assumed lifetime of a refresh token at sign-in: one day, in ms. */
export const refreshLifetimeMs = 86_400_000

/** Differences between the clocks of server and browser below this, in ms, are ignored. */
const mostSkewMs = 60_000

/**
 * How far the local clock is ahead of the server's, in ms: the time at which a token was stored
 * minus the time at which it was issued. Without this, if the server's clock were ten minutes
 * behind, every token would be expired on arrival and nobody could sign in.
 */
function aheadBy({ iat }: Pick<Claims, 'iat'>, storedAt: number): number {
  const ahead = iat === null ? 0 : storedAt - iat * 1000
  return Math.abs(ahead) < mostSkewMs ? 0 : ahead
}

let read: { token: string; claims: Claims | null } | null = null
/** The claims of the last token, parsed once; null if it can't be read. */
function claimsOf(token: string): Claims | null {
  if (read?.token !== token) {
    read = { token, claims: null }
    try {
      read.claims = readClaims(token)
    } catch {
      // Something else has written to the storage. The next call gets a new token.
    }
  }
  return read.claims
}

type Box = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

function readJson(box: Box, key: string): unknown {
  try {
    return JSON.parse(box.getItem(key) ?? 'null') as unknown
  } catch {
    return null
  }
}

export function tokenBox(box: Box) {
  const put = (key: string, value: unknown) => box.setItem(key, JSON.stringify(value))
  const user = (): User | null => {
    const found = readJson(box, keys.user) as Partial<User> | null
    return found?.id && found.email && found.name
      ? { id: found.id, email: found.email, name: found.name }
      : null
  }
  const list = (userId: string) =>
    (readJson(box, keys.userTokens(userId)) as UserTokens[] | null) ?? []
  const token = (type: Token['type']): Token | null => {
    const id = user()?.id
    const last = id === undefined ? undefined : list(id).at(-1)
    const found = last === undefined ? null : (readJson(box, last[`${type}Token`]) as Token | null)
    return typeof found?.value === 'string' && typeof found.expiresAt === 'number' ? found : null
  }
  /**
   * The access token with its expiry by the local clock; null also if the stored one can't be read.
   * A session was last used when its access token was stored.
   */
  const access = (): Token | null => {
    const found = token('access')
    const claims = found === null ? null : claimsOf(found.value)
    if (found === null || claims === null) return null
    const session = readJson(box, keys.session(found.sessionId)) as { lastUsedAt?: string } | null
    const storedAt = Date.parse(session?.lastUsedAt ?? '')
    return Number.isNaN(storedAt)
      ? found
      : { ...found, expiresAt: found.expiresAt + aheadBy(claims, storedAt) }
  }
  const putToken = (
    value: string,
    type: Token['type'],
    expiresAt: number,
    userId: string,
    sessionId: string,
  ) =>
    put(keys.token(sessionId, type), { value, type, expiresAt, userId, sessionId } satisfies Token)

  /** Identifies the last session of the current user: the ids of both. Null without a session. */
  const session = (): string | null => {
    const id = user()?.id
    const last = id === undefined ? undefined : list(id).at(-1)
    return last === undefined ? null : `${id} ${last.sessionId}`
  }

  return {
    user,
    session,
    access,
    refresh: () => token('refresh'),

    /** Stores the tokens of a sign-in. Throws if the access token can't be read. */
    signIn(who: User, accessToken: string, refreshToken: string, now: number): void {
      const claims = readClaims(accessToken)
      if (typeof refreshToken !== 'string') throw new TypeError('Invalid token: not a string')
      putToken(accessToken, 'access', claims.exp * 1000, who.id, claims.sid)
      putToken(refreshToken, 'refresh', now + refreshLifetimeMs, who.id, claims.sid)
      const entry: UserTokens = {
        accessToken: keys.token(claims.sid, 'access'),
        refreshToken: keys.token(claims.sid, 'refresh'),
        sessionId: claims.sid,
      }
      put(keys.userTokens(who.id), [
        ...list(who.id).filter((t) => t.sessionId !== claims.sid),
        entry,
      ])
      const at = new Date(now).toISOString()
      put(keys.session(claims.sid), {
        id: claims.sid,
        userId: who.id,
        createdAt: at,
        lastUsedAt: at,
      })
      put(keys.user, { id: who.id, email: who.email, name: who.name })
    },

    /** Stores the changed user. */
    rename: ({ id, email, name }: User): void => put(keys.user, { id, email, name }),

    /**
     * Stores the tokens of a refresh that began in session `of`. A new refresh token expires no
     * later than the token that it replaces. Returns false and stores nothing if the session has
     * ended, or another one has begun.
     */
    refreshed(
      of: string,
      accessToken: string,
      replacement: string | undefined,
      now: number,
    ): boolean {
      const claims = readClaims(accessToken)
      const old = token('refresh')
      if (old === null || session() !== of) return false
      if (claims.sub !== old.userId || claims.sid !== old.sessionId)
        throw new Error('Invalid token: it belongs to another session')
      putToken(accessToken, 'access', claims.exp * 1000, old.userId, old.sessionId)
      if (replacement !== undefined)
        putToken(replacement, 'refresh', old.expiresAt, old.userId, old.sessionId)
      const record = readJson(box, keys.session(old.sessionId)) as object | null
      if (record !== null)
        put(keys.session(old.sessionId), { ...record, lastUsedAt: new Date(now).toISOString() })
      return true
    },

    /**
     * Removes the record of the session, which tells the other tabs that the user logs out: without
     * a Log out it is only removed together with everything else.
     */
    leave(): void {
      const now = session()
      if (now !== null) box.removeItem(recordKey(now))
    },

    /** Every refresh token of the current user, to revoke them. */
    allRefresh(): string[] {
      const id = user()?.id
      return id === undefined
        ? []
        : list(id).flatMap((t) => (readJson(box, t.refreshToken) as Token | null)?.value ?? [])
    },

    /** Whether a user and two unexpired tokens are stored. */
    isValid(now: number): boolean {
      const [short, long] = [access(), token('refresh')]
      return (
        user() !== null &&
        short !== null &&
        short.expiresAt > now &&
        long !== null &&
        long.expiresAt > now
      )
    },
  }
}

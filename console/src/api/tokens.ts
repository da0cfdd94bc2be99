import type { User } from '#contract/sessions.ts'
import { type Claims, readClaims } from '../lib/jwt.ts'

/**
 * Keys of the local storage, as specified: the current user, tokens, each user's list of tokens, and sessions. Nothing else is stored.
 * Any script on this origin can read the local storage, so no foreign script may run (docs/security.md).
 */
const keys = {
  user: 'steelyard.user',
  token: (sessionId: string, type: Token['type']) => `steelyard.token.${sessionId}.${type}`,
  userTokens: (userId: string) => `steelyard.user-tokens.${userId}`,
  session: (sessionId: string) => `steelyard.session.${sessionId}`,
}
export const userKey = keys.user

export interface Token {
  value: string
  type: 'access' | 'refresh'
  /** Milliseconds since the epoch. */
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
 * Expiry of a token that was issued just now, in ms by the local clock: the token's `exp` or, if the server's clock differs, now plus the token's lifetime.
 * If `exp` were always used and the server's clock were ten minutes behind, every token would be expired on arrival and nobody could sign in.
 */
function endOf({ exp, iat }: Pick<Claims, 'exp' | 'iat'>, now: number): number {
  return iat === null || Math.abs(now - iat * 1000) < mostSkewMs ? exp * 1000 : now + (exp - iat) * 1000
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
    return found?.id && found.email && found.name ? { id: found.id, email: found.email, name: found.name } : null
  }
  const list = (userId: string) => (readJson(box, keys.userTokens(userId)) as UserTokens[] | null) ?? []
  const token = (type: Token['type']): Token | null => {
    const id = user()?.id
    const last = id === undefined ? undefined : list(id).at(-1)
    const found = last === undefined ? null : (readJson(box, last[`${type}Token`]) as Token | null)
    return typeof found?.value === 'string' && typeof found.expiresAt === 'number' ? found : null
  }
  const putToken = (value: string, type: Token['type'], expiresAt: number, userId: string, sessionId: string) =>
    put(keys.token(sessionId, type), { value, type, expiresAt, userId, sessionId } satisfies Token)

  return {
    user,
    access: () => token('access'),
    refresh: () => token('refresh'),

    /** Stores the tokens of a sign-in. Throws if the access token can't be read. */
    signIn(who: User, accessToken: string, refreshToken: string, now: number): void {
      const claims = readClaims(accessToken)
      if (typeof refreshToken !== 'string') throw new TypeError('Invalid token: not a string')
      putToken(accessToken, 'access', endOf(claims, now), who.id, claims.sid)
      putToken(refreshToken, 'refresh', now + refreshLifetimeMs, who.id, claims.sid)
      const entry: UserTokens = { accessToken: keys.token(claims.sid, 'access'), refreshToken: keys.token(claims.sid, 'refresh'), sessionId: claims.sid }
      put(keys.userTokens(who.id), [...list(who.id).filter((t) => t.sessionId !== claims.sid), entry])
      const at = new Date(now).toISOString()
      put(keys.session(claims.sid), { id: claims.sid, userId: who.id, createdAt: at, lastUsedAt: at })
      put(keys.user, { id: who.id, email: who.email, name: who.name })
    },

    /** Stores the tokens of a refresh. A new refresh token expires no later than the token that it replaces. */
    refreshed(accessToken: string, replacement: string | undefined, now: number): void {
      const claims = readClaims(accessToken)
      const old = token('refresh')
      if (old === null) throw new Error('There is no session to refresh')
      putToken(accessToken, 'access', endOf(claims, now), old.userId, old.sessionId)
      if (replacement !== undefined) putToken(replacement, 'refresh', old.expiresAt, old.userId, old.sessionId)
      const record = readJson(box, keys.session(old.sessionId)) as object | null
      if (record !== null) put(keys.session(old.sessionId), { ...record, lastUsedAt: new Date(now).toISOString() })
    },

    /** Every refresh token of the current user, to revoke them. */
    allRefresh(): string[] {
      const id = user()?.id
      return id === undefined ? [] : list(id).flatMap((t) => (readJson(box, t.refreshToken) as Token | null)?.value ?? [])
    },

    /** Whether a user and two unexpired tokens are stored. */
    isValid(now: number): boolean {
      const [access, refresh] = [token('access'), token('refresh')]
      return user() !== null && access !== null && access.expiresAt > now && refresh !== null && refresh.expiresAt > now
    },
  }
}

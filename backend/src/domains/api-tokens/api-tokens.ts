/**
 * API tokens for programs: created once, stored as a hash, checked at each call. What a process has
 * cached about a token is read again after seconds, and dropped at once when any process revokes
 * the token or changes its user.
 */
import { randomBytes } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import {
  type ApiToken,
  apiTokenCreate,
  apiTokenList,
  apiTokenOver,
  apiTokenPattern,
  apiTokenPrefix,
  apiTokenRevoke,
  mayHaveScopes,
  mostApiTokens,
} from '#contract/people/api-tokens.ts'
import { scopesOf } from '#contract/permissions.ts'
import { inTransaction, lock, notify, type Tx, violatedConstraint } from '../../db/db.ts'
import { type Caller, demandAccess, mayManageAccess, type UserCaller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import { hashOf, revokedChannel } from '../sessions/api.ts'
import type { ApiTokens } from './api.ts'
import * as store from './store.ts'

/** Channel for the ids of revoked tokens. */
const channel = 'steelyard_api_token_revoked'
/** A cached token is read again after this time, in case a notification was lost. */
const cachedMs = 4_000
const mostCached = 10_000
/** Minimum interval between writes of a token's last use. */
const usedEveryMs = 60_000
/** Expired tokens stay in the list for this long. */
const expiredKeptMs = 30 * 86_400_000

/** @param parts `onRevoked`: called with the id of every token that is revoked, in any process */
export function apiTokens({
  db,
  clock,
  record,
  listener,
  onRevoked,
}: Pick<Platform, 'db' | 'clock' | 'record' | 'listener'> & {
  onRevoked: (id: string) => void
}): ApiTokens & Domain {
  const cache = new Map<string, { at: number; row: store.TokenRow }>()
  /**
   * Number of received notifications. A token isn't cached if a notification arrived while it was
   * read, because the read data may be outdated.
   */
  let changes = 0
  const forgetWhere = (over: (row: store.TokenRow) => boolean): void => {
    changes++
    for (const [hash, { row }] of cache) if (over(row)) cache.delete(hash)
  }
  const forget = (id: string): void => {
    forgetWhere((row) => row.id === id)
    onRevoked(id)
  }
  // An empty text: the connection was lost, so notifications may have been missed.
  listener.on(channel, (id) => (id === '' ? forgetWhere(() => true) : forget(id)))
  listener.on(revokedChannel, (text) => {
    const [word, personId] = text.split(' ')
    if (word === 'person') forgetWhere((row) => row.person_id === personId)
  })

  const isOver = ({ expires_at, disabled_at }: store.TokenRow): boolean =>
    disabled_at !== null || expires_at.getTime() <= clock.now()
  const present = (row: store.TokenRow): ApiToken => ({
    id: row.id,
    name: row.name,
    status: row.expires_at.getTime() > clock.now() ? 'usable' : 'expired',
    user: { id: row.person_id, email: row.email, name: row.person_name },
    scopes: row.scopes,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    last_used_ip: row.last_used_ip,
  })
  const held = (row: store.TokenRow) =>
    row.scopes.filter((scope) => scopesOf[row.role].includes(scope))

  const standing = async (text: string, ip: string): Promise<store.TokenRow | undefined> => {
    const hash = hashOf(text)
    const key = hash.toString('base64')
    const cached = cache.get(key)
    const now = clock.now()
    if (cached && now - cached.at < cachedMs && cached.at <= now)
      return isOver(cached.row) ? undefined : cached.row
    const before = changes
    const row = await store.byHash(db, hash)
    if (!row || isOver(row)) {
      cache.delete(key)
      return undefined
    }
    if (row.last_used_at === null || now - row.last_used_at.getTime() >= usedEveryMs)
      await store.touch(db, row.id, new Date(now), ip)
    if (cache.size >= mostCached) cache.clear()
    if (changes === before) cache.set(key, { at: now, row })
    return row
  }

  const recordRevocation = async (tx: Tx, caller: Caller, row: store.TokenRow): Promise<void> => {
    await notify(tx, channel, row.id)
    await record(tx, caller, {
      action: 'api_token.revoked',
      target: { kind: 'api_token', id: row.id, name: row.name },
      before: present(row),
    })
  }

  const calls = {
    /** @throws Problem forbidden for others' tokens without `users:manage` */
    async list(
      caller: UserCaller,
      query: Input<typeof apiTokenList>['query'],
    ): Promise<Page<ApiToken>> {
      const { user_id: asked = caller.userId } = query
      demandAccess(caller, asked)
      const { rows, total } = await store.page(db, query, {
        personId: asked === 'all' ? undefined : asked,
        now: new Date(clock.now()),
      })
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem forbidden for scopes that the caller lacks, name_taken, conflict */
    async create(
      caller: UserCaller,
      { name, scopes, lifetime_days }: Input<typeof apiTokenCreate>['body'],
    ): Promise<Answer<typeof apiTokenCreate>> {
      demand(mayHaveScopes(caller.scopes, scopes), 'forbidden')
      const token = `${apiTokenPrefix}${randomBytes(32).toString('base64url')}`
      const at = clock.now()
      try {
        return await inTransaction(db, async (tx) => {
          await lock(tx, `api tokens ${caller.userId}`)
          if ((await store.count(tx, caller.userId)) >= mostApiTokens)
            throw new Problem('conflict', `You have ${mostApiTokens} API tokens: revoke one first`)
          const id = await store.insert(tx, {
            person_id: caller.userId,
            name,
            hash: hashOf(token),
            scopes: [...new Set(scopes)],
            created_at: new Date(at),
            expires_at: new Date(at + lifetime_days * 86_400_000),
          })
          // The insert has waited for the end of a change of its user. Such a change may have ended
          // the session and revoked the tokens, without this one.
          if (!(await store.isSessionOpen(tx, caller.sessionId)))
            throw new Problem('session_expired', 'Session expired. Please sign in again.')
          const made = present((await store.byId(tx, id))!)
          await record(tx, caller, {
            action: 'api_token.created',
            target: { kind: 'api_token', id, name },
            after: made,
          })
          return { ...made, token }
        })
      } catch (error) {
        if (violatedConstraint(error) !== 'api_token_name') throw error
        const taken = 'You have an API token with this name already'
        throw new Problem('name_taken', taken, { name: taken })
      }
    },

    /** @throws Problem not_found, also for a token of somebody else without `users:manage` */
    async revoke(caller: UserCaller, id: string): Promise<void> {
      await inTransaction(db, async (tx) => {
        const row = await store.byId(tx, id)
        // A program may give up its own token.
        const isOwn = caller.isToken === true && caller.sessionId === id
        if (
          !row ||
          !(isOwn || mayManageAccess(caller, row.person_id)) ||
          !(await store.remove(tx, id))
        )
          throw new Problem('not_found', 'There is no such API token')
        await recordRevocation(tx, caller, row)
      })
      forget(id)
    },
  }

  return {
    name: 'api-tokens',
    routes(app) {
      const on = serve(app)
      on(apiTokenList, ({ caller, query }) => calls.list(signedIn(caller), query))
      on(apiTokenCreate, ({ caller, body }) => calls.create(signedIn(caller), body))
      on(apiTokenRevoke, ({ caller, params }) =>
        calls.revoke(signedIn(caller), params.id).then(() => undefined),
      )
    },
    removeOld: async () => void (await store.removeOld(db, new Date(clock.now() - expiredKeptMs))),
    isToken: (text) => text.startsWith(apiTokenPrefix),
    async revokeAll(tx, caller, userId) {
      for (const row of await store.ofPerson(tx, userId))
        if (await store.remove(tx, row.id)) await recordRevocation(tx, caller, row)
    },
    async authenticate(text, { ip, requestId }) {
      const row = apiTokenPattern.test(text) ? await standing(text, ip) : undefined
      if (!row) throw new Problem('session_expired', apiTokenOver)
      return {
        caller: {
          kind: 'user',
          isToken: true,
          userId: row.person_id,
          email: row.email,
          sessionId: row.id,
          scopes: held(row),
          ip,
          requestId,
        },
        tokenEndsAt: row.expires_at.getTime(),
      }
    },

    async lapsed(callers) {
      if (callers.length === 0) return []
      const rows = await store.byIds(
        db,
        callers.map(({ sessionId }) => sessionId),
      )
      const byId = new Map(rows.map((row) => [row.id, row]))
      return callers.filter(({ sessionId, scopes }) => {
        const row = byId.get(sessionId)
        return !row || isOver(row) || !scopes.every((scope) => held(row).includes(scope))
      })
    },
  }
}

/** Looks up, caches (for seconds), ends and lists open sessions. All processes are notified when a session ends. */
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { scopesOf } from '#contract/permissions.ts'
import type { Session, sessionList } from '#contract/sessions.ts'
import { inTransaction, notify, type Tx } from '../../db/db.ts'
import type { Caller, UserCaller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import * as store from './store.ts'

/** Channel for notifications: the id of an ended session, or `person` and an id after a change of role. Every process then drops its cached sessions. */
const revokedChannel = 'steelyard_session_revoked'
/** A cached session is read again after this time, in case a notification was lost. */
const cachedMs = 4_000
const mostCached = 10_000
/** Minimum interval between writes of a session's last use. */
const usedEveryMs = 60_000

export type EndReason = 'logout' | 'refresh_reuse' | 'ended' | 'disabled' | 'removed' | 'password_changed' | 'password_reset'
type Row = NonNullable<Awaited<ReturnType<typeof store.session>>>

export interface OpenSessionParts {
  /** A session ends after this time without use. */
  readonly idleMs: number
  /** Called for every session that ends, in any process. */
  readonly onRevoked: (sessionId: string) => void
}

export type OpenSessions = ReturnType<typeof openSessions>

export function openSessions(parts: Pick<Platform, 'db' | 'clock' | 'record' | 'listener'> & OpenSessionParts) {
  const { db, clock, record, listener, idleMs, onRevoked } = parts
  const cache = new Map<string, { at: number; session: Row }>()
  /** Number of received notifications. A session isn't cached if a notification arrived while it was read, because the read data may be outdated. */
  let ends = 0
  const forget = (id: string) => {
    ends++
    cache.delete(id)
    onRevoked(id)
  }
  listener.on(revokedChannel, (text) => {
    const [word, personId] = text.split(' ')
    if (text !== '' && personId === undefined) return forget(text)
    // A role has changed, or the text is empty: the connection was lost, so notifications may have been missed.
    ends++
    if (word === 'person') for (const [id, { session }] of cache) if (session.person_id === personId) cache.delete(id)
    if (text === '') cache.clear()
  })

  const isOver = (session: Pick<Row, 'revoked_at' | 'disabled_at' | 'expires_at' | 'last_used_at'>): boolean =>
    session.revoked_at !== null ||
    session.disabled_at !== null ||
    session.expires_at.getTime() <= clock.now() ||
    clock.now() - session.last_used_at.getTime() >= idleMs
  const at = () => new Date(clock.now())

  const end = async (tx: Tx, caller: Caller, id: string, reason: EndReason, person: { id: string; email: string }): Promise<void> => {
    if (!(await store.revoke(tx, id, at(), reason))) return
    await notify(tx, revokedChannel, id)
    await record(tx, caller, {
      action: reason === 'refresh_reuse' ? 'session.refresh_reuse' : 'session.ended',
      target: { kind: 'user', id: person.id, name: person.email },
      after: { session_id: id, reason },
    })
  }

  return {
    isOver,
    forget,
    end,

    /** Marks the session as used and returns it; undefined if it has ended. */
    async standing(id: string): Promise<Row | undefined> {
      const cached = cache.get(id)
      if (cached && clock.now() - cached.at < cachedMs && cached.at <= clock.now()) return cached.session
      const before = ends
      const session = await store.session(db, id)
      if (!session || isOver(session)) {
        cache.delete(id)
        return undefined
      }
      if (clock.now() - session.last_used_at.getTime() >= usedEveryMs) await store.touch(db, id, at())
      if (cache.size >= mostCached) cache.clear()
      if (ends === before) cache.set(id, { at: clock.now(), session })
      return session
    },

    /** Ends all of a person's sessions except one. Returns their number. */
    async endAll(tx: Tx, caller: Caller, person: { id: string; email: string }, reason: EndReason, but?: string): Promise<number> {
      const ids = await store.revokeAll(tx, person.id, at(), reason, but)
      for (const id of ids) await notify(tx, revokedChannel, id)
      if (ids.length > 0)
        await record(tx, caller, {
          action: 'session.ended',
          target: { kind: 'user', id: person.id, name: person.email },
          after: { sessions: ids.length, reason },
        })
      return ids.length
    },

    /** Makes every process reload the permissions of the person's sessions. */
    async roleChanged(tx: Tx, personId: string): Promise<void> {
      await notify(tx, revokedChannel, `person ${personId}`)
    },

    /** The callers whose session has ended or has lost permissions since their stream was opened. */
    async lapsed(callers: readonly UserCaller[]): Promise<UserCaller[]> {
      const ids = callers.map(({ sessionId }) => sessionId)
      const rows = await store.sessions(db, ids)
      const byId = new Map(rows.map((row) => [row.id, row]))
      return callers.filter(({ sessionId, scopes }) => {
        const session = byId.get(sessionId)
        return !session || isOver(session) || !scopes.every((scope) => scopesOf[session.role].includes(scope))
      })
    },

    /** @throws Problem forbidden for others' sessions without `users:manage` */
    async list(caller: UserCaller, query: Input<typeof sessionList>['query']): Promise<Page<Session>> {
      const { user_id: asked = caller.userId } = query
      if (asked !== caller.userId && !caller.scopes.includes('users:manage')) throw new Problem('forbidden', 'Your role does not include users:manage')
      const { rows, total } = await store.openPage(db, query, {
        personId: asked === 'all' ? undefined : asked,
        now: at(),
        usedAfter: new Date(clock.now() - idleMs),
      })
      const items = rows.map((row): Session => ({
        id: row.id,
        user: { id: row.person_id, email: row.email, name: row.name },
        created_at: row.created_at.toISOString(),
        last_used_at: row.last_used_at.toISOString(),
        expires_at: row.expires_at.toISOString(),
        ip: row.ip,
        user_agent: row.user_agent,
        current: row.id === caller.sessionId,
      }))
      return { items, page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem not_found if the session has ended, or belongs to somebody else and the caller lacks `users:manage` */
    async endOne(caller: UserCaller, id: string): Promise<void> {
      await inTransaction(db, async (tx) => {
        const session = await store.session(tx, id)
        const isTheirs = session?.person_id === caller.userId || caller.scopes.includes('users:manage')
        if (!session || !isTheirs || isOver(session)) throw new Problem('not_found', 'There is no such session, or it has ended')
        await end(tx, caller, id, 'ended', { id: session.person_id, email: session.email })
      })
      forget(id)
    },
  }
}

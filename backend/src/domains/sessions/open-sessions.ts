/**
 * Looks up, caches (for seconds), ends and lists open sessions. All processes are notified when a
 * session ends.
 */
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { type Scope, scopesOf } from '#contract/permissions.ts'
import type { Session, sessionList } from '#contract/sessions.ts'
import { inTransaction, notify, type Tx } from '../../db/db.ts'
import { type Caller, demandAccess, mayManageAccess, type UserCaller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { EndReason } from './api.ts'
import { revokedChannel, rightsChanged } from './rights.ts'
import * as store from './store.ts'

/** A cached session is read again after this time, in case a notification was lost. */
const cachedMs = 4_000
const mostCached = 10_000
/** Minimum interval between writes of a session's last use. */
const usedEveryMs = 60_000

type Row = NonNullable<Awaited<ReturnType<typeof store.session>>>

/** What the scopes of a session depend on. */
export type Rights = Pick<Row, 'role' | 'has_second_factor'>

/** Whether the session lacks the second factor that its user's role requires. */
export const lacksSecondFactor = (
  config: Platform['config'],
  { role, has_second_factor }: Rights,
): boolean => config.secondFactorRoles.includes(role) && !has_second_factor

/**
 * The scopes of a session: those of its user's role, or none while a required second factor is
 * missing.
 */
export const scopesOfSession = (config: Platform['config'], session: Rights): readonly Scope[] =>
  lacksSecondFactor(config, session) ? [] : scopesOf[session.role]

export interface OpenSessionParts {
  /** A session ends after this time without use. */
  readonly idleMs: number
  /** Called for every session that ends, in any process. */
  readonly onRevoked: (sessionId: string) => void
}

export type OpenSessions = ReturnType<typeof openSessions>

export function openSessions(
  parts: Pick<Platform, 'db' | 'clock' | 'config' | 'record' | 'listener'> & OpenSessionParts,
) {
  const { db, clock, config, record, listener, idleMs, onRevoked } = parts
  const cache = new Map<string, { at: number; session: Row }>()
  /**
   * Number of received notifications. A session isn't cached if a notification arrived while it was
   * read, because the read data may be outdated.
   */
  let ends = 0
  const forget = (id: string) => {
    ends++
    cache.delete(id)
    onRevoked(id)
  }
  listener.on(revokedChannel, (text) => {
    const [word, personId] = text.split(' ')
    if (text !== '' && personId === undefined) return forget(text)
    // Rights have changed, or the text is empty: the connection was lost, so notifications may have
    // been missed.
    ends++
    if (word === 'person')
      for (const [id, { session }] of cache) if (session.person_id === personId) cache.delete(id)
    if (text === '') cache.clear()
  })

  const isOver = (
    session: Pick<Row, 'revoked_at' | 'disabled_at' | 'expires_at' | 'last_used_at'>,
  ): boolean =>
    session.revoked_at !== null ||
    session.disabled_at !== null ||
    session.expires_at.getTime() <= clock.now() ||
    clock.now() - session.last_used_at.getTime() >= idleMs
  const at = () => new Date(clock.now())

  const end = async (
    tx: Tx,
    caller: Caller,
    id: string,
    reason: EndReason,
    person: { id: string; email: string },
  ): Promise<void> => {
    if (!(await store.revoke(tx, id, at(), reason))) return
    await notify(tx, revokedChannel, id)
    await record(tx, caller, {
      action: reason === 'refresh_reuse' ? 'session.refresh_reuse' : 'session.ended',
      target: { kind: 'user', id: person.id, name: person.email },
      after: { session_id: id, reason },
    })
  }

  /** Ends all of a person's sessions except one. Returns their ids. */
  const endAll = async (
    tx: Tx,
    caller: Caller,
    person: { id: string; email: string },
    reason: EndReason,
    but?: string,
  ): Promise<string[]> => {
    const ids = await store.revokeAll(tx, person.id, at(), reason, but)
    for (const id of ids) await notify(tx, revokedChannel, id)
    if (ids.length > 0)
      await record(tx, caller, {
        action: 'session.ended',
        target: { kind: 'user', id: person.id, name: person.email },
        after: { sessions: ids.length, reason },
      })
    return ids
  }

  return {
    isOver,
    forget,
    end,

    /** Marks the session as used and returns it; undefined if it has ended. */
    async standing(id: string): Promise<Row | undefined> {
      const cached = cache.get(id)
      if (cached && clock.now() - cached.at < cachedMs && cached.at <= clock.now())
        return cached.session
      const before = ends
      const session = await store.session(db, id)
      if (!session || isOver(session)) {
        cache.delete(id)
        return undefined
      }
      if (clock.now() - session.last_used_at.getTime() >= usedEveryMs)
        await store.touch(db, id, at())
      if (cache.size >= mostCached) cache.clear()
      if (ends === before) cache.set(id, { at: clock.now(), session })
      return session
    },

    /** Whether the session stands, from the database. */
    async isOpen(tx: Tx, id: string): Promise<boolean> {
      const session = await store.session(tx, id)
      return session !== undefined && !isOver(session)
    },

    endAll,

    /**
     * When the session's user last proved their identity, in ms since 1970, from the database. 0:
     * there is no such session.
     */
    async lastProof(id: string): Promise<number> {
      cache.delete(id)
      return (await store.session(db, id))?.proved_at.getTime() ?? 0
    },

    /** Records a proof of identity. Returns its time. */
    async proved(tx: Tx, caller: UserCaller): Promise<Date> {
      await store.prove(tx, caller.sessionId, at())
      cache.delete(caller.sessionId)
      return at()
    },

    /** The session's user has added a second factor to the account. */
    async secondFactorAdded(tx: Tx, caller: UserCaller): Promise<void> {
      await store.addSecondFactor(tx, caller.sessionId)
      await rightsChanged(tx, caller.userId)
    },

    /** The person's last second factor was removed. */
    async secondFactorGone(tx: Tx, personId: string): Promise<void> {
      await store.withoutSecondFactor(tx, personId)
      await rightsChanged(tx, personId)
    },

    /**
     * The callers whose session has ended or has lost permissions since their stream was opened.
     */
    async lapsed(callers: readonly UserCaller[]): Promise<UserCaller[]> {
      if (callers.length === 0) return []
      const ids = callers.map(({ sessionId }) => sessionId)
      const rows = await store.sessions(db, ids)
      const byId = new Map(rows.map((row) => [row.id, row]))
      return callers.filter(({ sessionId, scopes }) => {
        const session = byId.get(sessionId)
        return (
          !session ||
          isOver(session) ||
          !scopes.every((scope) => scopesOfSession(config, session).includes(scope))
        )
      })
    },

    /** @throws Problem forbidden for others' sessions without `users:manage` */
    async list(
      caller: UserCaller,
      query: Input<typeof sessionList>['query'],
    ): Promise<Page<Session>> {
      const { user_id: asked = caller.userId } = query
      demandAccess(caller, asked)
      const { rows, total } = await store.openPage(db, query, {
        personId: asked === 'all' ? undefined : asked,
        now: at(),
        usedAfter: new Date(clock.now() - idleMs),
      })
      const items = rows.map((row): Session => ({
        id: row.id,
        user: { id: row.person_id, email: row.email, name: row.name },
        method: row.method,
        created_at: row.created_at.toISOString(),
        last_used_at: row.last_used_at.toISOString(),
        expires_at: row.expires_at.toISOString(),
        ip: row.ip,
        user_agent: row.user_agent,
        current: row.id === caller.sessionId,
      }))
      return { items, page: query.page, per_page: query.per_page, total }
    },

    /**
     * Ends all sessions of a person except the caller's own. Returns their number. @throws Problem
     * forbidden for others' sessions without `users:manage`
     */
    async endAllOf(caller: UserCaller, userId: string = caller.userId): Promise<{ ended: number }> {
      demandAccess(caller, userId)
      const ids = await inTransaction(db, async (tx) => {
        const person = await store.person(tx, userId)
        if (!person) throw new Problem('not_found', 'There is no such user')
        return endAll(tx, caller, person, 'ended', caller.sessionId)
      })
      ids.forEach(forget)
      return { ended: ids.length }
    },

    /**
     * @throws Problem not_found if the session has ended, or belongs to somebody else and the
     * caller lacks `users:manage`
     */
    async endOne(caller: UserCaller, id: string): Promise<void> {
      await inTransaction(db, async (tx) => {
        const session = await store.session(tx, id)
        if (!session || !mayManageAccess(caller, session.person_id) || isOver(session))
          throw new Problem('not_found', 'There is no such session, or it has ended')
        await end(tx, caller, id, 'ended', { id: session.person_id, email: session.email })
      })
      forget(id)
    },
  }
}

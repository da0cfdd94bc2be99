/**
 * Changes of existing accounts. A change that removes permissions ends the account's sessions or
 * makes all processes reload them, in the same transaction.
 */
import type { Selectable } from 'kysely'
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { passwordChange, passwordReset, passwordResetLook } from '#contract/sessions.ts'
import {
  mayStopBeingAdmin,
  type Person,
  userCreate,
  userList,
  userRemove,
  userResetPassword,
  userResetSecondFactor,
  userUnlock,
  userUpdate,
} from '#contract/users.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { type Caller, demandRole, type UserCaller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve, signedIn } from '../../http/serve.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Domain, Platform } from '../../platform.ts'
import {
  demandGoodPassword,
  hashOf,
  hashPassword,
  rightsChanged,
  type Sessions,
  sessionSource,
} from '../sessions/api.ts'
import type { Access, Users } from './api.ts'
import { endLinkFor, endLinksOf } from './links.ts'
import { type Recovery, recovery } from './recovery.ts'
import * as store from './store.ts'
import { targetOf } from './target.ts'
import { present } from './users.ts'

type Row = Selectable<Tables['person']>

const linkOver = () =>
  new Problem(
    'link_over',
    'This link was used already, has expired, or was replaced by a newer one. Ask an administrator for a new link.',
  )
const isAdmin = (row: Row): boolean => row.role === 'admin' && row.disabled_at === null

interface AccountParts extends Pick<Platform, 'db' | 'clock' | 'record' | 'config'> {
  readonly sessions: Sessions
  readonly users: Users
  readonly invitations: Access['invitations']
}

/** The calls on accounts. */
export function accounts(parts: AccountParts): Domain & Pick<Recovery, 'recover'> {
  const { db, clock, record, sessions, users } = parts
  const now = () => new Date(clock.now())
  const help = recovery(parts)

  /** Locks the row and returns it. @throws Problem not_found, stale */
  const locked = async (tx: Tx, id: string, ifMatch?: Versions): Promise<Row> =>
    existing(await store.lock(tx, id), 'user', ifMatch)
  const setPassword = async (
    tx: Tx,
    caller: Caller,
    row: Pick<Row, 'id' | 'email'>,
    password_hash: string,
    how: 'changed' | 'reset',
    but?: string,
  ) => {
    const after = await store.update(tx, row.id, { password_hash }, now())
    await record(tx, caller, {
      action: `user.password_${how}`,
      target: targetOf(row),
      event: { name: 'user.updated', version: after.version },
    })
    await endLinkFor(tx, caller, row, parts)
    await sessions.endAll(tx, caller, row, `password_${how}`, but)
  }

  const calls = {
    async list(query: Input<typeof userList>['query']): Promise<Page<Person>> {
      const { rows, total } = await store.page(db, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem not_found, forbidden, stale, last_admin */
    update: (
      caller: Caller,
      id: string,
      { name, role, disabled }: Input<typeof userUpdate>['body'],
      ifMatch: Versions,
    ): Promise<Person> =>
      inTransaction(db, async (tx) => {
        await users.demandAdmin(tx, caller)
        const admins = await store.lockAdmins(tx)
        const row = await locked(tx, id, ifMatch)
        if (
          (role !== undefined && role !== row.role) ||
          (disabled === false && row.disabled_at !== null)
        )
          demandRole(caller, role ?? row.role)
        if (isAdmin(row) && ((role !== undefined && role !== 'admin') || disabled === true))
          demand(mayStopBeingAdmin(admins.length), 'last_admin')
        const isDisabledAnew = disabled === true && row.disabled_at === null
        const change = {
          ...(name !== undefined && name !== row.name && { name }),
          ...(role !== undefined && role !== row.role && { role }),
          ...(isDisabledAnew && { disabled_at: now() }),
          ...(disabled === false && row.disabled_at !== null && { disabled_at: null }),
        }
        const before = present(await store.whole(tx, id))
        if (Object.keys(change).length === 0) return before
        const { version } = await store.update(tx, id, change, now())
        const after = present(await store.whole(tx, id))
        await record(tx, caller, {
          action: 'user.updated',
          target: targetOf(row),
          before,
          after,
          event: { version },
        })
        if (isDisabledAnew) await sessions.endAll(tx, caller, row, 'disabled')
        if (isAdmin(row) && (isDisabledAnew || change.role !== undefined))
          await endLinksOf(tx, caller, id, parts)
        if (change.role !== undefined) await endLinkFor(tx, caller, row, parts)
        if (isDisabledAnew || change.role !== undefined) await rightsChanged(tx, id)
        return after
      }),

    /** @throws Problem not_found, forbidden, last_admin */
    remove: (caller: Caller, id: string): Promise<void> =>
      inTransaction(db, async (tx) => {
        await users.demandAdmin(tx, caller)
        const admins = await store.lockAdmins(tx)
        const row = await locked(tx, id)
        if (isAdmin(row)) demand(mayStopBeingAdmin(admins.length), 'last_admin')
        await sessions.endAll(tx, caller, row, 'removed')
        await sessions.unlock(tx, row.email)
        await endLinksOf(tx, caller, id, parts)
        const before = present(await store.whole(tx, id))
        await record(tx, caller, {
          action: 'user.removed',
          target: targetOf(row),
          before,
          event: { version: row.version },
        })
        await store.remove(tx, id)
        await rightsChanged(tx, id)
      }),

    /** @throws Problem link_over */
    async lookAtReset({
      token,
    }: Input<typeof passwordResetLook>['body']): Promise<Answer<typeof passwordResetLook>> {
      const found = await store.resetOf(db, hashOf(token), now())
      if (!found) throw linkOver()
      return { email: found.email, expires_at: found.expires_at.toISOString() }
    },

    /**
     * Sets a password with a link. A refused password doesn't use up the link. @throws Problem
     * link_over, invalid
     */
    async useReset(
      caller: Caller,
      { token, new_password }: Input<typeof passwordReset>['body'],
    ): Promise<void> {
      const hash = hashOf(token)
      const found = await store.resetOf(db, hash, now())
      if (!found) throw linkOver()
      await demandGoodPassword(new_password, found.email, 'new_password')
      const password_hash = await hashPassword(new_password, `link of ${found.id}`)
      await inTransaction(db, async (tx) => {
        // Locked before the link, as by whoever makes or withdraws one.
        await store.lock(tx, found.id)
        if (!(await store.spendReset(tx, hash))) throw linkOver()
        await sessions.unlock(tx, found.email)
        await setPassword(tx, caller, found, password_hash, 'reset')
      })
    },

    /**
     * Changes the caller's own password; the caller's session stays. Guesses at the old password
     * are throttled like sign-ins.
     * @throws Problem invalid, throttled, session_expired
     */
    async changePassword(
      caller: UserCaller,
      { password, new_password }: Input<typeof passwordChange>['body'],
    ): Promise<void> {
      const row = existing(await store.byId(db, caller.userId), 'user')
      await demandGoodPassword(new_password, row.email, 'new_password')
      const reason = 'This is not your password'
      if (!(await sessions.isOwnPassword(caller, row, password)))
        throw new Problem('invalid', reason, { password: reason })
      const password_hash = await hashPassword(new_password, sessionSource(caller))
      const isChanged = await inTransaction(db, async (tx) => {
        const current = await store.lock(tx, row.id)
        if (!current || !(await sessions.isOpen(tx, caller.sessionId)))
          throw new Problem('session_expired', 'Session expired. Please sign in again.')
        if (current.password_hash !== row.password_hash) return false
        await setPassword(tx, caller, row, password_hash, 'changed', caller.sessionId)
        return true
      })
      // Checks the old password again: it was changed meanwhile, or a sign-in hashed it anew.
      if (!isChanged) await calls.changePassword(caller, { password, new_password })
    },
  }

  return {
    name: 'users',
    routes(app) {
      const on = serve(app)
      on(userList, ({ query }) => calls.list(query))
      on(userCreate, ({ caller, body }) => users.create(caller, body))
      on(userUpdate, ({ caller, params, body, ifMatch }) =>
        calls.update(caller, params.id, body, ifMatch),
      )
      on(userRemove, ({ caller, params }) => calls.remove(caller, params.id).then(() => undefined))
      on(userResetPassword, ({ caller, params }) => help.resetPassword(caller, params.id))
      on(userResetSecondFactor, ({ caller, params }) =>
        help.resetSecondFactor(caller, params.id).then(() => undefined),
      )
      on(userUnlock, ({ caller, params }) => help.unlock(caller, params.id))
      on(passwordChange, ({ caller, body }) =>
        calls.changePassword(signedIn(caller), body).then(() => undefined),
      )
      on(passwordResetLook, ({ body }) => calls.lookAtReset(body))
      on(passwordReset, ({ caller, body }) => calls.useReset(caller, body).then(() => undefined))
    },
    removeOld: async () => void (await store.removeOldResets(db, now())),
    recover: help.recover,
  }
}

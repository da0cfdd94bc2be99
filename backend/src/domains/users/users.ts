/** Users of this installation and their roles. */
import type { Selectable } from 'kysely'
import { Problem } from '#contract/errors.ts'
import type { Person } from '#contract/users.ts'
import { inTransaction, lock } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { demandRole, system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { demandGoodPassword, hashPassword, sessionSource } from '../sessions/api.ts'
import { refusingTaken, type Users } from './api.ts'
import { identities } from './identities.ts'
import * as store from './store.ts'
import { targetOf } from './target.ts'

type Row = Selectable<Tables['person']>
/** A new user has neither an account at the provider nor a second factor. */
const noWays: store.Ways = { has_provider: false, has_second_factor: false }

export const present = (row: Row & store.Ways): Person => ({
  id: row.id,
  email: row.email,
  name: row.name,
  role: row.role,
  created_at: row.created_at.toISOString(),
  last_sign_in_at: row.last_sign_in_at?.toISOString() ?? null,
  disabled_at: row.disabled_at?.toISOString() ?? null,
  has_password: row.password_hash !== null,
  has_provider: row.has_provider,
  has_second_factor: row.has_second_factor,
  version: row.version,
})

export function users(
  platform: Pick<Platform, 'db' | 'clock' | 'record' | 'log' | 'config'>,
): Users {
  const { db, clock, record } = platform
  const insert: Users['insert'] = async (tx, caller, user) => {
    const made = present({
      ...(await store.insert(tx, { ...user, at: new Date(clock.now()) })),
      ...noWays,
    })
    await record(tx, caller, {
      action: 'user.created',
      target: targetOf(made),
      after: made,
      event: { version: made.version },
    })
    return made
  }
  const demandAdmin: Users['demandAdmin'] = async (tx, caller) => {
    if (caller.kind !== 'user') return
    const admins = await store.lockAdmins(tx)
    if (!admins.some(({ id }) => id === caller.userId))
      throw new Problem('forbidden', 'You are no longer an administrator')
  }
  return {
    async create(caller, { password, ...user }) {
      demandRole(caller, user.role)
      if (password !== undefined) await demandGoodPassword(password, user.email, 'password')
      const by = caller.kind === 'user' ? sessionSource(caller) : system.name
      const password_hash = password === undefined ? null : await hashPassword(password, by)
      return refusingTaken(() =>
        inTransaction(db, async (tx) => {
          await demandAdmin(tx, caller)
          return insert(tx, caller, { ...user, password_hash })
        }),
      )
    },

    insert,
    demandAdmin,

    async createFirst({ email, password, name }) {
      if ((await store.count(db)) > 0) return undefined
      await demandGoodPassword(password, email, 'password')
      const password_hash = await hashPassword(password, system.name)
      return inTransaction(db, async (tx) => {
        // Two processes may call this at the same time, and only one may create the user.
        await lock(tx, 'first user')
        if ((await store.count(tx)) > 0) return undefined
        return insert(tx, system, {
          email,
          name: name ?? email.split('@')[0]!,
          role: 'admin',
          password_hash,
        })
      })
    },

    lock: store.lock,
    byId: (id) => store.byId(db, id),

    rename: (caller, id, name) =>
      inTransaction(db, async (tx) => {
        const row = await store.lock(tx, id)
        if (!row || row.name === name) return
        const { version } = await store.update(tx, id, { name }, new Date(clock.now()))
        await record(tx, caller, {
          action: 'user.updated',
          target: targetOf(row),
          before: { name: row.name },
          after: { name },
          event: { version },
        })
      }),

    administrators: (limit) => store.administrators(db, limit),

    hasProvider: async (id) => (await store.whole(db, id)).has_provider,

    count: () => store.count(db),
    byEmail: (email, on = db) => store.byEmail(on, email),
    signedIn: async (...signedIn) => void (await store.signedIn(...signedIn)),
    ...identities({ ...platform, insert }),
  }
}

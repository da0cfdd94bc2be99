/** Users of this installation and their roles. */
import type { Selectable } from 'kysely'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import type { Person, userCreate, userList } from '#contract/users.ts'
import { inTransaction, lock, type Tx, violatedConstraint } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { type Caller, system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { demandGoodPassword, hashPassword } from '../sessions/password.ts'
import * as store from './store.ts'

export type NewUser = Input<typeof userCreate>['body']
type Row = Selectable<Tables['person']>
export type Users = ReturnType<typeof users>

export const present = (row: Row): Person => ({
  id: row.id,
  email: row.email,
  name: row.name,
  role: row.role,
  created_at: row.created_at.toISOString(),
  last_sign_in_at: row.last_sign_in_at?.toISOString() ?? null,
  disabled_at: row.disabled_at?.toISOString() ?? null,
  version: row.version,
})

export function users({ db, clock, record }: Pick<Platform, 'db' | 'clock' | 'record'>) {
  const insert = async (tx: Tx, caller: Caller, { password_hash, ...user }: Omit<NewUser, 'password'> & { password_hash: string }): Promise<Person> => {
    const made = present(await store.insert(tx, { ...user, password_hash, at: new Date(clock.now()) }))
    const target = { kind: 'user', id: made.id, name: made.email }
    await record(tx, caller, { action: 'user.created', target, after: made, event: { version: made.version } })
    return made
  }
  return {
    async list(query: Input<typeof userList>['query']): Promise<Page<Person>> {
      const { rows, total } = await store.page(db, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem user_exists; invalid if the password is easily guessed */
    async create(caller: Caller, { password, ...user }: NewUser): Promise<Person> {
      await demandGoodPassword(password, user.email, 'password')
      const password_hash = await hashPassword(password, { source: caller.kind === 'user' ? `person ${caller.userId}` : system.name })
      try {
        return await inTransaction(db, (tx) => insert(tx, caller, { ...user, password_hash }))
      } catch (error) {
        if (violatedConstraint(error) !== 'person_email') throw error
        throw new Problem('user_exists', 'A user with this email exists already', { email: 'A user with this email exists already' })
      }
    },

    /** Creates the first admin; undefined if there are users already. */
    async createFirst({ email, password, name }: { email: string; password: string; name?: string }): Promise<Person | undefined> {
      if ((await store.count(db)) > 0) return undefined
      await demandGoodPassword(password, email, 'password')
      const password_hash = await hashPassword(password, { source: system.name })
      return inTransaction(db, async (tx) => {
        // Two processes may call this at the same time, and only one may create the user.
        await lock(tx, 'first user')
        if ((await store.count(tx)) > 0) return undefined
        return insert(tx, system, { email, name: name ?? email.split('@')[0]!, role: 'admin', password_hash })
      })
    },

    count: () => store.count(db),
    /** For the sessions domain: the account with the hash of its password. */
    forSignIn: (email: string) => store.byEmail(db, email),
    signedIn: store.signedIn,
  }
}

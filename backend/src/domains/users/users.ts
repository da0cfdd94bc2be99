/** Users of this installation and their roles. */
import type { Selectable } from 'kysely'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import type { Person, userCreate, userList } from '#contract/users.ts'
import { inTransaction, lock, type Tx, violatedConstraint } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import { type Caller, demandRole, system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { sessionSource } from '../sessions/own-password.ts'
import { demandGoodPassword, hashPassword } from '../sessions/password.ts'
import * as store from './store.ts'

type NewUser = Input<typeof userCreate>['body']
type Row = Selectable<Tables['person']>
/** A new user has neither an account at the provider nor a second factor. */
const noWays: store.Ways = { has_provider: false, has_second_factor: false }
/** An account without a password can't sign in with one. */
type NewAccount = Omit<NewUser, 'password'> & { password_hash: string | null }
const taken = 'A user with this email exists already'
export type Users = ReturnType<typeof users>

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

/** Converts the violation of the email's uniqueness. @throws Problem user_exists */
export async function refusingTaken<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (violatedConstraint(error) !== 'person_email') throw error
    throw new Problem('user_exists', taken, { email: taken })
  }
}

export function users({ db, clock, record }: Pick<Platform, 'db' | 'clock' | 'record'>) {
  /** Adds a user in the caller's transaction. */
  const insert = async (tx: Tx, caller: Caller, user: NewAccount): Promise<Person> => {
    const made = present({
      ...(await store.insert(tx, { ...user, at: new Date(clock.now()) })),
      ...noWays,
    })
    const target = { kind: 'user', id: made.id, name: made.email }
    await record(tx, caller, {
      action: 'user.created',
      target,
      after: made,
      event: { version: made.version },
    })
    return made
  }
  return {
    async list(query: Input<typeof userList>['query']): Promise<Page<Person>> {
      const { rows, total } = await store.page(db, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem forbidden, user_exists; invalid if the password is easily guessed */
    async create(caller: Caller, { password, ...user }: NewUser): Promise<Person> {
      demandRole(caller, user.role)
      if (password !== undefined) await demandGoodPassword(password, user.email, 'password')
      const by = caller.kind === 'user' ? sessionSource(caller) : system.name
      const password_hash = password === undefined ? null : await hashPassword(password, by)
      return refusingTaken(() =>
        inTransaction(db, (tx) => insert(tx, caller, { ...user, password_hash })),
      )
    },

    insert,

    /**
     * Locks the administrators until the end of the transaction, as each change of one does first:
     * so what the caller makes can't outlive a concurrent change of the caller's account. Does
     * nothing for callers that are not users. @throws Problem forbidden unless the caller is an
     * active administrator
     */
    async demandAdmin(tx: Tx, caller: Caller): Promise<void> {
      if (caller.kind !== 'user') return
      const admins = await store.lockAdmins(tx)
      if (!admins.some(({ id }) => id === caller.userId))
        throw new Problem('forbidden', 'You are no longer an administrator')
    },

    /** Creates the first admin; undefined if there are users already. */
    async createFirst({
      email,
      password,
      name,
    }: {
      email: string
      password: string
      name?: string
    }): Promise<Person | undefined> {
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

    /** Undefined for an id that doesn't exist. */
    byId: (id: string) => store.byId(db, id),

    /** Changes the displayed name of a user. */
    rename: (caller: Caller, id: string, name: string): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = await store.lock(tx, id)
        if (!row || row.name === name) return
        const { version } = await store.update(tx, id, { name }, new Date(clock.now()))
        const target = { kind: 'user', id, name: row.email }
        await record(tx, caller, {
          action: 'user.updated',
          target,
          before: { name: row.name },
          after: { name },
          event: { version },
        })
      }),

    /** The first active admins by name. */
    administrators: (limit: number) => store.administrators(db, limit),

    /** Whether the person has signed in through the identity provider. */
    hasProvider: async (id: string): Promise<boolean> => (await store.whole(db, id)).has_provider,

    count: () => store.count(db),
    /** For the sessions domain: the account with the hash of its password. */
    forSignIn: (email: string) => store.byEmail(db, email),
    signedIn: store.signedIn,
  }
}

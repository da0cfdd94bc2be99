/**
 * Accounts at the identity provider and the users to whom they belong. At the first sign-in an
 * account is linked to the user with its email, or a user is added. Afterwards only issuer and
 * subject count, because a provider may give an email to somebody else (OpenID Connect Core 1.0,
 * section 5.7).
 */
import type { Selectable } from 'kysely'
import { Problem } from '#contract/errors.ts'
import type { Role } from '#contract/permissions.ts'
import { mayStopBeingAdmin } from '#contract/users.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import type { Caller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { emailOf, hasGroups, nameOf, rightsChanged, roleOf, verifiedOf } from '../sessions/api.ts'
import { type Access, type Identity, refusingTaken, type Users } from './api.ts'
import { endLinkFor, endLinksOf } from './links.ts'
import * as store from './store.ts'
import { targetOf } from './target.ts'

type Row = Selectable<Tables['person']>

export function identities({
  db,
  clock,
  record,
  log,
  config,
  insert,
}: Pick<Platform, 'db' | 'clock' | 'record' | 'log' | 'config'> & Pick<Users, 'insert'>): Pick<
  Users,
  'ofIdentity' | 'isIdentityOf'
> {
  const { provider } = config
  const now = () => new Date(clock.now())
  const refuse = (reason: string) => new Problem('provider_refused', reason)

  const link = async (
    tx: Tx,
    caller: Caller,
    row: Pick<Row, 'id' | 'email'>,
    { issuer, subject }: Identity,
  ): Promise<void> => {
    await store.putIdentity(tx, { issuer, subject, person_id: row.id, created_at: now() })
    await record(tx, caller, {
      action: 'user.provider_linked',
      target: targetOf(row),
      after: { issuer, subject },
      event: { name: 'user.updated' },
    })
  }

  /** The user of an account that signs in for the first time. @throws Problem provider_refused */
  const firstTime = async (
    tx: Tx,
    caller: Caller,
    identity: Identity,
    role: Role | undefined,
  ): Promise<Row> => {
    const { claims, issuer } = identity
    const name = provider!.name
    const email = emailOf(claims)
    if (email === null)
      throw refuse(
        `${name} does not say your email address. Ask its administrator to give Steelyard the claim email.`,
      )
    const verified = verifiedOf(claims)
    if (verified === false)
      throw refuse(`${name} says that your email address is not verified. Verify it there first.`)
    const row = await store.lockByEmail(tx, email)
    if (!row) {
      if (role === undefined)
        throw refuse(
          `There is no user ${email} here. Ask an administrator of Steelyard to add you.`,
        )
      const { id } = await insert(tx, caller, {
        email,
        name: nameOf(claims, email),
        role,
        password_hash: null,
      })
      await link(tx, caller, { id, email }, identity)
      return (await store.lock(tx, id))!
    }
    // Linked by a concurrent sign-in of the same account, which held the lock.
    if ((await store.idOfIdentity(tx, identity)) === row.id) return row
    if (await store.hasIdentity(tx, row.id, issuer))
      throw refuse(
        `The user ${email} belongs to another account of ${name}. Ask an administrator of Steelyard.`,
      )
    // A used user isn't given to an account that only claims its email.
    const isUsed = row.password_hash !== null || row.last_sign_in_at !== null
    if (isUsed && verified !== true)
      throw refuse(
        `A user ${email} exists here, and ${name} does not say that your email address is verified. Sign in as before.`,
      )
    await link(tx, caller, row, identity)
    return row
  }

  const isLastAdmin = (row: Row, admins: readonly unknown[]): boolean => {
    const isLast =
      row.role === 'admin' && row.disabled_at === null && !mayStopBeingAdmin(admins.length).ok
    if (isLast) log.warn('provider.last_admin', { user_id: row.id })
    return isLast
  }

  /**
   * Ends what is open for a user who is in no group any more, as less of a role would. The role
   * itself stays, for when a group comes back. The last admin keeps everything.
   */
  const endAccess = async (
    tx: Tx,
    caller: Caller,
    identity: Identity,
    { sessions, apiTokens, invitations }: Access,
  ): Promise<void> => {
    const id = await store.idOfIdentity(tx, identity)
    if (id === undefined) return
    const admins = await store.lockAdmins(tx)
    const row = await store.lock(tx, id)
    if (!row || isLastAdmin(row, admins)) return
    await sessions.endAll(tx, caller, row, 'no_group')
    await apiTokens.revokeAll(tx, caller, id)
    await endLinksOf(tx, caller, id, { record, invitations })
  }

  /** Gives the user the role that the provider's groups say. The last admin stays. */
  const follow = async (
    tx: Tx,
    caller: Caller,
    row: Row,
    role: Role,
    { invitations }: Access,
  ): Promise<Row> => {
    if (row.role === role) return row
    const admins = await store.lockAdmins(tx)
    if (isLastAdmin(row, admins)) return row
    const after = await store.update(tx, row.id, { role }, now())
    await record(tx, caller, {
      action: 'user.updated',
      target: targetOf(row),
      before: { role: row.role },
      after: { role },
      event: { version: after.version },
    })
    if (row.role === 'admin') await endLinksOf(tx, caller, row.id, { record, invitations })
    await endLinkFor(tx, caller, row, { record })
    await rightsChanged(tx, row.id)
    return after
  }

  return {
    async ofIdentity(caller, identity, access) {
      const { name, roleClaim, roles } = provider!
      const role = roles && roleOf(identity.claims, roleClaim, roles)
      if (roles && role === undefined) {
        // Without the claim the provider says nothing about groups: its settings may be wrong, and
        // revoked API tokens don't come back.
        if (hasGroups(identity.claims, roleClaim))
          await inTransaction(db, (tx) => endAccess(tx, caller, identity, access))
        throw refuse(
          `None of your groups at ${name} may use Steelyard. Ask an administrator of Steelyard.`,
        )
      }
      const attempt = () =>
        refusingTaken(() =>
          inTransaction(db, async (tx) => {
            const id = await store.idOfIdentity(tx, identity)
            // Admins are locked before the user, in the order of the other changes of roles.
            if (id !== undefined && role !== undefined) await store.lockAdmins(tx)
            const row =
              (id === undefined ? undefined : await store.lock(tx, id)) ??
              (await firstTime(tx, caller, identity, role))
            if (row.disabled_at)
              throw refuse('Your account here is disabled. Ask an administrator of Steelyard.')
            return role === undefined ? row : follow(tx, caller, row, role, access)
          }),
        )
      return attempt().catch((error: unknown) => {
        // The user was added at the same moment, perhaps by another sign-in of the same account.
        if (error instanceof Problem && error.code === 'user_exists') return attempt()
        throw error
      })
    },

    isIdentityOf: async (identity, userId) => (await store.idOfIdentity(db, identity)) === userId,
  }
}

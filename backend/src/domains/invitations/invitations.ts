/**
 * Invitations: a link with which somebody creates their own account, once, within a week. The
 * database stores only the hash of the link's token.
 */
import { randomBytes } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import {
  type Invitation,
  invitationAccept,
  invitationCreate,
  invitationDays,
  invitationLimit,
  invitationList,
  invitationLook,
  invitationRemove,
  type NewInvitation,
} from '#contract/people/invitations.ts'
import { canAdd } from '#contract/rule.ts'
import type * as z from 'zod/mini'
import { inTransaction, type Tx } from '../../db/db.ts'
import { type Caller, callerName, demandRole } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import { demandGoodPassword, hashOf, hashPassword } from '../sessions/api.ts'
import { refusingTaken, type Users } from '../users/api.ts'
import type { Invitations } from './api.ts'
import * as store from './store.ts'

const linkOver = () =>
  new Problem(
    'link_over',
    'This invitation was accepted already, has expired, or was replaced or withdrawn. Ask an administrator for a new one.',
  )
const taken = () => {
  const reason = 'A user with this email exists already'
  return new Problem('user_exists', reason, { email: reason })
}

const present = (row: store.InvitationRow): Invitation => ({
  id: row.id,
  email: row.email,
  name: row.name,
  role: row.role,
  invited_by: row.invited_by,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
})

export function invitations({
  db,
  clock,
  record,
  config,
  users,
}: Pick<Platform, 'db' | 'clock' | 'record' | 'config'> & { users: Users }): Invitations & Domain {
  const now = () => new Date(clock.now())

  const invite: Invitations['invite'] = async (tx, caller, invited) => {
    await users.demandAdmin(tx, caller)
    demandRole(caller, invited.role)
    if (await users.byEmail(invited.email, tx)) throw taken()
    demand(canAdd(invitationLimit, await store.othersThan(tx, invited.email, now())), 'conflict')
    const token = randomBytes(32).toString('base64url')
    const expires_at = new Date(clock.now() + invitationDays * 86_400_000)
    const inviter = {
      invited_by: callerName(caller),
      inviter_id: caller.kind === 'user' ? caller.userId : null,
    }
    const row = await store.put(tx, {
      ...invited,
      ...inviter,
      hash: hashOf(token),
      created_at: now(),
      expires_at,
    })
    const made = present(row)
    await record(tx, caller, {
      action: 'invitation.created',
      target: { kind: 'invitation', id: row.id, name: row.email },
      after: made,
      event: {},
    })
    // Browsers don't send the fragment, so the token is in no log.
    return { ...made, url: `${config.publicUrl}/auth/invite#${token}` }
  }

  const recordRemoval = (tx: Tx, caller: Caller, row: store.InvitationRow): Promise<void> =>
    record(tx, caller, {
      action: 'invitation.removed',
      target: { kind: 'invitation', id: row.id, name: row.email },
      before: present(row),
      event: {},
    })

  const calls = {
    async list(query: Input<typeof invitationList>['query']): Promise<Page<Invitation>> {
      const { rows, total } = await store.page(db, query, now())
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem forbidden, user_exists */
    create: (
      caller: Caller,
      invited: z.output<typeof NewInvitation>,
    ): Promise<Answer<typeof invitationCreate>> =>
      inTransaction(db, (tx) => invite(tx, caller, invited)),

    /** @throws Problem not_found */
    remove: (caller: Caller, id: string): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = await store.remove(tx, id)
        if (!row) throw new Problem('not_found', 'There is no such invitation')
        await recordRemoval(tx, caller, row)
      }),

    /** @throws Problem link_over */
    async look({
      token,
    }: Input<typeof invitationLook>['body']): Promise<Answer<typeof invitationLook>> {
      const row = await store.byHash(db, hashOf(token), now())
      if (!row) throw linkOver()
      const { email, name, role, expires_at } = present(row)
      return { email, name, role, expires_at }
    },

    /**
     * Creates the account. A refused password doesn't use up the link. @throws Problem link_over,
     * user_exists, invalid
     */
    async accept(
      caller: Caller,
      { token, name, new_password }: Input<typeof invitationAccept>['body'],
    ): Promise<void> {
      const hash = hashOf(token)
      const row = await store.byHash(db, hash, now())
      if (!row) throw linkOver()
      const { email, role } = row
      await demandGoodPassword(new_password, email, 'new_password')
      const password_hash = await hashPassword(new_password, `invitation ${row.id}`)
      await refusingTaken(() =>
        inTransaction(db, async (tx) => {
          if (!(await store.spend(tx, hash))) throw linkOver()
          await users.insert(tx, caller, { email, name, role, password_hash })
          await record(tx, caller, {
            action: 'invitation.accepted',
            target: { kind: 'invitation', id: row.id, name: email },
            event: { name: 'invitation.removed' },
          })
        }),
      )
    },
  }

  return {
    name: 'invitations',
    routes(app) {
      const on = serve(app)
      on(invitationList, ({ query }) => calls.list(query))
      on(invitationCreate, ({ caller, body }) => calls.create(caller, body))
      on(invitationRemove, ({ caller, params }) =>
        calls.remove(caller, params.id).then(() => undefined),
      )
      on(invitationLook, ({ body }) => calls.look(body))
      on(invitationAccept, ({ caller, body }) => calls.accept(caller, body).then(() => undefined))
    },
    removeOld: async () => void (await store.removeOld(db, now())),
    invite,
    async endOf(tx, caller, inviterId) {
      for (const row of await store.removeOf(tx, inviterId)) await recordRemoval(tx, caller, row)
    },
  }
}

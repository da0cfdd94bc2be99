/** Visitors' requests for access. The response is the same for known and unknown emails; each source has a rate limit. */
import type { FastifyInstance } from 'fastify'
import { Problem } from '#contract/errors.ts'
import { type WaitlistEntry, waitlistInvite, waitlistJoin, waitlistList, waitlistRemove } from '#contract/people/invitations.ts'
import { inTransaction } from '../../db/db.ts'
import type { AnonymousCaller } from '../../http/caller.ts'
import { bucket } from '../../http/limits.ts'
import { serve } from '../../http/serve.ts'
import { sourceOf } from '../../network.ts'
import type { Platform } from '../../platform.ts'
import type { Invitations } from '../invitations/invitations.ts'
import * as store from './store.ts'

const burst = 5
const perSecond = 1 / 60

const nobody = () => new Problem('not_found', 'There is no such entry on the waitlist')

export function waitlistRoutes(app: FastifyInstance, { db, clock, record, invitations }: Platform & { invitations: Invitations }): void {
  const on = serve(app)
  const pace = bucket({ perSecond, burst, clock })

  on(waitlistJoin, async ({ caller, body, ip }) => {
    const waitMs = pace.take(sourceOf(ip))
    if (waitMs > 0) throw new Problem('throttled', 'Too many requests. Please wait a moment.', undefined, waitMs / 1000)
    const by: AnonymousCaller = { kind: 'anonymous', ip, requestId: caller.kind === 'system' ? '' : caller.requestId }
    await inTransaction(db, async (tx) => {
      const id = await store.insert(tx, body, new Date(clock.now()))
      if (id !== undefined) await record(tx, by, { action: 'waitlist.joined', target: { kind: 'waitlist', id }, event: { name: 'waitlist.created' } })
    })
    return undefined
  })

  on(waitlistList, async ({ query }) => {
    const { rows, total } = await store.page(db, query)
    const items = rows.map(({ id, name, company, email, status, created_at, invited_at }): WaitlistEntry => ({
      id,
      name,
      company,
      email,
      status,
      created_at: created_at.toISOString(),
      invited_at: invited_at?.toISOString() ?? null,
    }))
    return { items, page: query.page, per_page: query.per_page, total }
  })

  on(waitlistInvite, ({ caller, params: { id }, body: { role } }) =>
    inTransaction(db, async (tx) => {
      const entry = await store.invited(tx, id, new Date(clock.now()))
      if (!entry) throw nobody()
      return invitations.invite(tx, caller, { email: entry.email, name: entry.name, role })
    }),
  )

  on(waitlistRemove, async ({ caller, params: { id } }) => {
    await inTransaction(db, async (tx) => {
      const entry = await store.remove(tx, id)
      if (!entry) throw nobody()
      await record(tx, caller, { action: 'waitlist.removed', target: { kind: 'waitlist', id, name: entry.email }, event: {} })
    })
    return undefined
  })
}

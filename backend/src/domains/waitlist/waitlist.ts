/** Visitors' requests for access. The response is the same for known and unknown emails; each source has a rate limit. */
import type { FastifyInstance } from 'fastify'
import { Problem } from '#contract/errors.ts'
import { type WaitlistEntry, waitlistJoin, waitlistList } from '#contract/users.ts'
import type * as z from 'zod/mini'
import { inTransaction } from '../../db/db.ts'
import type { AnonymousCaller } from '../../http/caller.ts'
import { bucket } from '../../http/limits.ts'
import { serve } from '../../http/serve.ts'
import { sourceOf } from '../../network.ts'
import type { Platform } from '../../platform.ts'
import * as store from './store.ts'

type Entry = z.infer<typeof WaitlistEntry>

const burst = 5
const perSecond = 1 / 60

export function waitlistRoutes(app: FastifyInstance, { db, clock, record }: Platform): void {
  const on = serve(app)
  const pace = bucket({ perSecond, burst, clock })

  on(waitlistJoin, async ({ caller, body, ip }) => {
    const waitMs = pace.take(sourceOf(ip))
    if (waitMs > 0) throw new Problem('throttled', 'Too many requests. Please wait a moment.', undefined, waitMs / 1000)
    const by: AnonymousCaller = { kind: 'anonymous', ip, requestId: caller.kind === 'system' ? '' : caller.requestId }
    await inTransaction(db, async (tx) => {
      const id = await store.insert(tx, body, new Date(clock.now()))
      if (id !== undefined) await record(tx, by, { action: 'waitlist.joined', target: { kind: 'waitlist', id } })
    })
    return undefined
  })

  on(waitlistList, async ({ query }) => {
    const { rows, total } = await store.page(db, query)
    const items = rows.map(({ name, company, email, created_at, invited_at }): Entry => ({
      name,
      company,
      email,
      created_at: created_at.toISOString(),
      invited_at: invited_at?.toISOString() ?? null,
    }))
    return { items, page: query.page, per_page: query.per_page, total }
  })
}

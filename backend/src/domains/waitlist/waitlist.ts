/** Visitors who want to be customers. The same answer whether or not the email is known, and a pace per address. */
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import type { WaitlistEntry, waitlistJoin, waitlistList } from '#contract/users.ts'
import type * as z from 'zod/mini'
import type { Clock } from '../../clock.ts'
import { type Db, inTransaction } from '../../db/db.ts'
import type { AnonymousCaller, Caller } from '../../http/caller.ts'
import { bucket } from '../../http/limits.ts'
import { sourceOf } from '../../network.ts'
import type { RecordChange } from '../../record.ts'
import * as store from './store.ts'

type Entry = z.infer<typeof WaitlistEntry>

export interface Waitlist {
  /** @throws Problem throttled */
  join(caller: Caller, body: Input<typeof waitlistJoin>['body'], ip: string): Promise<void>
  list(query: Input<typeof waitlistList>['query']): Promise<Page<Entry>>
}

const burst = 5
const perSecond = 1 / 60

export function waitlist({ db, clock, record }: { db: Db; clock: Clock; record: RecordChange }): Waitlist {
  const pace = bucket({ perSecond, burst, clock })
  return {
    async join(caller, body, ip) {
      const waitMs = pace.take(sourceOf(ip))
      if (waitMs > 0) throw new Problem('throttled', 'Too many requests. Please wait a moment.', undefined, waitMs / 1000)
      const by: AnonymousCaller = { kind: 'anonymous', ip, requestId: caller.kind === 'system' ? '' : caller.requestId }
      await inTransaction(db, async (tx) => {
        const id = await store.insert(tx, body, new Date(clock.now()))
        if (id !== undefined) await record(tx, by, { action: 'waitlist.joined', target: { kind: 'waitlist', id } })
      })
    },

    async list(query) {
      const { rows, total } = await store.page(db, query)
      const items = rows.map((r): Entry => ({
        name: r.name,
        company: r.company,
        email: r.email,
        created_at: r.created_at.toISOString(),
        invited_at: r.invited_at?.toISOString() ?? null,
      }))
      return { items, page: query.page, per_page: query.per_page, total }
    },
  }
}

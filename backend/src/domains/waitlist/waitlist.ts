/**
 * Visitors' requests for access. The response is the same for known and unknown emails. Each source
 * has a rate limit, and all have one together.
 */
import { Problem } from '#contract/errors.ts'
import {
  type WaitlistEntry,
  waitlistInvite,
  waitlistJoin,
  waitlistList,
  waitlistRemove,
} from '#contract/people/invitations.ts'
import { inTransaction } from '../../db/db.ts'
import type { AnonymousCaller } from '../../http/caller.ts'
import { type StrangerLimits, strangers } from '../../http/load/strangers.ts'
import { serve } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import { repeated } from '../audit/api.ts'
import type { Invitations } from '../invitations/api.ts'
import * as store from './store.ts'

const limits: StrangerLimits = {
  ofSource: { perSecond: 1 / 60, burst: 5 },
  inAll: { perSecond: 1 / 60, burst: 100 },
  reserve: { perSecond: 1 / 60, burst: 100 },
}
/**
 * Requests that wait for an administrator. Past this limit nobody can join, until some are invited
 * or removed.
 */
const mostEntries = 20_000
/** Entries of the audit log that say how many requests were refused. */
const refusedEntries = { windowMs: 60 * 60_000, burst: 5, perHour: 5 } as const

const nobody = () => new Problem('not_found', 'There is no such entry on the waitlist')

export const waitlist = ({
  db,
  clock,
  log,
  record,
  invitations,
}: Platform & { invitations: Invitations }): Domain => ({
  name: 'waitlist',
  routes(app) {
    const on = serve(app)
    const pace = strangers({ ...limits, clock })
    const refused = repeated<AnonymousCaller>(
      {
        db,
        clock,
        log,
        async write(tx, batch) {
          for (const { item, several } of batch)
            await record(tx, item, {
              action: 'waitlist.refused',
              target: { kind: 'waitlist', id: 'all' },
              result: 'throttled',
              after: { count: 1, ...several },
            })
        },
        merged: (item) => item,
        groupOf: () => '',
      },
      refusedEntries,
    )
    app.addHook('onClose', () => refused.close())

    on(waitlistJoin, async ({ caller, body, ip }) => {
      const by: AnonymousCaller = {
        kind: 'anonymous',
        ip,
        requestId: caller.kind === 'system' ? '' : caller.requestId,
      }
      const { waitMs, isOfAll } = pace(ip)
      if (isOfAll) await refused.note('', by, { ip })
      if (waitMs > 0)
        throw new Problem(
          'throttled',
          'Too many requests. Please wait a moment.',
          undefined,
          waitMs / 1000,
        )
      await inTransaction(db, async (tx) => {
        // Concurrent requests may pass the limit by their number.
        if ((await store.count(tx)) >= mostEntries)
          throw new Problem(
            'unavailable',
            'The waitlist is full at the moment. Please try again later.',
            undefined,
            3600,
          )
        const id = await store.insert(tx, body, new Date(clock.now()))
        if (id !== undefined)
          await record(tx, by, {
            action: 'waitlist.joined',
            target: { kind: 'waitlist', id },
            event: { name: 'waitlist.created' },
          })
      })
      return undefined
    })

    on(waitlistList, async ({ query }) => {
      const { rows, total } = await store.page(db, query)
      const items = rows.map(
        ({ id, name, company, email, status, created_at, invited_at }): WaitlistEntry => ({
          id,
          name,
          company,
          email,
          status,
          created_at: created_at.toISOString(),
          invited_at: invited_at?.toISOString() ?? null,
        }),
      )
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
        await record(tx, caller, {
          action: 'waitlist.removed',
          target: { kind: 'waitlist', id, name: entry.email },
          event: {},
        })
      })
      return undefined
    })
  },
})

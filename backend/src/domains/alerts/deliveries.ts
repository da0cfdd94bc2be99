/** Use cases of messages: the list, one with its attempts, and sending it again. */
import {
  canSendAgain,
  type Delivery,
  type DeliveryRecipient,
  type deliveryGet,
  type deliveryList,
} from '#contract/alerts/deliveries.ts'
import { Problem } from '#contract/errors.ts'
import { type FindingObject, findingObjects } from '#contract/findings/kinds.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { permits } from '#contract/permissions.ts'
import { inTransaction } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import type { Platform } from '../../platform.ts'
import { keepTryingMs, wakeDeliveries } from './delivering.ts'
import { type Content, textOf } from './message.ts'
import * as store from './store-deliveries.ts'
import * as recipientRows from './store-recipients.ts'
import { findChannel } from './store.ts'

const present = (row: store.DeliveryRow): Delivery => ({
  id: row.id,
  channel: { id: row.channel_id, name: row.channel_name },
  test: row.test,
  subject: row.subject,
  state: row.ended_at === null ? 'waiting' : row.arrived === true ? 'sent' : 'failed',
  attempts: row.attempts,
  next_at: row.next_at?.toISOString() ?? null,
  problem: row.problem,
  created_at: row.created_at.toISOString(),
  ended_at: row.ended_at?.toISOString() ?? null,
})

const presentRecipient = ({
  delivery_id: _delivery,
  arrived,
  next_at,
  ...row
}: recipientRows.RecipientRow): DeliveryRecipient => ({
  ...row,
  state: arrived === null ? 'waiting' : arrived ? 'sent' : 'failed',
  next_at: next_at?.toISOString() ?? null,
})

/** Kinds of objects that the caller may not read, so neither what messages say of them. */
const hiddenFrom = ({ scopes }: UserCaller): FindingObject[] =>
  (Object.keys(findingObjects) as FindingObject[]).filter(
    (object) => !permits(scopes, findingObjects[object].read).ok,
  )

/**
 * The message with the findings that the caller may read.
 * @throws Problem not_found also if it has only others
 */
function existing(
  caller: UserCaller,
  row: store.DeliveryRow | undefined,
): { readonly row: store.DeliveryRow; readonly content: Content } {
  const hidden = hiddenFrom(caller)
  const content = row?.content as Content | undefined
  const items = content?.items
    .filter(({ object }) => !hidden.includes(object.kind))
    .map((item) =>
      item.incident?.worst && hidden.includes(item.incident.worst.object)
        ? { ...item, incident: { ...item.incident, worst: null } }
        : item,
    )
  if (!row || !content || !items || (items.length === 0 && content.items.length > 0))
    throw new Problem('not_found', 'There is no such message')
  return { row, content: { ...content, items } }
}

export const deliveries = ({
  db,
  clock,
  config,
  engine,
  record,
}: Pick<Platform, 'db' | 'clock' | 'config' | 'engine' | 'record'>) => ({
  async list(
    caller: UserCaller,
    query: Input<typeof deliveryList>['query'],
  ): Promise<Page<Delivery>> {
    const { rows, total } = await store.page(db, query, hiddenFrom(caller))
    return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
  },

  async get(caller: UserCaller, id: string): Promise<Answer<typeof deliveryGet>> {
    const { row, content } = existing(caller, await store.find(db, id))
    const tries = await store.attemptsOf(db, id)
    return {
      ...present(row),
      text: textOf(content, config.publicUrl),
      recipients: (await recipientRows.recipientsOf(db, id)).map(presentRecipient),
      tries: tries.map(({ delivery_id: _id, at, ...rest }) => ({ ...rest, at: at.toISOString() })),
    }
  },

  /** @throws Problem not_found, transition_refused */
  again: (caller: UserCaller, id: string): Promise<Delivery> =>
    inTransaction(db, async (tx) => {
      const { row } = existing(caller, await store.lock(tx, id))
      demand(canSendAgain(present(row)), 'transition_refused')
      const at = new Date(clock.now())
      const channel = await findChannel(tx, row.channel_id!)
      if (channel?.gone_since)
        throw new Problem(
          'transition_refused',
          `The receiver of ${channel.name} says that it is gone (410). Change its URL, or send a test message first`,
        )
      const expires_at = new Date(at.getTime() + keepTryingMs)
      await recipientRows.beginAgain(tx, id, at)
      const next = present(await store.begin(tx, id, { at, expires_at }))
      await record(tx, caller, {
        action: 'delivery.retried',
        target: { kind: 'delivery', id, name: next.subject },
        after: { channel: next.channel.name },
        event: { name: 'delivery.updated' },
      })
      await wakeDeliveries(engine, tx, row.channel_id!)
      return next
    }),
})

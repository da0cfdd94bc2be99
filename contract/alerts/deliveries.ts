/** Deliveries: the messages to channels, with each attempt to send them. */
import * as z from 'zod/mini'
import { codeText, lineText, sentenceText } from '../bounds/fields.ts'
import { list, listOperation } from '../list.ts'
import { operation, type Words } from '../operation.ts'
import { byId, time } from '../page.ts'
import { forNow, no, type Verdict, yes } from '../rule.ts'

/**
 * `waiting`: to be sent, perhaps again. `failed`: refused, or given up after a day. A mail is `sent` if it has
 * arrived at one of its recipients and waits for none.
 */
export const deliveryStates = { waiting: 'Waiting', sent: 'Sent', failed: 'Failed' }
const states = ['waiting', 'sent', 'failed'] as const

export const Delivery = z.object({
  /** The id of the message, the same in each attempt: `webhook-id`, and the id of the CloudEvent. */
  id: z.uuid(),
  /** `id` is null if the channel was removed. */
  channel: z.object({ id: z.nullable(z.uuid()), name: codeText }),
  test: z.boolean(),
  subject: lineText,
  state: z.enum(states),
  attempts: z.int(),
  /** When it is sent next; null unless it waits. */
  next_at: z.nullable(time),
  /** Why the last attempt failed. */
  problem: z.nullable(sentenceText),
  created_at: time,
  ended_at: z.nullable(time),
})
export type Delivery = z.infer<typeof Delivery>

export const DeliveryAttempt = z.object({
  number: z.int(),
  at: time,
  took_ms: z.int(),
  /** Status of the answer: of HTTP, or of SMTP; null if there was none. */
  status: z.nullable(z.int()),
  problem: z.nullable(z.string()),
  /** The first 64 KiB of the answer; of all attempts but the last, the first 1,000 characters. */
  answer: z.string(),
})
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>

/** `waiting`: the mail server has refused it for now, or did not answer. */
export const DeliveryRecipient = z.object({
  address: z.string(),
  state: z.enum(states),
  attempts: z.int(),
  /** When it is tried next; null unless it waits. */
  next_at: z.nullable(time),
  /** Of the mail server's last reply about this recipient; null if there was none. */
  status: z.nullable(z.int()),
  problem: z.nullable(z.string()),
})
export type DeliveryRecipient = z.infer<typeof DeliveryRecipient>

const deliveries = list<Delivery>()({
  nouns: ['delivery', 'deliveries'],
  columns: {
    created_at: {
      label: 'Made',
      kind: 'time',
      sort: true,
      value: (d: Delivery) => d.created_at,
    },
    channel: { label: 'Channel', value: (d: Delivery) => d.channel.name },
    subject: { label: 'Message', value: (d: Delivery) => d.subject },
    state: { label: 'State', kind: 'word', value: (d: Delivery) => d.state },
    attempts: { label: 'Attempts', kind: 'number', value: (d: Delivery) => d.attempts },
    problem: { label: 'Problem', value: (d: Delivery) => d.problem },
    next_at: {
      label: 'Next attempt',
      kind: 'time',
      hidden: true,
      value: (d: Delivery) => d.next_at,
    },
    id: { label: 'Id', kind: 'mono', hidden: true, value: (d: Delivery) => d.id },
  },
  filters: {
    state: { label: 'State', help: 'Only messages in this state', choices: deliveryStates },
    channel: {
      label: 'Channel',
      help: 'Only messages to this channel, by name',
      placeholder: 'NAME',
    },
  },
  order: '-created_at',
})

export const deliveryList = listOperation(deliveries, Delivery, {
  name: 'deliveryList',
  summary:
    'Messages to channels, the newest first. They are kept for 30 days. Messages only about objects that the caller may not read are left out.',
  path: '/v1/deliveries',
  scope: 'clusters:read',
})
export const deliveryGet = operation('deliveryGet', 'GET /v1/deliveries/{id}', 'clusters:read', {
  summary:
    'One message, with each attempt to send it. Its text leaves out objects that the caller may not read.',
  params: byId,
  answer: z.extend(Delivery, {
    /** The message as plain text. */
    text: z.string(),
    tries: z.array(DeliveryAttempt),
    /** Of a mail: the outcome for each recipient; empty before the first attempt. */
    recipients: z.array(DeliveryRecipient),
  }),
})

/** Whether a message may be sent again. */
export const canSendAgain = ({ state, channel }: Pick<Delivery, 'state' | 'channel'>): Verdict =>
  state === 'waiting'
    ? forNow('The message waits for its next attempt already')
    : channel.id === null
      ? no('The channel was removed')
      : yes

export const deliveryRetry = operation(
  'deliveryRetry',
  'POST /v1/deliveries/{id}/retry',
  'alerts:manage',
  {
    summary: 'Send a message again, with the same id, that has arrived or was given up.',
    kept: true,
    answer: Delivery,
    errors: ['transition_refused'],
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Delivery: [Delivery, 'A message to a channel.'],
    DeliveryAttempt: [DeliveryAttempt, 'An attempt to send a message.'],
    DeliveryRecipient: [DeliveryRecipient, 'A recipient of a mail, with the outcome for it.'],
  },
  fields: {
    'deliveryList.state': 'Only messages in this state.',
    'deliveryList.channel': 'Only messages to this channel, by name.',
  },
}

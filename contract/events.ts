/** The live stream: an event names the changed object, and the reader fetches that object. */
import * as z from 'zod/mini'
import { operation } from './operation.ts'
import { time } from './page.ts'
import type { Scope } from './permissions.ts'

/** Kinds of objects with events, and the scope that a reader of the events needs. */
export const eventKinds = {
  server: 'servers:read',
  patch: 'servers:read',
  shared_patch: 'servers:read',
  shared_view: 'signed_in',
  rack: 'servers:read',
  cluster: 'clusters:read',
  template: 'clusters:read',
  datacenter: 'datacenters:read',
  subnet: 'network:read',
  cc: 'marketplace:read',
  bmc: 'servers:read',
  bmc_credential: 'bmc:manage',
  image: 'servers:read',
  join_token: 'servers:read',
  operation: 'signed_in',
  finding: 'signed_in',
  incident: 'signed_in',
  offer: 'marketplace:read',
  store: 'clusters:read',
  channel: 'clusters:read',
  alert_rule: 'clusters:read',
  silence: 'clusters:read',
  delivery: 'clusters:read',
  snapshot: 'clusters:read',
  user: 'users:manage',
  invitation: 'users:manage',
  waitlist: 'users:manage',
} as const satisfies Record<string, Scope | 'signed_in'>
export type EventKind = keyof typeof eventKinds
const eventVerbs = ['created', 'updated', 'removed'] as const
/**
 * `server.contacted` is sent at most every 10 s and contains the contacts since the previous event
 * as {server id → time}.
 */
export type EventName =
  | `${EventKind}.${(typeof eventVerbs)[number]}`
  | 'server.contacted'
  | 'resync'

export const Event = z.object({
  id: z.int(),
  at: time,
  object: z.object({ kind: z.string(), id: z.string(), version: z.nullable(z.int()) }),
  by: z.nullable(z.string()),
})
export type Event = z.infer<typeof Event>

/**
 * The stream sends a comment line after this long without an event, in ms. A client that receives
 * nothing for much longer has lost the connection.
 */
export const heartbeatMs = 2_000

export const eventStream = operation('eventStream', 'GET /v1/events', 'signed_in', {
  summary:
    'Server-sent events of every change that the caller may see, and a comment line at least every 2 s; resumes after `Last-Event-ID`; ends when the access token expires.',
  answer: z.string(),
  media: 'text/event-stream',
})

/** The live stream: it says what changed, the reader fetches it. */
import * as z from 'zod/mini'
import { operation } from './operation.ts'
import { time } from './page.ts'
import type { Scope } from './permissions.ts'

/** Kinds of objects that events tell of, and the scope that may hear them; null: those who may see what it is about decide by `target`. */
export const eventKinds = {
  server: 'servers:read',
  patch: 'servers:read',
  cluster: 'clusters:read',
  datacenter: 'datacenters:read',
  subnet: 'network:read',
  image: 'servers:read',
  join_token: 'servers:read',
  operation: 'signed_in',
  user: 'users:manage',
} as const satisfies Record<string, Scope | 'signed_in'>
export type EventKind = keyof typeof eventKinds
const eventVerbs = ['created', 'updated', 'removed'] as const
/** `server.contacted` goes out at most every 10 s and carries {id → time} of the contacts since. */
export type EventName = `${EventKind}.${(typeof eventVerbs)[number]}` | 'server.contacted' | 'resync'

export const Event = z.object({
  id: z.int(),
  at: time,
  object: z.object({ kind: z.string(), id: z.string(), version: z.nullable(z.int()) }),
  by: z.nullable(z.string()),
})
export type Event = z.infer<typeof Event>

/** The stream is never silent for longer, in ms: between events it carries comment lines. Who hears nothing for much longer knows that it is not live. */
export const heartbeatMs = 2_000

export const eventStream = operation({
  name: 'eventStream',
  summary:
    'Server-sent events of every change that the caller may see, and a comment line at least every 2 s; resumes after `Last-Event-ID`, ends with the access token.',
  route: 'GET /v1/events',
  scope: 'signed_in',
  answer: z.string(),
  media: 'text/event-stream',
})

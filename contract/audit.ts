/** Who did what to what, when, from where, with what result. Append-only; each entry carries the hash of the one before. */
import * as z from 'zod/mini'
import { operation } from './operation.ts'
import { listQuery, pageOf, time } from './page.ts'

export const AuditEntry = z.object({
  seq: z.int(),
  at: time,
  actor: z.nullable(z.string()),
  ip: z.nullable(z.string()),
  action: z.string(),
  target: z.nullable(z.object({ kind: z.string(), id: z.nullable(z.string()), name: z.nullable(z.string()) })),
  /** `ok`, or the code of the refusal. */
  result: z.string(),
  after: z.nullable(z.record(z.string(), z.unknown())),
  request_id: z.nullable(z.string()),
  /** SHA-256, hex, over this entry and the hash before it. */
  hash: z.string(),
})
export type AuditEntry = z.infer<typeof AuditEntry>

export const auditList = operation({
  name: 'auditList',
  summary: 'The audit log, newest first.',
  method: 'GET',
  path: '/v1/audit',
  scope: 'users:manage',
  query: z.strictObject({
    ...listQuery(['seq']),
    action: z.optional(z.string().check(z.maxLength(60))),
    target: z.optional(z.string().check(z.maxLength(64))),
    actor: z.optional(z.string().check(z.maxLength(254))),
  }),
  answer: pageOf(AuditEntry),
})

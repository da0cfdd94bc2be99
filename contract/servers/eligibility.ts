/** Whether a server can join a cluster, and the quarantine of servers that are not to be used. */
import * as z from 'zod/mini'
import { seen } from '../names.ts'
import { time } from '../page.ts'

/** Checks that a server must pass to join a cluster. */
export const eligibilityChecks = [
  'free',
  'quarantine',
  'reachable',
  'identity',
  'talos_version',
  'installed_version',
  'disks',
  'memory',
  'link',
  'management_address',
  'name',
] as const
export const Eligibility = z.object({
  check: z.enum(eligibilityChecks),
  ok: z.boolean(),
  reason: z.nullable(z.string()),
})
export type Eligibility = z.infer<typeof Eligibility>

/** A server in quarantine is contacted, but no cluster can get it. */
export const Quarantine = z.object({
  reason: z.string(),
  /** The email of the user who set it. */
  by: z.string(),
  since: time,
})
export type Quarantine = z.infer<typeof Quarantine>

export const NewQuarantine = z.strictObject({
  reason: z
    .string()
    .check(
      z.trim(),
      z.minLength(1, 'Say why the server is not to be used'),
      z.maxLength(200, 'The reason has at most 200 characters'),
      seen(),
    ),
})

/** "In quarantine since 2026-11-28 by grace@example.com: its disk fails" */
export const quarantineText = ({ reason, by, since }: Quarantine): string =>
  `In quarantine since ${since.slice(0, 10)} by ${by}: ${reason}`

/** Whether a server can join a cluster. */
import * as z from 'zod/mini'
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
/** The checks whose failure is only for now (`rule.ts`): the server may answer again by itself. */
export const checksForNow: ReadonlySet<(typeof eligibilityChecks)[number]> = new Set(['reachable'])
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

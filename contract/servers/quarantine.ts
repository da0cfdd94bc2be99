/** How servers are put into quarantine. Apart from what lists show of it, which pages load first. */
import * as z from 'zod/mini'
import { seen } from '../names.ts'
import type { Quarantine } from './eligibility.ts'

/** Most characters of the reason. */
export const quarantineReasonLength = 200

export const NewQuarantine = z.strictObject({
  reason: z
    .string()
    .check(
      z.trim(),
      z.minLength(1, 'Say why the server is not to be used'),
      z.maxLength(
        quarantineReasonLength,
        `The reason has at most ${quarantineReasonLength} characters`,
      ),
      seen(),
    ),
})

/** "In quarantine since 2026-11-28 23:14 UTC by grace@example.com: its disk fails" */
export const quarantineText = ({ reason, by, since }: Quarantine): string =>
  `In quarantine since ${since.slice(0, 10)} ${since.slice(11, 16)} UTC by ${by}: ${reason}`

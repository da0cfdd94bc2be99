/** What happened in a period, in short: entries of the history, counted by kind and outcome. */
import * as z from 'zod/mini'
import { time } from '../page.ts'
import { historyObjects, kindsOfHistory } from './kind-names.ts'

export const HistoryDigest = z.object({
  since: time,
  until: time,
  entries: z.int(),
  /** Whether there are more entries than were counted; then the newest were. */
  is_cut: z.boolean(),
  groups: z.array(
    z.object({
      kind: z.enum(kindsOfHistory),
      entries: z.int(),
      /** Number of servers, clusters and datacenters. */
      objects: z.int(),
      /** How many of the entries the simulation of the demo made up. */
      simulated: z.int(),
      outcomes: z.array(z.object({ outcome: z.string(), entries: z.int() })),
      last: z.object({
        at: time,
        object: z.object({ kind: z.enum(historyObjects), id: z.uuid(), name: z.string() }),
        message: z.string(),
      }),
    }),
  ),
})
export type HistoryDigest = z.infer<typeof HistoryDigest>

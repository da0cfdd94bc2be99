/** What happened in a period, in short: entries of the history, counted by kind and outcome. */
import * as z from 'zod/mini'
import { time } from '../page.ts'
import { type HistoryKind, kindsOfHistory } from './kinds.ts'
import { historyObjects } from './history.ts'

/** The value by which entries of a kind are counted apart, with the words of each value. */
export const outcomes: Partial<
  Record<HistoryKind, { readonly field: string; readonly words: Readonly<Record<string, string>> }>
> = {
  finding_began: {
    field: 'severity',
    words: { down: 'down', degraded: 'degraded', attention: 'to attend to' },
  },
  operation_ended: {
    field: 'status',
    words: { failed: 'failed', done: 'done', cancelled: 'cancelled' },
  },
  operation_attempt: { field: 'outcome', words: { failed: 'failed', done: 'succeeded' } },
  server_contact: { field: 'reachable', words: { false: 'lost', true: 'regained' } },
  server_node: { field: 'node_ready', words: { false: 'not Ready', true: 'Ready' } },
}

/** The kinds that are read first. The others follow in the order of their table. */
const first: readonly HistoryKind[] = [
  'finding_began',
  'finding_ended',
  'operation_ended',
  'server_contact',
  'server_failure',
  'server_boot',
  'cluster_status',
  'cluster_version',
  'server_version',
  'patch_changed',
  'patch_added',
  'patch_removed',
  'server_hardware',
  'server_joined',
  'server_membership',
]
/** All kinds, in the order of a digest. */
export const kindsOfDigest: readonly HistoryKind[] = [
  ...first,
  ...kindsOfHistory.filter((kind) => !first.includes(kind)),
]

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

/** How the kinds of entries are counted in a digest of the history. */
import { type HistoryKind, kindsOfHistory } from './kind-names.ts'

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

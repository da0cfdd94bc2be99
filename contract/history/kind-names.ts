/**
 * The names of the kinds of entries of the history. They are apart from their words (`kinds.ts`), so
 * that a page that only counts entries doesn't load the words.
 */
export const kindsOfHistory = [
  'server_added',
  'server_removed',
  'server_renamed',
  'server_address',
  'server_place',
  'server_rack',
  'server_contact',
  'server_stage',
  'server_membership',
  'server_joined',
  'server_node',
  'server_identity',
  'server_version',
  'server_hardware',
  'server_drift',
  'server_failure',
  'server_boot',
  'server_labels',
  'server_quarantine',
  'cluster_added',
  'cluster_removed',
  'cluster_status',
  'cluster_version',
  'cluster_endpoint',
  'cluster_labels',
  'finding_began',
  'finding_ended',
  'patch_added',
  'patch_changed',
  'patch_removed',
  'operation_requested',
  'operation_attempt',
  'operation_ended',
  'operation_retried',
  'restored',
] as const
export type HistoryKind = (typeof kindsOfHistory)[number]

/** Kinds of objects with a history, each with the scope that reads it (`findingObjects`). */
export const historyObjects = ['server', 'cluster', 'datacenter'] as const
export type HistoryObject = (typeof historyObjects)[number]

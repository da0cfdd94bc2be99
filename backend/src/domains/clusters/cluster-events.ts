/** Entries of the audit log about a cluster, as events for people. */
import type * as z from 'zod/mini'
import type { ClusterEvent } from '#contract/clusters/clusters.ts'
import { counted } from '#contract/words.ts'
import type { Audit } from '../audit/audit.ts'

export type ClusterEntry = Awaited<ReturnType<Audit['ofTarget']>>[number]

const sentences: Record<string, string> = {
  'cluster.created': 'Created',
  'cluster.ready': 'Ready for the first time',
  'cluster.delete_requested': 'Its deletion was asked for',
  'cluster.delete_forced': 'It was to be forgotten as it is',
  'cluster.removed': 'Removed',
  'cluster.server_failed': 'A server failed',
  'cluster.server_replaced': 'A server was replaced',
  'cluster.server_released': 'A server left',
  'cluster.server_forgotten': 'A server was forgotten',
  'cluster.subnets_assigned': 'Its subnets were changed',
  'cluster.announcements_corrected': 'The announcement of its addresses was put right',
  'cluster.versions_changed_outside': 'Its versions were changed outside of Steelyard',
  'cluster.locked_out': 'Its authority was changed outside of Steelyard',
  'cluster.let_in_again': 'Its machines take the certificates of Steelyard again',
  'cluster.imported': 'Taken over',
  'cluster.secrets_imported': 'New secrets were imported',
  'cluster.kubeconfig_downloaded': 'A kubeconfig was downloaded',
  'cluster.talosconfig_downloaded': 'A talosconfig was downloaded',
}

/** What the entry says beside its sentence. */
function detailOf(action: string, after: Record<string, unknown> | null): string | null {
  const text = (key: string): string | null => (typeof after?.[key] === 'string' ? after[key] : null)
  if (action === 'cluster.server_replaced') return `${text('replaced')} by ${text('by')}`
  if (action === 'cluster.versions_changed_outside') return `Talos ${text('talos_version')}, Kubernetes ${text('kubernetes_version')}`
  if (action === 'cluster.server_failed') return text('reason')
  if (action === 'cluster.server_released') return `${text('name')}, ${after?.['was_reset'] === true ? 'wiped' : 'as it was'}`
  if (action === 'cluster.server_forgotten') return text('name')
  if (action === 'cluster.subnets_assigned' && Array.isArray(after?.['subnets'])) return counted(after['subnets'].length, 'subnet')
  return null
}

export function clusterEvent({ seq, at, action, actor, result, after }: ClusterEntry): z.output<typeof ClusterEvent> {
  const detail = detailOf(action, after)
  const said = `${sentences[action] ?? action}${detail === null ? '' : `: ${detail}`}`
  return { id: `audit-${seq}`, at, type: action, message: result === 'ok' ? said : `${said}: refused (${result})`, by: actor }
}

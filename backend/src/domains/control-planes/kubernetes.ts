/** A cluster's Kubernetes API, and the marks of Steelyard on its nodes. */
import { isRecord } from '../../kubernetes/answers.ts'
import { type Kubernetes, kubernetes } from '../../kubernetes/client.ts'
import { type ClusterView, factsOf, isWanted, type Member } from './view.ts'

/** Control planes that stay in the cluster and have answered with the cluster's certificates. */
export const controlPlanesOf = <
  M extends Pick<Member, 'role' | 'secured_at' | 'wanted' | 'released_at'>,
>(
  members: readonly M[],
): M[] => members.filter((m) => m.role === 'control_plane' && m.secured_at !== null && isWanted(m))

export async function kubernetesOf(
  parts: ClusterView['parts'],
  { row, members }: ClusterView['state'],
): Promise<Kubernetes> {
  const facts = await factsOf(parts, parts.db, controlPlanesOf(members))
  return kubernetes(facts, (await parts.secrets.kubernetesAdmin(row.id))!, parts)
}

export const nodePath = (name: string) => `/api/v1/nodes/${encodeURIComponent(name)}`

/**
 * The annotation of a node that Steelyard has cordoned: the id of the operation. A node that
 * somebody else has cordoned stays cordoned.
 */
export const cordonedBy = 'steelyard.dev/cordoned-by'

export const isCordoned = (node: unknown): boolean =>
  isRecord(node) && isRecord(node['spec']) && node['spec']['unschedulable'] === true

export function hasOurMark(node: unknown): boolean {
  const metadata = isRecord(node) ? node['metadata'] : undefined
  const annotations = isRecord(metadata) ? metadata['annotations'] : undefined
  return isRecord(annotations) && annotations[cordonedBy] !== undefined
}

/** The node is cordoned, and Steelyard did it. */
export const isOurCordon = (node: unknown): boolean => isCordoned(node) && hasOurMark(node)

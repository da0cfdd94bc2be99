/** A cluster's Kubernetes API, and the objects that Steelyard maintains in the cluster. */
import { fieldManager, type Kubernetes, kubernetes } from '../../kubernetes/client.ts'
import { isRecord } from '../../kubernetes/answers.ts'
import { type CoreParts, factsOf } from './parts.ts'
import { isWanted, type MemberRow, type State } from './store.ts'

/** Control planes that stay in the cluster and have answered with the cluster's certificates. */
export const controlPlanesOf = (members: readonly MemberRow[]) =>
  members.filter((m) => m.role === 'control_plane' && m.secured_at !== null && isWanted(m))

export async function kubernetesOf(
  parts: CoreParts,
  { row, members }: Pick<State, 'row' | 'members'>,
): Promise<Kubernetes> {
  const facts = await factsOf(parts, parts.db, controlPlanesOf(members))
  return kubernetes(facts, (await parts.secrets.kubernetesAdmin(row.id))!, parts)
}

const labels = { 'app.kubernetes.io/managed-by': fieldManager }

/**
 * Kubernetes group of users with `secrets:read` who aren't admins. Only the group's binding grants
 * them access.
 */
export const operatorGroup = 'steelyard:operators'

export const secretsPath = '/api/v1/namespaces/kube-system/secrets'
export const clusterKeyPath = `${secretsPath}/steelyard-cluster-key`
const bindingsPath = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
export const operatorBindingPath = `${bindingsPath}/steelyard-operators`

/**
 * The Secret with the cluster's key, with which software in the cluster signs for the offer that
 * sells the cluster (`create/chain-key.ts`).
 */
export const clusterKeySecret = (key: { address: string; privateKeyHex: string }) => ({
  path: clusterKeyPath,
  collection: secretsPath,
  object: {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'steelyard-cluster-key', namespace: 'kube-system', labels },
    type: 'Opaque',
    data: {
      address: Buffer.from(key.address).toString('base64'),
      'private-key': Buffer.from(key.privateKeyHex).toString('base64'),
    },
  },
})

/**
 * The binding that gives operators access. Deleting it revokes access before the certificates
 * expire. Access of `system:masters` can't be revoked.
 */
export const operatorBinding = () => ({
  path: operatorBindingPath,
  collection: bindingsPath,
  object: {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'steelyard-operators', labels },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: operatorGroup }],
  },
})

/** The Secret of a bootstrap token. @param id the part of the token before the dot */
export const bootstrapTokenPath = (id: string): string => `${secretsPath}/bootstrap-token-${id}`
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

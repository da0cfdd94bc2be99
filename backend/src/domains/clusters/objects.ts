/** The objects that Steelyard maintains in a cluster's Kubernetes. */
import { fieldManager } from '../../kubernetes/client.ts'

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

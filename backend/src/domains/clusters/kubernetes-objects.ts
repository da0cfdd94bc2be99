/** What Steelyard keeps in every cluster that it made. */
import { fieldManager } from '../../kubernetes/client.ts'

const labels = { 'app.kubernetes.io/managed-by': fieldManager }

/** Group of people who hold `secrets:read` without being admins; its binding is the only thing that gives them anything. */
export const operatorGroup = 'steelyard:operators'

/** The cluster's key, for software that acts for the cluster's offer. */
export const clusterKeySecret = (key: { address: string; privateKeyHex: string }) => ({
  path: '/api/v1/namespaces/kube-system/secrets/steelyard-cluster-key',
  object: {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'steelyard-cluster-key', namespace: 'kube-system', labels },
    type: 'Opaque',
    data: { address: Buffer.from(key.address).toString('base64'), 'private-key': Buffer.from(key.privateKeyHex).toString('base64') },
  },
})

/** Unlike `system:masters`, a binding can be taken away from people whose certificates still live. */
export const operatorBinding = () => ({
  path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/steelyard-operators',
  object: {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'steelyard-operators', labels },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: operatorGroup }],
  },
})

export const nodePath = (name: string) => `/api/v1/nodes/${encodeURIComponent(name)}`

/** Types of objects that the simulated API server stores. Custom ones are added by creating a CustomResourceDefinition. */
export interface ResourceKind {
  group: string
  version: string
  plural: string
  kind: string
  namespaced: boolean
  /** Its status is a subresource: only controllers write it. */
  hasStatus: boolean
}

const kinds = (group: string, version: string, namespaced: boolean, list: string): ResourceKind[] =>
  list.split(' ').map((entry) => {
    const [plural = '', kind = ''] = entry.split(':')
    return { group, version, plural, kind, namespaced, hasStatus: plural === 'services' }
  })

export const BUILT_IN: readonly ResourceKind[] = [
  ...kinds('', 'v1', false, 'namespaces:Namespace nodes:Node persistentvolumes:PersistentVolume'),
  ...kinds(
    '',
    'v1',
    true,
    'secrets:Secret configmaps:ConfigMap serviceaccounts:ServiceAccount services:Service endpoints:Endpoints pods:Pod events:Event persistentvolumeclaims:PersistentVolumeClaim',
  ),
  ...kinds('apps', 'v1', true, 'deployments:Deployment daemonsets:DaemonSet statefulsets:StatefulSet replicasets:ReplicaSet'),
  ...kinds('batch', 'v1', true, 'jobs:Job cronjobs:CronJob'),
  ...kinds('rbac.authorization.k8s.io', 'v1', false, 'clusterroles:ClusterRole clusterrolebindings:ClusterRoleBinding'),
  ...kinds('rbac.authorization.k8s.io', 'v1', true, 'roles:Role rolebindings:RoleBinding'),
  ...kinds('apiextensions.k8s.io', 'v1', false, 'customresourcedefinitions:CustomResourceDefinition'),
  ...kinds('networking.k8s.io', 'v1', true, 'networkpolicies:NetworkPolicy ingresses:Ingress'),
]

export const apiVersionOf = ({ group, version }: ResourceKind): string => (group === '' ? version : `${group}/${version}`)

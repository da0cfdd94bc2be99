/** Kinds whose status is a subresource, which only controllers write. */
const WITH_STATUS = new Set(
  'services nodes pods poddisruptionbudgets deployments daemonsets statefulsets replicasets'.split(
    ' ',
  ),
)

/** A kind of the simulated API server. A CustomResourceDefinition adds custom kinds. */
export type ResourceKind = ReturnType<typeof kinds>[number]

/** Names an object: its kind, its namespace ('' without one) and its name. */
export interface Target {
  kind: ResourceKind
  namespace: string
  name: string
}

/**
 * Parses a list of kinds. Each entry is `plural:Kind:shortName…`, followed by `:all` if the kind
 * belongs to the category `all` of kubectl.
 */
const kinds = (group: string, version: string, namespaced: boolean, list: string) =>
  list.split(' ').map((entry) => {
    const [plural = '', kind = '', ...more] = entry.split(':')
    const shortNames = more.filter((name) => name !== 'all')
    return {
      group,
      version,
      plural,
      kind,
      namespaced,
      hasStatus: WITH_STATUS.has(plural),
      shortNames,
      categories: more.includes('all') ? ['all'] : [],
    }
  })

export const BUILT_IN: readonly ResourceKind[] = [
  ...kinds(
    '',
    'v1',
    false,
    'namespaces:Namespace:ns nodes:Node:no persistentvolumes:PersistentVolume:pv',
  ),
  ...kinds(
    '',
    'v1',
    true,
    'secrets:Secret configmaps:ConfigMap:cm serviceaccounts:ServiceAccount:sa services:Service:svc:all endpoints:Endpoints:ep pods:Pod:po:all events:Event:ev persistentvolumeclaims:PersistentVolumeClaim:pvc resourcequotas:ResourceQuota:quota limitranges:LimitRange:limits',
  ),
  ...kinds(
    'apps',
    'v1',
    true,
    'deployments:Deployment:deploy:all daemonsets:DaemonSet:ds:all statefulsets:StatefulSet:sts:all replicasets:ReplicaSet:rs:all',
  ),
  ...kinds('batch', 'v1', true, 'jobs:Job:all cronjobs:CronJob:cj:all'),
  ...kinds(
    'rbac.authorization.k8s.io',
    'v1',
    false,
    'clusterroles:ClusterRole clusterrolebindings:ClusterRoleBinding',
  ),
  ...kinds('rbac.authorization.k8s.io', 'v1', true, 'roles:Role rolebindings:RoleBinding'),
  ...kinds(
    'apiextensions.k8s.io',
    'v1',
    false,
    'customresourcedefinitions:CustomResourceDefinition:crd:crds',
  ),
  ...kinds(
    'networking.k8s.io',
    'v1',
    true,
    'networkpolicies:NetworkPolicy:netpol ingresses:Ingress:ing',
  ),
  ...kinds('coordination.k8s.io', 'v1', true, 'leases:Lease'),
  ...kinds('discovery.k8s.io', 'v1', true, 'endpointslices:EndpointSlice'),
  ...kinds('policy', 'v1', true, 'poddisruptionbudgets:PodDisruptionBudget:pdb'),
  ...kinds('storage.k8s.io', 'v1', false, 'storageclasses:StorageClass:sc'),
]

/** A built-in kind by its plural name. */
export const builtIn = (plural: string): ResourceKind =>
  BUILT_IN.find((kind) => kind.plural === plural)!

export const apiVersionOf = ({ group, version }: Pick<ResourceKind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`

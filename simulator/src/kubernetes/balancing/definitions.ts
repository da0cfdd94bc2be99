import type { ResourceKind } from '../kinds.ts'

/** Load balancers of Services. */
export const LOAD_BALANCERS = ['cilium', 'metallb', 'none'] as const
export type LoadBalancer = (typeof LOAD_BALANCERS)[number]

export const METALLB_NAMESPACE = 'metallb-system'

/** `spec` has the fields of its schema. */
const definition = (group: string, versions: string[], plural: string, kind: string, namespaced: boolean, spec: string) => {
  return { group, versions, plural, kind, namespaced, spec: spec.split(' ') }
}

const CILIUM = [
  definition(
    'cilium.io',
    ['v2', 'v2alpha1'],
    'ciliumloadbalancerippools',
    'CiliumLoadBalancerIPPool',
    false,
    'allowFirstLastIPs blocks disabled serviceSelector',
  ),
  definition(
    'cilium.io',
    ['v2alpha1'],
    'ciliuml2announcementpolicies',
    'CiliumL2AnnouncementPolicy',
    false,
    'externalIPs interfaces loadBalancerIPs nodeSelector serviceSelector',
  ),
]
const METALLB = [
  definition('metallb.io', ['v1beta1'], 'ipaddresspools', 'IPAddressPool', true, 'addresses autoAssign avoidBuggyIPs serviceAllocation'),
  definition(
    'metallb.io',
    ['v1beta1'],
    'l2advertisements',
    'L2Advertisement',
    true,
    'interfaces ipAddressPoolSelectors ipAddressPools nodeSelectors serviceSelectors',
  ),
]

const DEFINITIONS: Record<LoadBalancer, ReturnType<typeof definition>[]> = { cilium: CILIUM, metallb: METALLB, none: [] }

/** The custom resource definitions of a load balancer. */
export const definitionsOf = (which: LoadBalancer): Record<string, unknown>[] =>
  DEFINITIONS[which].map(({ group, versions, plural, kind, namespaced, spec }) => ({
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: versions.map((name, order) => ({
        name,
        served: true,
        storage: order === 0,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: Object.fromEntries(spec.map((field) => [field, { 'x-kubernetes-preserve-unknown-fields': true }])) },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
        subresources: { status: {} },
      })),
    },
    status: { acceptedNames: { plural, kind }, conditions: [{ type: 'Established', status: 'True', reason: 'InitialNamesAccepted' }] },
  }))

const kindOf = ({ group, versions, plural, kind, namespaced }: ReturnType<typeof definition>): ResourceKind => ({
  group,
  version: versions[0] ?? '',
  plural,
  kind,
  namespaced,
  hasStatus: true,
  shortNames: [],
  categories: [],
})
export const CILIUM_POOLS = kindOf(CILIUM[0]!)
export const METALLB_POOLS = kindOf(METALLB[0]!)

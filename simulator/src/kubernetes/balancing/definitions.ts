import type { ResourceKind } from '../kinds.ts'

/** Load balancers of Services. */
export const LOAD_BALANCERS = ['cilium', 'metallb', 'none'] as const
export type LoadBalancer = (typeof LOAD_BALANCERS)[number]

export const METALLB_NAMESPACE = 'metallb-system'

interface Definition {
  group: string
  versions: string[]
  plural: string
  kind: string
  namespaced: boolean
  /** Fields of `spec` in its schema. */
  spec: string[]
}

const CILIUM: Definition[] = [
  {
    group: 'cilium.io',
    versions: ['v2', 'v2alpha1'],
    plural: 'ciliumloadbalancerippools',
    kind: 'CiliumLoadBalancerIPPool',
    namespaced: false,
    spec: ['allowFirstLastIPs', 'blocks', 'disabled', 'serviceSelector'],
  },
  {
    group: 'cilium.io',
    versions: ['v2alpha1'],
    plural: 'ciliuml2announcementpolicies',
    kind: 'CiliumL2AnnouncementPolicy',
    namespaced: false,
    spec: ['externalIPs', 'interfaces', 'loadBalancerIPs', 'nodeSelector', 'serviceSelector'],
  },
]
const METALLB: Definition[] = [
  {
    group: 'metallb.io',
    versions: ['v1beta1'],
    plural: 'ipaddresspools',
    kind: 'IPAddressPool',
    namespaced: true,
    spec: ['addresses', 'autoAssign', 'avoidBuggyIPs', 'serviceAllocation'],
  },
  {
    group: 'metallb.io',
    versions: ['v1beta1'],
    plural: 'l2advertisements',
    kind: 'L2Advertisement',
    namespaced: true,
    spec: ['interfaces', 'ipAddressPoolSelectors', 'ipAddressPools', 'nodeSelectors', 'serviceSelectors'],
  },
]

const DEFINITIONS: Record<LoadBalancer, Definition[]> = { cilium: CILIUM, metallb: METALLB, none: [] }

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

const kindOf = ({ group, versions, plural, kind, namespaced }: Definition): ResourceKind => ({
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

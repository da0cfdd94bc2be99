import type { ResourceKind } from '../kinds.ts'

/** Load balancers of Services. */
export const LOAD_BALANCERS = ['cilium', 'metallb', 'none'] as const
export type LoadBalancer = (typeof LOAD_BALANCERS)[number]

export const METALLB_NAMESPACE = 'metallb-system'

/**
 * Describes custom kinds of a group. The argument `spec` lists the fields of `spec` in the kind's
 * schema.
 */
const inGroup =
  (group: string, namespaced: boolean) =>
  (plural: string, kind: string, versions: string, spec: string) => {
    return { group, namespaced, plural, kind, versions: versions.split(' '), spec: spec.split(' ') }
  }
const cilium = inGroup('cilium.io', false)
const metallb = inGroup('metallb.io', true)

const CILIUM = [
  cilium(
    'ciliumloadbalancerippools',
    'CiliumLoadBalancerIPPool',
    'v2 v2alpha1',
    'allowFirstLastIPs blocks disabled serviceSelector',
  ),
  cilium(
    'ciliuml2announcementpolicies',
    'CiliumL2AnnouncementPolicy',
    'v2alpha1',
    'externalIPs interfaces loadBalancerIPs nodeSelector serviceSelector',
  ),
]
const METALLB = [
  metallb(
    'ipaddresspools',
    'IPAddressPool',
    'v1beta1',
    'addresses autoAssign avoidBuggyIPs serviceAllocation',
  ),
  metallb(
    'l2advertisements',
    'L2Advertisement',
    'v1beta1',
    'interfaces ipAddressPoolSelectors ipAddressPools nodeSelectors serviceSelectors',
  ),
]

const DEFINITIONS: Record<LoadBalancer, ReturnType<typeof cilium>[]> = {
  cilium: CILIUM,
  metallb: METALLB,
  none: [],
}

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
              spec: {
                type: 'object',
                properties: Object.fromEntries(
                  spec.map((field) => [field, { 'x-kubernetes-preserve-unknown-fields': true }]),
                ),
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
        subresources: { status: {} },
      })),
    },
    status: {
      acceptedNames: { plural, kind },
      conditions: [{ type: 'Established', status: 'True', reason: 'InitialNamesAccepted' }],
    },
  }))

const kindOf = ({
  group,
  versions,
  plural,
  kind,
  namespaced,
}: ReturnType<typeof cilium>): ResourceKind => ({
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

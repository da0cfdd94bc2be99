/**
 * The objects for a cluster's load balancer: a pure function of the cluster's subnets and of the
 * load balancer's API.
 *
 * A pool lists exactly the addresses that may be assigned, as ranges with a start and an end: the
 * CIDR without its first and last address (unless these are wanted), without gateway and
 * exclusions. A plain CIDR isn't used, because MetalLB would assign the gateway's address, and
 * Cilium has its own rule for the first and last address of a CIDR.
 */
import { stringify } from 'yaml'
import { formatAddress } from '#contract/network/addresses.ts'
import type { Range } from '#contract/network/address-ranges.ts'
import { piecesOf, type SubnetText } from '#contract/network/subnet-rules.ts'
import { fieldManager } from '../../kubernetes/client.ts'

/** A cluster's load balancer, and the versions of its API that the cluster serves. */
export type PoolApi =
  | {
      readonly provider: 'cilium'
      readonly pools: CiliumVersion
      /** Null: the API is not served, so nothing is announced on layer 2. */ readonly announcements: CiliumVersion | null
    }
  | { readonly provider: 'metallb'; readonly announcements: boolean }
/**
 * `CiliumLoadBalancerIPPool` is v2 since Cilium 1.18 and v2alpha1 before;
 * `CiliumL2AnnouncementPolicy` is v2alpha1.
 */
export type CiliumVersion = 'v2' | 'v2alpha1'

/** The APIs that are assumed if a cluster can't be queried. */
export const usualApi = {
  cilium: { provider: 'cilium', pools: 'v2', announcements: 'v2alpha1' },
  metallb: { provider: 'metallb', announcements: true },
} as const satisfies Record<string, PoolApi>

export interface PoolSubnet extends SubnetText {
  readonly id: string
  /** No new addresses are assigned; addresses in use stay. */
  readonly draining: boolean
}

/** Servers whose workload links have the same name. */
export interface LinkGroup {
  /** Null: unknown, so every link is used. */
  readonly interface: string | null
  /** Names of the Kubernetes nodes. */
  readonly nodes: readonly string[]
}

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels: Readonly<Record<string, string>>
  }
  readonly spec: Readonly<Record<string, unknown>>
}

export interface Manifest {
  /** API path that lists the kind; the object's path is `<collection>/<name>`. */
  readonly collection: string
  readonly object: KubernetesObject
}
export const pathOf = ({ collection, object }: Manifest): string =>
  `${collection}/${object.metadata.name}`

export interface Rendered {
  /** One pool per subnet, in the order of the subnets. */
  readonly pools: readonly Manifest[]
  /**
   * Objects that announce the addresses on the servers' links: by ARP for IPv4, by NDP for IPv6.
   */
  readonly announcements: readonly Manifest[]
}

/** MetalLB reads only objects in its own namespace (its documentation, "Configuration"). */
const metallbNamespace = 'metallb-system'
export const labels = { 'app.kubernetes.io/managed-by': fieldManager }

export const poolName = (subnetId: string): string => `subnet-${subnetId}`
export const poolCollection = (api: PoolApi): string =>
  api.provider === 'cilium'
    ? `/apis/cilium.io/${api.pools}/ciliumloadbalancerippools`
    : `/apis/metallb.io/v1beta1/namespaces/${metallbNamespace}/ipaddresspools`
/** Null if the load balancer's API has no objects for announcements in this cluster. */
export function announcementCollection(api: PoolApi): string | null {
  if (api.provider === 'cilium')
    return api.announcements && `/apis/cilium.io/${api.announcements}/ciliuml2announcementpolicies`
  return api.announcements
    ? `/apis/metallb.io/v1beta1/namespaces/${metallbNamespace}/l2advertisements`
    : null
}

/** A cluster as the owner of announcements. */
export interface Announcer {
  readonly id: string
  readonly taken_over: boolean
}

/**
 * Label of announcements in a cluster that was taken over: the id that this Steelyard gave the
 * cluster. Another Steelyard's id of the cluster differs.
 */
export const announcerLabel = 'steelyard.dev/cluster'

export function render(
  subnets: readonly PoolSubnet[],
  api: PoolApi,
  links: readonly LinkGroup[],
  cluster: Announcer,
): Rendered {
  return {
    pools: subnets.map((subnet) => poolOf(subnet, api)),
    announcements: subnets.length === 0 ? [] : announcementsOf(subnets, api, links, cluster),
  }
}

export const renderPool = (subnet: PoolSubnet, api: PoolApi): Manifest => poolOf(subnet, api)

const ends = ({ family, first, last }: Range) => ({
  start: formatAddress({ family, value: first }),
  stop: formatAddress({ family, value: last }),
})

function poolOf(subnet: PoolSubnet, api: PoolApi): Manifest {
  const pieces = piecesOf(subnet).map(ends)
  const metadata = { name: poolName(subnet.id), labels }
  if (api.provider === 'cilium')
    return {
      collection: poolCollection(api),
      object: {
        apiVersion: `cilium.io/${api.pools}`,
        kind: 'CiliumLoadBalancerIPPool',
        metadata,
        spec: {
          // The default is Yes. The field concerns only blocks that are CIDRs; in ranges like ours
          // Cilium reserves no address (operator/pkg/lbipam).
          allowFirstLastIPs: subnet.first_and_last ? 'Yes' : 'No',
          blocks: pieces,
          disabled: subnet.draining,
        },
      },
    }
  return {
    collection: poolCollection(api),
    object: {
      apiVersion: 'metallb.io/v1beta1',
      kind: 'IPAddressPool',
      metadata: { ...metadata, namespace: metallbNamespace },
      spec: {
        addresses: pieces.map(({ start, stop }) => `${start}-${stop}`),
        autoAssign: !subnet.draining,
        avoidBuggyIPs: false,
      },
    },
  }
}

/**
 * One object per name of a workload link, limited to the servers with this link: on other servers
 * the name may belong to another network.
 */
function announcementsOf(
  subnets: readonly PoolSubnet[],
  api: PoolApi,
  links: readonly LinkGroup[],
  { id, taken_over }: Announcer,
): Manifest[] {
  const collection = announcementCollection(api)
  if (collection === null) return []
  const groups: readonly LinkGroup[] = links.length === 0 ? [{ interface: null, nodes: [] }] : links
  const taken = new Set<string>()
  const base = taken_over ? `steelyard-${id.slice(-12)}` : 'steelyard'
  return groups.map((group) => {
    const hosts =
      groups.length > 1
        ? {
            matchExpressions: [
              { key: 'kubernetes.io/hostname', operator: 'In', values: [...group.nodes] },
            ],
          }
        : null
    const metadata = {
      name: announcementName(base, group, groups.length, taken),
      labels: taken_over ? { ...labels, [announcerLabel]: id } : labels,
    }
    if (api.provider === 'cilium')
      return {
        collection,
        object: {
          apiVersion: `cilium.io/${api.announcements}`,
          kind: 'CiliumL2AnnouncementPolicy',
          metadata,
          spec: {
            ...(hosts && { nodeSelector: hosts }),
            ...(group.interface !== null && {
              interfaces: [
                `^${group.interface.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}$`,
              ],
            }),
            loadBalancerIPs: true,
            externalIPs: false,
          },
        },
      }
    return {
      collection,
      object: {
        apiVersion: 'metallb.io/v1beta1',
        kind: 'L2Advertisement',
        metadata: { ...metadata, namespace: metallbNamespace },
        spec: {
          ipAddressPools: subnets.map((s) => poolName(s.id)),
          ...(hosts && { nodeSelectors: [hosts] }),
          ...(group.interface !== null && { interfaces: [group.interface] }),
        },
      },
    }
  })
}

/**
 * The base, or `<base>-<link>` if there are several groups, so that the name doesn't depend on the
 * other groups' links (RFC 1123 label).
 */
function announcementName(
  base: string,
  group: LinkGroup,
  groups: number,
  taken: Set<string>,
): string {
  if (groups === 1) return base
  const link = (group.interface ?? 'any')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
  let name = `${base}-${link || 'link'}`
  for (let n = 2; taken.has(name); n++) name = `${base}-${link || 'link'}-${n}`
  taken.add(name)
  return name
}

/**
 * Groups servers by workload link: the VLAN's link if the cluster has a VLAN, else the link that
 * was chosen for each server.
 */
export function linkGroups(
  nodes: readonly { readonly name: string; readonly interface: string | null }[],
  vlanId: number | null,
): LinkGroup[] {
  // The link that is made for the workload's VLAN has this name on every server.
  if (vlanId !== null) return [{ interface: `vlan${vlanId}`, nodes: nodes.map((n) => n.name) }]
  return [...Map.groupBy(nodes, (n) => n.interface)]
    .map(([link, members]) => ({ interface: link, nodes: members.map((n) => n.name).toSorted() }))
    .toSorted((a, b) => ((a.interface ?? '') < (b.interface ?? '') ? -1 : 1))
}

/**
 * The objects as YAML 1.1, which kubectl reads: `No` is quoted there, because a bare `No` means
 * false.
 */
const text = ({ pools, announcements }: Rendered): string =>
  [...pools, ...announcements]
    .map((m) => stringify(m.object, { lineWidth: 0, compat: 'yaml-1.1' }))
    .join('---\n')

/**
 * YAML of the cluster's objects for its subnets. If the load balancer is unknown, the text has the
 * objects for both kinds. Empty without subnets.
 */
export function manifestText(
  subnets: readonly PoolSubnet[],
  api: PoolApi | null,
  links: readonly LinkGroup[],
  cluster: Announcer,
): string {
  if (subnets.length === 0) return ''
  if (api) return text(render(subnets, api, links, cluster))
  return `# For Cilium\n${text(render(subnets, usualApi.cilium, links, cluster))}---\n# For MetalLB\n${text(render(subnets, usualApi.metallb, links, cluster))}`
}

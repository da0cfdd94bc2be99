/**
 * Rules that compare a subnet with other objects. Pure, so that a single change and an import of
 * thousands of rows are checked in the same way.
 */
import {
  type Address,
  formatAddress,
  parseAddress,
  parseCidr,
} from '#contract/network/addresses.ts'
import { inRange } from '#contract/network/address-ranges.ts'
import { type ErrorCode, Problem, type Related } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import { isPrivate, piecesOf, type SubnetText } from '#contract/network/subnet-rules.ts'
import { canChangeCidr, canChangePurpose, type Subnet } from '#contract/network/subnets.ts'
import type { Neighbours } from './neighbours.ts'
import type { Neighbour, Use } from './store.ts'
import type { SubnetRow } from './store-read.ts'
import type { Wanted } from './present.ts'

export interface Finding {
  readonly code: ErrorCode
  /** Field of the request. */
  readonly field: string
  readonly message: string
  readonly related?: Related
}

/** The scope in which a CIDR must be unique, like the database's `subnet.scope`. */
export const scopeOf = (cidr: string, datacenterId: string): string =>
  isPrivate(parseCidr(cidr)!) ? datacenterId : 'public'

export const nameTaken: Finding = {
  code: 'name_taken',
  field: 'name',
  message: nameSentences('Subnet').taken,
}

export const overlaps = (other: Neighbour): Finding => ({
  code: 'subnet_overlap',
  field: 'cidr',
  message: `Overlaps with subnet ${other.name} (${other.cidr}) in ${other.datacenter_code}`,
  related: { kind: 'subnet', id: other.id, name: other.name },
})

/** Finding if the CIDR or the purpose of an assigned subnet would change. */
export function fixedWhileAssigned(
  before: Pick<SubnetRow, 'cidr' | 'purpose' | 'clusters' | 'used'>,
  { cidr, purpose }: Pick<Wanted, 'cidr' | 'purpose'>,
): Finding | undefined {
  const [cluster] = before.clusters
  const related = cluster && { related: { kind: 'cluster', ...cluster } as const }
  const ofCidr =
    cidr === before.cidr ? undefined : canChangeCidr({ ...before, clusters: [...before.clusters] })
  if (ofCidr?.ok === false)
    return { code: 'subnet_assigned', field: 'cidr', message: ofCidr.reason, ...related }
  const ofPurpose =
    purpose === before.purpose
      ? undefined
      : canChangePurpose({ ...before, clusters: [...before.clusters] })
  return ofPurpose?.ok === false
    ? { code: 'subnet_assigned', field: 'purpose', message: ofPurpose.reason, ...related }
    : undefined
}

/**
 * Finding if the subnet overlaps a cluster's pod or service network: traffic to its addresses would
 * reach pods or services instead of the subnet.
 */
export function shadowedBy(wanted: Wanted, near: Neighbours): Finding | undefined {
  const shadow = near.shadow(parseCidr(wanted.cidr)!, wanted.datacenter_id)
  return (
    shadow && {
      code: 'conflict',
      field: 'cidr',
      message: `Overlaps with the ${shadow.what} network ${shadow.network} of cluster ${shadow.cluster.name}`,
      related: { kind: 'cluster', id: shadow.cluster.id, name: shadow.cluster.name },
    }
  )
}

/** Whether an address may be assigned from `after`, but not from `before`. */
function newly(after: SubnetText, before: SubnetText | null): (address: Address) => boolean {
  const now = piecesOf(after)
  const then = before === null ? [] : piecesOf(before)
  return (address) => now.some((p) => inRange(p, address)) && !then.some((p) => inRange(p, address))
}

/**
 * Finding if a cluster could assign a server's own address. Only addresses that the change adds
 * count.
 */
export function containsServer(
  wanted: Wanted,
  before: (SubnetText & { purpose: Subnet['purpose'] }) | null,
  near: Neighbours,
): Finding | undefined {
  if (wanted.purpose !== 'workload') return undefined
  const servers = near.serversIn(parseCidr(wanted.cidr)!, wanted.datacenter_id)
  if (servers.length === 0) return undefined
  const isNew = newly(wanted, before?.purpose === 'workload' ? before : null)
  const server = servers.find((s) => isNew(s.parsed))
  return (
    server && {
      code: 'conflict',
      field: 'cidr',
      message: `Contains ${server.address}, the address of server ${server.name}. Exclude it first`,
      related: { kind: 'server', id: server.node_id, name: server.name },
    }
  )
}

/** Finding if a Service could get the virtual IP of a cluster's Kubernetes API. */
export function containsEndpoint(
  wanted: Wanted,
  before: (SubnetText & { purpose: Subnet['purpose'] }) | null,
  near: Neighbours,
): Finding | undefined {
  if (wanted.purpose !== 'workload') return undefined
  const isNew = newly(wanted, before?.purpose === 'workload' ? before : null)
  const found = near.endpointsIn(wanted.datacenter_id).find(({ parsed }) => isNew(parsed))
  return (
    found && {
      code: 'conflict',
      field: 'cidr',
      message: `Contains ${formatAddress(found.parsed)}, the virtual IP of cluster ${found.cluster.name}. Exclude it first`,
      related: { kind: 'cluster', id: found.cluster.id, name: found.cluster.name },
    }
  )
}

/** Maximum number of addresses in a sentence. */
const mostListed = 10

/** Finding if a cluster uses addresses that may no longer be assigned after the change. */
export function takesUsed(
  wanted: Wanted,
  before: SubnetText,
  clusters: SubnetRow['clusters'],
  uses: readonly Use[],
): Finding | undefined {
  const isLost = newly(before, wanted)
  const lost = [
    ...new Map(
      uses.filter((u) => isLost(parseAddress(u.address)!)).map((u) => [u.address, u]),
    ).values(),
  ]
  const [first] = lost
  if (!first) return undefined
  const listed = lost.slice(0, mostListed).map((u) => `${u.address} (${u.used_by})`)
  const more = lost.length > mostListed ? ` and ${lost.length - mostListed} more` : ''
  const cluster = clusters.find((c) => c.name === first.cluster_name)
  return {
    code: 'subnet_in_use',
    field:
      wanted.gateway !== before.gateway && lost.some((u) => u.address === wanted.gateway)
        ? 'gateway'
        : 'exclude',
    message: `In use by cluster ${first.cluster_name}: ${listed.join(', ')}${more}. Free ${lost.length === 1 ? 'it' : 'them'} first`,
    ...(cluster && { related: { kind: 'cluster', ...cluster } }),
  }
}

export const asProblem = ({ code, field, message, related }: Finding): Problem =>
  new Problem(code, message, { [field]: message }, undefined, related)

export function demand(finding: Finding | undefined): void {
  if (finding) throw asProblem(finding)
}

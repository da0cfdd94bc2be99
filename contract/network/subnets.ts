/**
 * Subnets: public or private address space that the provider routes to a datacenter's servers. A
 * workload subnet is the address pool of one cluster; a management subnet contains the servers' own
 * addresses and may be shared by several clusters.
 */
import * as z from 'zod/mini'
import { catch as fallback } from 'zod/mini'
import { importAnswer, importBody } from '../csv/imports.ts'
import { addressStates } from './address-map.ts'
import { list, narrowingOf } from '../list.ts'
import { nameOf } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import { type Answer, operation, type Words } from '../operation.ts'
import { begun } from '../operations.ts'
import { time, wholeIn } from '../page.ts'
import { type Limit, no, type Verdict, yes } from '../rule.ts'
import { Subnet, subnetPurposes, subnetStatuses } from './subnet.ts'
import { mostExclusions, subnetProblems, tooManyExclusions } from './subnet-rules.ts'
import { counted } from '../words.ts'

export { Subnet, subnetPurposes, subnetStatuses, type SubnetStatus } from './subnet.ts'

const poolProviders = ['cilium', 'metallb'] as const
export type PoolProvider = (typeof poolProviders)[number]

export const wrongVlan = 'VLAN ID must be a whole number from 1 to 4094'
const vlan = wholeIn(1, 4094, wrongVlan)
const gateway = z.nullable(
  z.string().check(z.trim(), z.maxLength(64, 'Gateway must be an IP address')),
)
const exclude = z
  .array(z.string().check(z.maxLength(2000, 'A line has at most 2000 characters')))
  .check(z.maxLength(mostExclusions, tooManyExclusions))
const declared = z.strictObject({
  name: nameOf('Subnet'),
  datacenter_id: z.uuid('Choose a datacenter'),
  cidr: z
    .string('CIDR is required')
    .check(
      z.trim(),
      z.maxLength(64, 'Enter a subnet in CIDR notation, for example 203.0.113.0/24'),
    ),
  gateway: z._default(gateway, null),
  vlan_id: z._default(z.nullable(vlan), null),
  exclude: z._default(exclude, []),
  first_and_last: z._default(z.boolean(), false),
  purpose: z._default(z.enum(subnetPurposes), 'workload'),
})

/**
 * The fields that the rules need, parsed separately from the others, so that a wrong name doesn't
 * hide a wrong CIDR.
 */
const Ruled = z.object({
  cidr: z.string(),
  gateway: fallback(z.nullable(z.string()), null),
  exclude: fallback(z.array(z.string()), []),
  first_and_last: fallback(z.boolean(), false),
})

export const NewSubnet = declared.check(
  z.check(
    (context) => {
      const { data } = z.safeParse(Ruled, context.value)
      const fields = data ? subnetProblems({ ...data, vlan_id: null }).fields : {}
      for (const [field, message] of Object.entries(fields))
        context.issues.push({ code: 'custom', path: [field], message, input: context.value })
    },
    { when: () => true },
  ),
)
export type NewSubnet = z.infer<typeof NewSubnet>

/**
 * The datacenter can't be changed. Rules that concern several fields are checked after these fields
 * were merged with the stored ones.
 */
const change = z.strictObject({
  name: z.optional(declared.shape.name),
  cidr: z.optional(declared.shape.cidr),
  gateway: z.optional(gateway),
  vlan_id: z.optional(z.nullable(vlan)),
  exclude: z.optional(exclude),
  first_and_last: z.optional(z.boolean()),
  purpose: z.optional(z.enum(subnetPurposes)),
})
export type SubnetChange = z.infer<typeof change>

const subnets = list<Subnet>()({
  nouns: ['subnet', 'subnets'],
  large: { exclude: [], clusters: [] },
  columns: {
    name: { label: 'Name', sort: true, value: (s: Subnet) => s.name },
    type: { label: 'Type', sort: true, value: (s: Subnet) => s.type },
    cidr: { label: 'CIDR', kind: 'mono', sort: true, value: (s: Subnet) => s.cidr },
    gateway: { label: 'Gateway', kind: 'mono', sort: true, value: (s: Subnet) => s.gateway },
    vlan_id: { label: 'VLAN', kind: 'number', sort: true, value: (s: Subnet) => s.vlan_id },
    datacenter: { label: 'Datacenter', sort: true, value: (s: Subnet) => s.datacenter.code },
    cluster: {
      label: 'Cluster',
      sort: true,
      value: (s: Subnet) => s.clusters.map((c) => c.name).join(', ') || null,
    },
    used: { label: 'Used', sort: true },
    status: { label: 'Status', sort: true },
  },
  filters: {
    cluster: {
      label: 'Cluster',
      help: 'Only subnets of this cluster, by name or id',
      placeholder: 'NAME',
    },
    datacenter: {
      label: 'Datacenter',
      help: 'Only subnets in this datacenter, by code or id',
      placeholder: 'CODE',
    },
    status: { label: 'Status', help: 'Only subnets with this status', choices: subnetStatuses },
    type: { label: 'Type', help: 'Only subnets of this type', choices: ['IPv4', 'IPv6'] },
    purpose: { label: 'Purpose', help: 'Only subnets with this purpose', choices: subnetPurposes },
  },
  order: 'name',
})

const calls = callsOf(
  'subnet',
  '/v1/subnets',
  { read: 'network:read', write: 'network:write' },
  Subnet,
)
export const subnetLimit: Limit = {
  most: 20_000,
  nouns: 'subnets',
  remedy: 'remove subnets that are not used any more',
}

export const subnetList = calls.list(
  subnets,
  'Subnets with their utilisation. `q` searches for part of a name, for a CIDR or for an address; an address finds the subnet that contains it.',
)
export const subnetGet = calls.get('One subnet.')
export const subnetCreate = calls.create({
  summary:
    'Add a subnet. A private range must not overlap another subnet of its datacenter; a public range must not overlap any subnet.',
  body: NewSubnet,
  errors: ['not_found', 'name_taken', 'subnet_overlap'],
})
export const subnetUpdate = calls.update({
  summary:
    'Change a subnet. Its CIDR is fixed while it is assigned, and no address in use can be excluded.',
  body: change,
  errors: [
    'name_taken',
    'subnet_overlap',
    'subnet_assigned',
    'subnet_in_use',
    'stale',
    'held_by_files',
  ],
})
export const subnetRemove = calls.remove('Remove a subnet that is assigned to no cluster.', [
  'subnet_in_use',
  'subnet_assigned',
  'stale',
])

/** A run of neighbouring addresses with one state. Each address in use is a run of its own. */
export const AddressRun = z.object({
  first: z.string(),
  last: z.string(),
  state: z.enum(addressStates),
  /**
   * Why the run is reserved (network address, broadcast address), or what uses it: `namespace/name`
   * of a Service, the name of a server.
   */
  by: z.nullable(z.string()),
  /** Id of the server with this address, for a link. */
  node_id: z.nullable(z.uuid()),
})
export type AddressRun = z.infer<typeof AddressRun>
export const subnetAddresses = operation(
  'subnetAddresses',
  'GET /v1/subnets/{id}/addresses',
  'network:read',
  {
    summary:
      'The address map of a subnet: all its addresses in order, as ranges of addresses in the same state.',
    answer: z.object({
      cidr: z.string(),
      observed_at: z.nullable(time),
      runs: z.array(AddressRun),
    }),
  },
)

/**
 * For clients that draw the map. Used addresses are sent as text: compared with runs, a quarter of
 * the bytes and a fifth of the parsing time.
 */
export const subnetMap = operation('subnetMap', 'GET /v1/subnets/{id}/map', 'network:read', {
  summary:
    'The address map in parts: ranges that the subnet itself defines, addresses used by clusters (as text), and servers with addresses in the subnet.',
  answer: z.object({
    cidr: z.string(),
    observed_at: z.nullable(time),
    /** Runs of unused addresses: free, gateway, excluded, reserved. */
    runs: z.array(AddressRun),
    /**
     * `addresses`: in order, separated by spaces. `by`: what uses each address, one per line. An
     * address with two uses appears twice.
     */
    used: z.object({ addresses: z.string(), by: z.string() }),
    /**
     * Addresses of servers, in order. If an address is also in `used`, the entry in `used` takes
     * precedence.
     */
    servers: z.array(z.object({ address: z.string(), by: z.string(), node_id: z.uuid() })),
  }),
})
export type SubnetMap = Answer<typeof subnetMap>

export const csvColumns = [
  'id',
  'version',
  'name',
  'cidr',
  'gateway',
  'vlan',
  'exclude',
  'first_and_last',
  'purpose',
  'datacenter',
  'cluster',
] as const
export const subnetExport = operation('subnetExport', 'GET /v1/subnets/export', 'network:read', {
  summary: 'The subnets of a list as CSV. Importing the file unchanged changes nothing.',
  query: z.strictObject(narrowingOf(subnets)),
  answer: z.string(),
  media: 'text/csv',
})
export const subnetImport = operation('subnetImport', 'POST /v1/subnets/import', 'network:write', {
  summary:
    'Add and change subnets from CSV. Every row is checked and all problems are reported; rows are written only if there are no problems. `dry_run` writes nothing.',
  kept: true,
  body: importBody,
  answer: importAnswer({ cidr: z.string() }),
  errors: ['held_by_files'],
})

export const PoolChange = z.object({
  /**
   * The component that assigns addresses in the cluster. Null if the cluster has no supported
   * component: the user then has to apply the manifest.
   */
  provider: z.nullable(z.enum(poolProviders)),
  /** The YAML manifest of the cluster's assigned subnets, now and after the change. */
  before: z.string(),
  after: z.string(),
  warnings: z.array(z.string()),
  /**
   * Services that use an address of a subnet that is draining or would be removed. They keep it
   * until they release it or the removal is forced.
   */
  losing: z.array(z.object({ subnet_id: z.uuid(), service: z.string(), address: z.string() })),
})
export type PoolChange = z.infer<typeof PoolChange>

const wanted = { subnet_ids: z.array(z.uuid()).check(z.maxLength(200)) }
export const clusterSubnets = operation(
  'clusterSubnets',
  'GET /v1/clusters/{id}/subnets',
  'network:read',
  {
    summary: 'The subnets of a cluster, and the manifest for its load balancer.',
    answer: z.object({
      items: z.array(Subnet),
      provider: z.nullable(z.enum(poolProviders)),
      manifest: z.string(),
    }),
  },
)
export const clusterSubnetsPreview = operation(
  'clusterSubnetsPreview',
  'POST /v1/clusters/{id}/subnets/preview',
  'network:write',
  {
    summary: 'What clusterSubnetsAssign would change in the cluster.',
    body: z.strictObject(wanted),
    answer: PoolChange,
    errors: ['subnet_assigned', 'conflict'],
  },
)
export const clusterSubnetsAssign = operation(
  'clusterSubnetsAssign',
  'PUT /v1/clusters/{id}/subnets',
  'network:write',
  {
    summary:
      'Assign exactly these subnets to a cluster. Subnets that are unassigned are drained first; with `force`, Services lose their addresses at once.',
    body: z.strictObject({ ...wanted, force: z._default(z.boolean(), false) }),
    answer: begun,
    errors: [
      'subnet_assigned',
      'conflict',
      'cluster_not_ready',
      'operation_running',
      'stale',
      'held_by_files',
    ],
  },
)

type Assigned = Pick<Subnet, 'clusters' | 'used'>
const names = (s: Pick<Subnet, 'clusters'>) => s.clusters.map((c) => c.name).join(', ')

export function canRemoveSubnet(s: Assigned): Verdict {
  if (s.clusters.length === 0) return yes
  return s.used
    ? no(
        `${counted(s.used, 'address', 'addresses')} in use by cluster ${names(s)}. Unassign the subnet first`,
      )
    : no(`This subnet is assigned to ${names(s)}. Unassign it first`)
}
export const canChangeCidr = (s: Pick<Subnet, 'clusters'>): Verdict =>
  s.clusters.length === 0
    ? yes
    : no(`This subnet is assigned to ${names(s)}. Unassign it before changing the CIDR`)
export const canChangePurpose = (s: Pick<Subnet, 'clusters'>): Verdict =>
  s.clusters.length === 0
    ? yes
    : no(`This subnet is assigned to ${names(s)}. Unassign it before changing the purpose`)

/**
 * Whether a subnet may be assigned to a cluster. Checks only datacenter, purpose and present
 * clusters of the subnet; the API checks further rules.
 */
export function canAssignSubnet(
  s: Pick<Subnet, 'name' | 'datacenter' | 'purpose' | 'clusters'>,
  cluster: { id: string; name: string; datacenter: { id: string; code: string } },
): Verdict {
  if (s.datacenter.id !== cluster.datacenter.id)
    return no(
      `${s.name} is in ${s.datacenter.code}; cluster ${cluster.name} is in ${cluster.datacenter.code}`,
    )
  const other = s.clusters.find((c) => c.id !== cluster.id)
  return s.purpose === 'workload' && other ? no(`${s.name} is assigned to ${other.name}`) : yes
}

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    AddressRun: [AddressRun, 'Neighbouring addresses of a subnet that are in the same state.'],
    NewSubnet: [NewSubnet, 'A subnet to add. Its type is read from the CIDR.'],
  },
  fields: {
    cidr: 'A network in CIDR notation, host bits zero.',
    csv: 'Text of a CSV file in the format of the export, at most 1 MiB.',
    dry_run: 'True: only report what would be done, and all problems.',
    exclude:
      'Addresses that are never assigned: addresses, CIDRs and a-b ranges, one per line or with commas between.',
    first_and_last:
      'True: the network and broadcast address can be assigned too. For a routed network that is not on a link.',
    'clusterSubnetsAssign.force':
      'True: unassign subnets at once, so that Services lose their addresses. Otherwise subnets are drained.',
    gateway: 'Address of the gateway; never assigned to a Service.',
    purpose:
      '`workload`: assigned by one cluster to its Services. `management`: addresses of the servers themselves.',
    subnet_ids:
      'All subnets that the cluster should have. Other subnets of the cluster are unassigned.',
    type: 'Only subnets of this type.',
  },
  bodies: {
    clusterSubnetsAssign: { subnet_ids: ['00000000-0000-4000-8000-000000000004'] },
    clusterSubnetsPreview: { subnet_ids: ['00000000-0000-4000-8000-000000000004'] },
    subnetCreate: {
      name: 'edge-a',
      datacenter_id: '00000000-0000-4000-8000-000000000001',
      cidr: '203.0.113.0/26',
      gateway: '203.0.113.1',
      exclude: ['203.0.113.2-203.0.113.9'],
    },
    subnetImport: { csv: 'name,cidr,datacenter\nedge-a,203.0.113.0/26,PL-POZ-1\n', dry_run: true },
    subnetUpdate: { exclude: ['203.0.113.2-203.0.113.15'] },
  },
}

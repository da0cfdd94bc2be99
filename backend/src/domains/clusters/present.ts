import type { Cluster } from '#contract/clusters/clusters.ts'
import { clusterSaid } from '#contract/findings/said.ts'
import type { OfferState } from '../offers/api.ts'
import { filesOf } from './held/held.ts'
import type { ListedCluster } from './store.ts'

const noOffer: OfferState = { offerId: null, lookingSince: null, isAddressSet: false }

const hasAnswered = ({
  released_at,
  secured_at,
  left_at,
}: ListedCluster['members'][number]): boolean =>
  released_at === null && (secured_at !== null || left_at !== null)

const member = ({
  node_id,
  name,
  role,
  interface: link,
  install_disk,
  workload_disks,
}: ListedCluster['members'][number]): Cluster['servers'][number] => ({
  node_id,
  name,
  role,
  interface: link,
  install_disk,
  workload_disks,
})
const formerMember = ({
  node_id,
  name,
  role,
}: ListedCluster['members'][number]): Cluster['former_servers'][number] => ({ node_id, name, role })

interface Around {
  readonly offer?: OfferState | undefined
  readonly subnets?: Cluster['subnets'] | undefined
  readonly troubles?: Cluster['troubles'] | undefined
  readonly serversSaid?: Cluster['servers_said']
}

/**
 * A ready cluster is degraded while a finding says that it serves less than it should. What the
 * watch over it has noted says it in the words of the last look, and is left out when the finding
 * has ended. Any other reason, such as that of a cluster held after a restore, is not the watch's.
 */
function statusOf({
  status,
  reason,
  problem,
  finding,
}: Pick<ListedCluster, 'status' | 'reason' | 'problem' | 'finding'>): Pick<
  Cluster,
  'status' | 'reason'
> {
  if (status !== 'ready') return { status, reason }
  return finding === null || finding.severity === 'attention'
    ? { status, reason: problem === null ? reason : null }
    : { status: 'degraded', reason: reason ?? finding.reason }
}

/** Nothing is judged of a cluster that is being deleted. */
const findingOf = ({ wanted, finding }: Pick<ListedCluster, 'wanted' | 'finding'>) =>
  wanted === 'ready' ? finding : null

/** What is said of a cluster in lists, in the overview and in the metrics. */
export const saidOf = (
  row: Pick<ListedCluster, 'status' | 'reason' | 'problem' | 'finding' | 'wanted'>,
) => clusterSaid({ ...statusOf(row), finding: findingOf(row) })

/** Converts a row to the contract's cluster. */
export const present = (
  row: ListedCluster,
  {
    offer: { offerId, lookingSince, isAddressSet } = noOffer,
    subnets = [],
    troubles = [],
    serversSaid = [],
  }: Around = {},
): Cluster => ({
  id: row.id,
  name: row.name,
  ...statusOf(row),
  troubles,
  said: saidOf(row),
  servers_said: serversSaid,
  finding: findingOf(row),
  upgrade: row.wanted === 'ready' ? row.upgrade : null,
  certificates_ending: [...(row.certificates_ending ?? [])],
  datacenter: { id: row.datacenter_id, code: row.datacenter_code, country_code: row.country_code },
  talos_version: row.talos_version,
  kubernetes_version: row.kubernetes_version,
  endpoint: row.endpoint,
  virtual_ip: row.virtual_ip,
  vlan_id: row.vlan_id,
  pod_cidr: row.pod_cidr,
  service_cidr: row.service_cidr,
  servers: row.members.map(member),
  former_servers: row.formerMembers.map(formerMember),
  control_planes: row.members.filter((m) => m.role === 'control_plane').length,
  workers: row.members.filter((m) => m.role === 'worker').length,
  subnets,
  chainAddress: row.chain_address,
  offerId,
  offer_detection: offerId !== null ? 'found' : lookingSince === null ? 'not_found' : 'looking',
  offer_looking_since:
    offerId === null && lookingSince !== null ? lookingSince.toISOString() : null,
  offer_address_set: isAddressSet,
  operation_id: row.operation_id,
  labels: row.labels,
  notes: row.notes,
  maintenance_window: row.maintenance_window,
  files: filesOf(row),
  locked_out:
    row.locked_out === null || row.locked_out_since === null
      ? null
      : { authority: row.locked_out, since: row.locked_out_since.toISOString() },
  kept: [...row.kept],
  taken_over_at: row.taken_over_at?.toISOString() ?? null,
  talos_answers: row.ready_at !== null || row.members.some(hasAnswered),
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

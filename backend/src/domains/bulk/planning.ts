/**
 * The plan of an act on many servers. The rules are those of the act on one server; what is added is
 * counted over the whole selection. Plans read what is stored and ask no machine: each server is
 * asked in its turn. Only the plan of an upgrade asks the machines of the clusters.
 */
import { computeUnits } from '#contract/capacity.ts'
import { type Cluster, type ClusterRole } from '#contract/clusters/clusters.ts'
import { afterLeaving } from '#contract/clusters/control-planes.ts'
import { canChangeHeld } from '#contract/clusters/files.ts'
import { canCommitServer, lostCommitment } from '#contract/marketplace/cc-rules.ts'
import { all, no, type Verdict, yes } from '#contract/rule.ts'
import {
  type BulkAct,
  bulkActs,
  type BulkActKind,
  type BulkItem,
  type BulkPlan,
} from '#contract/servers/bulk.ts'
import { devicePath, type Disk } from '#contract/disks/disks.ts'
import {
  canCommandServer,
  canRemoveServer,
  canResetServer,
  isIdle,
  type Server,
} from '#contract/servers/servers.ts'
import type { Draft } from '../ccs/api.ts'
import { shownDisk } from '../operations/api.ts'
import { canUpgrade, type Outlook } from './upgrading.ts'

interface Selection {
  readonly act: BulkAct
  readonly servers: readonly Server[]
  /** The clusters of the servers, by id. */
  readonly clusters: ReadonlyMap<string, Cluster>
  /** For an upgrade: what that of each cluster would do. */
  readonly outlooks: ReadonlyMap<string, Outlook>
  /** For a commit: the drafts by server. */
  readonly drafts: ReadonlyMap<string, Draft>
  /** In ms since 1970. */
  readonly now: number
  /** The set of files that the request carries out. */
  readonly appliedSet?: string | undefined
}

const memberOf = (cluster: Cluster | undefined, { id }: Pick<Server, 'id'>) =>
  cluster?.servers.find((m) => m.node_id === id)

const controlPlanesOf = ({ servers }: Pick<Cluster, 'servers'>) =>
  servers.filter((m) => m.role === 'control_plane')

/** The control planes that leave together: at least one has to stay. */
function canLeaveTogether(
  server: Server,
  cluster: Cluster | undefined,
  chosen: ReadonlySet<string>,
): Verdict {
  if (memberOf(cluster, server)?.role !== 'control_plane') return yes
  return controlPlanesOf(cluster!).some((m) => !chosen.has(m.node_id))
    ? yes
    : no(
        `The selection has every control plane of ${cluster!.name}: leave one out, or delete the cluster instead`,
      )
}

const command = (server: Server): Verdict => all(canCommandServer(server), isIdle(server))

/** The disks of which a reset wipes something: the system disk, and those of the workload. */
function wipedDisks(
  { kind, keep_workload_disks }: BulkAct,
  server: Server,
  cluster: Cluster | undefined,
): Disk[] {
  if (kind !== 'reset') return []
  const member = memberOf(cluster, server)
  const paths = [
    member?.install_disk ?? server.talos.installed?.disk,
    ...(keep_workload_disks ? [] : (member?.workload_disks ?? [])),
  ].flatMap((one) => (one === undefined ? [] : [devicePath(one)]))
  return [...new Set(paths)].map((path) => {
    const disk = server.resources.disks.find((d) => devicePath(d.id) === path)
    return disk ? shownDisk(disk) : { id: path.replace(/^\/dev\//, '') }
  })
}

/** The terms of the act, completed by those of the server's draft. */
function promisedOf(
  { terms = {} }: BulkAct,
  { id, resources }: Server,
  drafts: Selection['drafts'],
): NonNullable<BulkItem['commitment']> {
  const draft = drafts.get(id)
  const {
    price = null,
    starts_at = null,
    expires_at = null,
    offer_id = null,
  } = { ...draft, ...terms }
  return {
    version: draft?.version ?? null,
    price,
    starts_at,
    expires_at,
    offer_id,
    compute_units: computeUnits(resources),
  }
}

/** What the whole selection means for a cluster. `chosen`: its allowed control planes. */
function clusterWarnings(kind: BulkActKind, cluster: Cluster, chosen: number): string[] {
  const total = controlPlanesOf(cluster).length
  if (chosen === 0) return []
  if (kind === 'reset') {
    const left = afterLeaving(total - chosen)
    return left === null ? [] : [`${cluster.name}: ${left}`]
  }
  if (kind !== 'reboot') return []
  if (total === 1)
    return [
      `${cluster.name} has one control plane: its Kubernetes API does not answer until the server is back`,
    ]
  const majority = Math.floor(total / 2) + 1
  const why =
    total - chosen < majority ? 'together they would leave etcd without a majority, so ' : ''
  return [
    ...(chosen > 1
      ? [
          `${chosen} of ${total} control planes of ${cluster.name}: ${why}they are rebooted one after another, and each waits until the others are well`,
        ]
      : []),
    ...(cluster.status === 'degraded'
      ? [
          `${cluster.name} is degraded${cluster.reason === null ? '' : ` (${cluster.reason})`}: a control plane waits until the others are well`,
        ]
      : []),
  ]
}

const roles: readonly (ClusterRole | null)[] = ['worker', 'control_plane', null]
/** Cluster by cluster, its workers first; servers without a cluster come last. */
const inOrder = (a: BulkItem, b: BulkItem): number =>
  Number(a.cluster === null) - Number(b.cluster === null) ||
  (a.cluster?.name ?? '').localeCompare(b.cluster?.name ?? '') ||
  roles.indexOf(a.role) - roles.indexOf(b.role) ||
  a.name.localeCompare(b.name)

/** Pure. */
export function planOf({
  act,
  servers,
  clusters,
  outlooks,
  drafts,
  now,
  appliedSet,
}: Selection): BulkPlan {
  const { kind } = act
  const chosen = new Set(servers.map((s) => s.id))
  const clusterOf = (s: Server) => (s.cluster === null ? undefined : clusters.get(s.cluster.id))
  const judge = (server: Server): Verdict => {
    const cluster = clusterOf(server)
    if (kind === 'remove') return canRemoveServer(server)
    if (kind === 'commit') return canCommitServer(server, promisedOf(act, server, drafts), now)
    const unheld = cluster === undefined ? yes : canChangeHeld(cluster, appliedSet)
    if (kind === 'upgrade')
      return all(unheld, canUpgrade(server, act, cluster && outlooks.get(cluster.id), chosen))
    if (kind !== 'reset') return command(server)
    return all(canResetServer(server, cluster), unheld, canLeaveTogether(server, cluster, chosen))
  }
  const items = servers
    .map((server): BulkItem => {
      const { id, name, version, cluster } = server
      const verdict = judge(server)
      const lost = kind === 'reset' || kind === 'remove' ? lostCommitment(server, kind) : null
      return {
        id,
        name,
        version,
        cluster: cluster && { id: cluster.id, name: cluster.name },
        role: memberOf(clusterOf(server), server)?.role ?? null,
        ok: verdict.ok,
        reason: verdict.ok ? null : verdict.reason,
        ...(!verdict.ok && verdict.kind === 'for_now' && { for_now: true as const }),
        warnings: verdict.ok && lost !== null ? [lost] : [],
        disks: verdict.ok ? wipedDisks(act, server, clusterOf(server)) : [],
        commitment: kind === 'commit' ? promisedOf(act, server, drafts) : null,
      }
    })
    .toSorted(inOrder)
  const allowed = items.filter((one) => one.ok)
  return {
    act,
    items,
    allowed: allowed.length,
    refused: items.length - allowed.length,
    expected: bulkActs[kind].danger ? allowed.length : null,
    warnings: [...clusters.values()].flatMap((cluster) => {
      const here = allowed.filter((one) => one.cluster?.id === cluster.id)
      return [
        ...(here.length === 0 ? [] : (outlooks.get(cluster.id)?.warnings ?? [])),
        ...clusterWarnings(
          kind,
          cluster,
          here.filter((one) => one.role === 'control_plane').length,
        ),
      ]
    }),
  }
}

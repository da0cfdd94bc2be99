/** Plans what a document changes in a running cluster, with the plan of each change. */
import type { ClusterDocument } from '#contract/apply/documents.ts'
import {
  changeOperations,
  type ChangeKindName,
  type ClusterChangeInput,
  clusterPlan,
  type ClusterPlan,
} from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { canChangeHeld } from '#contract/clusters/files.ts'
import { clusterExtensions } from '#contract/clusters/extensions.ts'
import {
  canRetryOperation,
  kindTitles,
  operationGet,
  operationRetry,
  operationTitle,
} from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'
import { CliError } from '../../exit.ts'
import type { Placed } from '../files.ts'
import { mayWait, type Planning, ranks, refuse, type Run } from '../plan.ts'
import { type FoundServer, isFreed } from '../servers.ts'
import { differenceOf, type Facts, hasImage, type Wanted } from './difference.ts'
import { planSettings } from './settings.ts'
import { beginChange, followed, openOperations, openText, refusalOf } from './start.ts'

/**
 * Earlier changes that may settle a failed check of a later one, which is then no refusal: the
 * later one is planned again when its turn comes.
 */
const settledBy: Readonly<Partial<Record<ChangeKindName, readonly ChangeKindName[]>>> = {
  grow: ['upgradeTalos', 'upgradeKubernetes'],
  upgradeTalos: ['upgradeKubernetes'],
  upgradeKubernetes: ['upgradeKubernetes', 'upgradeTalos'],
  extensions: ['upgradeTalos', 'grow'],
  role: ['grow', 'endpoint'],
  shrink: ['grow', 'role', 'endpoint'],
}

/**
 * The servers that join, by name. A server that can't be planned yet waits; one that is missing, or
 * in another datacenter, is a problem. `isLater`: an earlier line of the run prepares one of them.
 */
function joiningOf(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  cluster: Cluster,
  find: (name: string) => FoundServer,
): { found: ReadonlyMap<string, Server>; isLater: boolean } {
  const { document } = placed
  const members = new Set(cluster.servers.map((m) => m.name))
  const found = new Map<string, Server>()
  let isLater = false
  for (const [i, { server: name }] of document.servers.entries()) {
    if (members.has(name)) continue
    const one = find(name)
    const fail = (message: string) => refuse(planning, placed, message, 'servers', String(i))
    if (one === null) fail(`There is no server ${name}, and no document gives a server this name`)
    else if ('waiting' in one)
      planning.plan.waiting.push({
        kind: 'cluster',
        name: document.name,
        placed,
        reason: one.waiting,
      })
    else {
      const { server, datacenter } = one
      if (datacenter !== document.datacenter)
        fail(`${name} is in ${datacenter ?? 'no datacenter'}, not in ${document.datacenter}`)
      isLater ||=
        isFreed(planning, server) ||
        server.name !== name ||
        server.datacenter?.code !== document.datacenter
      found.set(name, server)
    }
  }
  return { found, isLater }
}

async function factsOf(
  planning: Planning,
  document: ClusterDocument,
  cluster: Cluster,
  found: ReadonlyMap<string, Server>,
): Promise<Facts> {
  const comparesImages = document.extensions !== undefined || document.kernel_args !== undefined
  const { api } = planning.context
  const params = { id: cluster.id }
  return {
    cluster,
    document,
    found,
    removable: planning.removable,
    noSnapshot: planning.noSnapshot,
    offered: await planning.world.versions(),
    images: comparesImages ? (await api.call(clusterExtensions, { params })).items : [],
  }
}

/** The change of images for the servers that differ now; null if none does. */
async function imagesNow(
  run: Run,
  id: string,
  document: ClusterDocument,
): Promise<ClusterChangeInput | null> {
  const { items } = await run.call(clusterExtensions, { params: { id } })
  const unknown = items.find((one) => hasImage(one, document) === null)
  if (unknown)
    throw new CliError(
      'conflict',
      `The image of ${unknown.name} can't be compared: ${unknown.reason ?? 'it is unknown'}`,
    )
  const node_ids = items.filter((one) => hasImage(one, document) === false).map((s) => s.node_id)
  const { extensions, kernel_args } = document
  return node_ids.length === 0
    ? null
    : {
        kind: 'extensions',
        ...(extensions !== undefined && { extensions }),
        ...(kernel_args !== undefined && { kernel_args }),
        node_ids,
      }
}

function addStep(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  cluster: Cluster,
  {
    wanted: { change, changes, note },
    plan,
    isFirst,
  }: { wanted: Wanted; plan: ClusterPlan | null; isFirst: boolean },
): void {
  const { id, name } = cluster
  const { document } = placed
  const title = kindTitles[changeOperations[change.kind]]
  const isOpen = change.kind === 'extensions'
  planning.plan.steps.push({
    does: 'update',
    kind: 'cluster',
    name,
    placed,
    rank: ranks.change,
    changes,
    note: note === undefined ? title : `${title}: ${note}`,
    ...(plan && { plan }),
    async run(run) {
      await run.waitForCluster(name)
      const now = isOpen ? await imagesNow(run, id, document) : change
      return now === null
        ? 'done'
        : beginChange(run, { id, name }, now, isFirst && plan ? plan.seen : null)
    },
  })
}

/** The plans of the changes. Adds problems for those that could not begin when their turn comes. */
async function planAll(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  cluster: Cluster,
  {
    wanted,
    isLater,
    isScheduled,
  }: { wanted: readonly Wanted[]; isLater: boolean; isScheduled: boolean },
): Promise<void> {
  const { api } = planning.context
  const before: ChangeKindName[] = []
  for (const one of wanted) {
    const { change } = one
    const settles = settledBy[change.kind] ?? []
    let isSettled =
      before.some((kind) => settles.includes(kind)) || (isLater && change.kind === 'grow')
    const params = { id: cluster.id }
    let plan: ClusterPlan | null = null
    try {
      plan = await api.call(clusterPlan, { params, body: { change } })
    } catch (error) {
      if (!(error instanceof CliError) || error.body === undefined) throw error
      if (!isSettled) refuse(planning, placed, error.message)
    }
    const refused = plan && refusalOf(plan)
    if (refused && mayWait(planning, refused)) isSettled = true
    if (refused && !isSettled)
      refuse(planning, placed, `${kindTitles[changeOperations[change.kind]]}: ${refused.reason}`)
    addStep(planning, placed, cluster, {
      wanted: refused && isSettled ? { ...one, note: later(one, refused.reason) } : one,
      plan,
      isFirst: before.length === 0 && !isLater && !isScheduled && !refused,
    })
    before.push(change.kind)
  }
}
const later = ({ note }: Wanted, refused: string): string =>
  [
    ...(note === undefined ? [] : [note]),
    `planned again when its turn comes; now: ${refused}`,
  ].join('; ')

/**
 * A change of servers that failed leaves servers that are members and haven't joined: the run
 * retries it first.
 */
const resumed: ReadonlySet<string> = new Set([
  'clusterGrow',
  'clusterRole',
  'clusterReplace',
  'clusterShrink',
])
async function planRetry(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  cluster: Cluster,
): Promise<void> {
  if (cluster.operation_id === null) return
  const params = { id: cluster.operation_id }
  const last = await planning.context.api.call(operationGet, { params })
  if (!resumed.has(last.kind) || !canRetryOperation(last).ok) return
  planning.plan.steps.push({
    does: 'update',
    kind: 'cluster',
    name: cluster.name,
    placed,
    rank: ranks.change,
    changes: [],
    note: `${operationTitle(last)} has failed${last.reason === null ? '' : ` (${last.reason})`}: it is retried`,
    async run(run) {
      await run.call(operationRetry, { params, body: { confirmed_disks: [...run.confirmedDisks] } })
      return followed(run, cluster.name, last.id)
    },
  })
}

/** Adds the steps that change a running cluster as its document says, or the reasons why not. */
export async function planRunning(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  cluster: Cluster,
  find: (name: string) => FoundServer,
): Promise<void> {
  const { plan } = planning
  const { document } = placed
  const { found, isLater } = joiningOf(planning, placed, cluster, find)
  const difference = differenceOf(await factsOf(planning, document, cluster, found))
  const verdict = canChangeHeld(cluster, planning.set)
  if (!verdict.ok && difference.wanted.length > 0) return refuse(planning, placed, verdict.reason)
  for (const { path, message } of difference.refusals) refuse(planning, placed, message, ...path)
  if (difference.refusals.length > 0) return
  for (const name of difference.staying)
    plan.withheld.push(
      `${name} of the cluster ${cluster.name} is not in its document. It is removed only with --remove-server ${name}, which moves its workload off, wipes it and its workload disks, and takes it out of the cluster`,
    )
  const waits = (reason: string) =>
    void plan.waiting.push({ kind: 'cluster', name: cluster.name, placed, reason })
  const open =
    difference.wanted.length > 0 || cluster.operation_id !== null
      ? await openOperations(planning.context.api, cluster.id)
      : []
  if (open[0]) return waits(`${openText(open[0])}. Apply again when it has ended, or use --wait`)
  if (difference.wanted.length > 0 && cluster.status !== 'ready' && cluster.status !== 'degraded')
    return waits(`it is ${cluster.status}, and only a running cluster can be changed`)
  const known = plan.steps.length
  await planSettings(planning, placed, cluster)
  // The schedule, which is set first, names the store of the snapshot before an upgrade.
  const isScheduled = plan.steps
    .slice(known)
    .some(({ changes }) => changes.some(({ field }) => field === 'snapshots'))
  await planRetry(planning, placed, cluster)
  await planAll(planning, placed, cluster, { wanted: difference.wanted, isLater, isScheduled })
}

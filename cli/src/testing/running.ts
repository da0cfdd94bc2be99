/** The calls that change running clusters, for the Steelyard in memory. */
import {
  type ChangeKindName,
  changeOperations,
  type ClusterChange,
  clusterChange,
  clusterPlan,
  clusterWindowSet,
} from '#contract/clusters/changes/changes.ts'
import type { NewSnapshotSchedule } from '#contract/clusters/changes/snapshot-schedule.ts'
import {
  snapshotScheduleGet,
  snapshotScheduleRemove,
  snapshotScheduleSet,
  type SnapshotSchedule,
} from '#contract/clusters/changes/snapshots.ts'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import { clusterFilesHold, clusterFilesRelease } from '#contract/clusters/files.ts'
import { clusterExtensions } from '#contract/clusters/extensions.ts'
import { Problem } from '#contract/errors.ts'
import { hasEnded, type Operation, operationList, operationRetry } from '#contract/operations.ts'
import type { NewPatch, Patch } from '#contract/patches.ts'
import type { Server } from '#contract/servers/servers.ts'
import { type Store, storeList } from '#contract/storage/stores.ts'
import { type OfferedTalos, versionList } from '#contract/versions.ts'
import type { TestApi } from './api.ts'
import { id, pageOf } from './things.ts'

const at = '2026-11-20T08:00:00.000Z'
const seen = '0'.repeat(64)

export interface RunningClusters {
  /** Why changes of a kind are refused. */
  readonly refused: Partial<Record<ChangeKindName, string>>
  /** The extensions of each server by its id. */
  readonly extensions: Map<string, string[]>
  /** The changes that were begun, in order. */
  readonly changes: ClusterChange[]
}

interface Around {
  readonly clusters: readonly Cluster[]
  readonly servers: readonly Server[]
  readonly operations: Operation[]
  readonly patches: readonly Patch[]
  readonly began: (kind: Operation['kind'], clusterId: string) => Operation
  readonly addPatch: (serverId: string, patch: NewPatch) => Patch
  readonly removePatch: (patchId: string) => void
}

const offered = (minor: number, first: number, last: number): OfferedTalos => {
  const support = { ends: null, ended: false }
  const versions = Array.from({ length: last - first + 1 }, (_, i) => `1.${last - i}.3`)
  return {
    talos_version: `v1.${minor}.0`,
    prerelease: false,
    support,
    kubernetes_versions: versions,
    kubernetes: versions.map((version) => ({ version, support })),
    kubernetes_minors: [`1.${first}`, `1.${last}`],
  }
}

/** The patches of a server that a change of patches changes: names of those to add and remove. */
function patchesOf(
  change: Extract<ClusterChange, { kind: 'configure' }>,
  nodeId: string,
  { patches }: Pick<Around, 'patches'>,
) {
  const here = patches.filter((p) => p.node_id === nodeId)
  const same = (p: Patch, n: NewPatch) =>
    JSON.stringify([p.weight, p.labels, p.body]) === JSON.stringify([n.weight, n.labels, n.body])
  return {
    add: change.patches.filter((n) => !here.some((p) => p.name === n.name && same(p, n))),
    here,
  }
}

function configure(
  change: Extract<ClusterChange, { kind: 'configure' }>,
  around: Pick<Around, 'patches' | 'addPatch' | 'removePatch'>,
): void {
  for (const nodeId of change.node_ids ?? []) {
    const { add, here } = patchesOf(change, nodeId, around)
    for (const patch of add) {
      const known = here.find((p) => p.name === patch.name)
      if (known) Object.assign(known, patch, { version: known.version + 1 })
      else around.addPatch(nodeId, patch)
    }
    for (const name of change.remove) {
      const known = here.find((p) => p.name === name)
      if (known) around.removePatch(known.patch_id)
    }
  }
}

/** What a change leaves behind when it has ended. */
function carryOut(cluster: Cluster, change: ClusterChange, { servers }: Around): void {
  const has = new Map(cluster.servers.map((m) => [m.node_id, m]))
  if (change.kind === 'grow')
    for (const { node_id, role } of change.servers) {
      const server = servers.find((s) => s.id === node_id)!
      server.cluster = { id: cluster.id, name: cluster.name }
      has.set(node_id, { node_id, role, name: server.name })
    }
  if (change.kind === 'shrink') for (const { node_id } of change.servers) has.delete(node_id)
  if (change.kind === 'role')
    for (const { node_id, role } of change.servers) has.set(node_id, { ...has.get(node_id)!, role })
  const members = [...has.values()]
  Object.assign(cluster, {
    servers: members,
    control_planes: members.filter((m) => m.role === 'control_plane').length,
    workers: members.filter((m) => m.role === 'worker').length,
    ...(change.kind === 'upgradeTalos' && { talos_version: change.version }),
    ...(change.kind === 'upgradeKubernetes' && { kubernetes_version: change.version }),
    ...(change.kind === 'endpoint' && {
      endpoint: `https://${change.endpoint}:6443`,
      virtual_ip: change.virtual_ip,
    }),
  })
}

export function serveRunning(api: TestApi, around: Around): RunningClusters {
  const { clusters, operations, began } = around
  const running: RunningClusters = { refused: {}, extensions: new Map(), changes: [] }
  const schedules = new Map<string, SnapshotSchedule>()
  const one = (clusterId: string) => clusters.find((c) => c.id === clusterId)!
  const store: Store = {
    id: id(400),
    name: 'offsite',
    kind: 'folder',
    folder: '/srv/snapshots',
    endpoint: null,
    region: null,
    bucket: null,
    prefix: '',
    path_style: false,
    access_key_id: null,
    verified_at: null,
    problem: null,
    problem_since: null,
    version: 1,
    created_at: at,
    updated_at: at,
  }

  api.on(versionList, () => ({
    items: [offered(14, 34, 37), offered(13, 32, 36), offered(12, 30, 35)],
    source: 'shipped' as const,
    reason: null,
    notices: [],
  }))
  api.on(clusterExtensions, ({ params }) => ({
    items: one(params.id).servers.map(({ node_id, name }) => ({
      node_id,
      name,
      extensions: running.extensions.get(node_id) ?? [],
      kernel_args: [],
      reason: null,
    })),
  }))
  api.on(clusterPlan, ({ params, body: { change } }) => {
    const reason = running.refused[change.kind]
    const isNothing =
      change.kind === 'configure' &&
      change.remove.length === 0 &&
      (change.node_ids ?? []).every((node) => patchesOf(change, node, around).add.length === 0)
    return {
      kind: change.kind,
      checks: [
        { check: 'path', ok: reason === undefined, message: reason ?? 'It can begin' },
        { check: 'changes', ok: !isNothing, message: 'Whether the patches change something' },
      ],
      warnings: [],
      groups: [
        {
          node_id: one(params.id).servers[0]!.node_id,
          name: one(params.id).servers[0]!.name,
          drains: false,
          reboots: 'no' as const,
          steps: [{ key: 'x', title: `Do ${change.kind}` }],
          took_s: null,
        },
      ],
      disks: [],
      losses: [],
      differences: [],
      took_s: null,
      seen,
    }
  })
  api.on(clusterChange, ({ params, body: { change } }) => {
    const reason = running.refused[change.kind]
    if (reason !== undefined) throw new Problem('transition_refused', reason)
    running.changes.push(change)
    carryOut(one(params.id), change, around)
    if (change.kind === 'configure') configure(change, around)
    if (change.kind === 'extensions' && change.extensions)
      for (const node_id of change.node_ids ?? [])
        running.extensions.set(node_id, change.extensions)
    return { operation: began(changeOperations[change.kind], params.id) }
  })
  api.on(clusterWindowSet, ({ params, body }) =>
    Object.assign(one(params.id), { maintenance_window: body.window }),
  )
  api.on(clusterFilesHold, ({ params, body }) =>
    Object.assign(one(params.id), { files: { set: body.set, by: 'a@example.com', since: at } }),
  )
  api.on(clusterFilesRelease, ({ params }) => Object.assign(one(params.id), { files: null }))
  api.on(clusterGet, ({ params }) => one(params.id))
  api.on(operationList, ({ query }) =>
    pageOf(operations.filter((o) => o.target.id === query.target && !hasEnded(o))),
  )
  api.on(operationRetry, ({ params }) =>
    Object.assign(
      operations.find((o) => o.id === params.id)!,
      { status: 'running' },
    ),
  )
  api.on(storeList, () => pageOf([store]))
  api.on(snapshotScheduleGet, ({ params }) => ({ schedule: schedules.get(params.id) ?? null }))
  api.on(snapshotScheduleSet, ({ params, body }) => {
    const { store_id: _store, ...fields }: NewSnapshotSchedule = body
    const schedule: SnapshotSchedule = {
      ...fields,
      store: { id: store.id, name: store.name },
      next_at: null,
      last_ready_at: null,
      problem: null,
      version: 1,
      created_at: at,
      updated_at: at,
    }
    schedules.set(params.id, schedule)
    return schedule
  })
  api.on(snapshotScheduleRemove, ({ params }) => void schedules.delete(params.id))
  return running
}

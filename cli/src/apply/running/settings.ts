/** The labels, the maintenance window and the schedule of snapshots of a cluster. */
import { isDeepStrictEqual } from 'node:util'
import type { ClusterDocument } from '#contract/apply/documents.ts'
import type { NewSnapshotSchedule } from '#contract/clusters/changes/snapshot-schedule.ts'
import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import {
  snapshotScheduleGet,
  snapshotScheduleRemove,
  snapshotScheduleSet,
  type SnapshotSchedule,
} from '#contract/clusters/changes/snapshots.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { clusterFilesHold } from '#contract/clusters/files.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import type { Api } from '../../api/client.ts'
import type { Placed } from '../files.ts'
import {
  labelChangesOf,
  labelsIn,
  type Planning,
  ranks,
  refuse,
  type Run,
  type Step,
} from '../plan.ts'
import * as noun from '../../nouns.ts'

type Snapshots = NonNullable<ClusterDocument['snapshots']>

/** The schedule as a document writes it. */
const writtenOf = (s: SnapshotSchedule): Snapshots => ({
  store: s.store.name,
  every_hours: s.every_hours as Snapshots['every_hours'],
  at_hour: s.at_hour,
  keep_count: s.keep_count,
  keep_days: s.keep_days,
  paused: s.paused,
})

const readSchedule = async (api: Api, id: string): Promise<SnapshotSchedule | null> =>
  (await api.call(snapshotScheduleGet, { params: { id } })).schedule

/** The fields that an export writes. */
export async function settingsOf(
  api: Api,
  { id, labels = {}, maintenance_window: window = null, files = null }: Cluster,
): Promise<Pick<ClusterDocument, 'labels' | 'maintenance_window' | 'snapshots' | 'locked'>> {
  const schedule = await readSchedule(api, id)
  return {
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(window !== null && { maintenance_window: window }),
    ...(schedule !== null && { snapshots: writtenOf(schedule) }),
    ...(files !== null && { locked: true }),
  }
}

/** Days in the order of the week, so that their spelling doesn't matter. */
const sorted = (window: Cluster['maintenance_window']) =>
  window && { ...window, days: window.days.toSorted() }

/** The body of a schedule. @throws CliError if the store is gone */
export async function scheduleBody(
  { context: { api } }: Pick<Run, 'context'>,
  { store, ...schedule }: Snapshots,
): Promise<NewSnapshotSchedule> {
  return { ...schedule, store_id: await noun.idOf(api, noun.store, store) }
}

/** Whether the store of the document's snapshots exists. Adds the problem. */
export async function hasStore(
  planning: Planning,
  placed: Placed<ClusterDocument>,
): Promise<boolean> {
  const store = placed.document.snapshots?.store
  if (store === undefined || (await planning.world.stores()).some((one) => one.name === store))
    return true
  refuse(planning, placed, `There is no store ${store}`, 'snapshots', 'store')
  return false
}

async function planSchedule(
  planning: Planning,
  {
    placed,
    cluster,
    step,
  }: {
    placed: Placed<ClusterDocument>
    cluster: Cluster
    step: Omit<Step, 'changes' | 'run'>
  },
): Promise<void> {
  const { name, snapshots: wanted } = placed.document
  const { api } = planning.context
  const now = await readSchedule(api, cluster.id)
  const before = now && writtenOf(now)
  if (wanted === undefined || isDeepStrictEqual(before, wanted)) return
  if (!(await hasStore(planning, placed))) return
  planning.plan.steps.push({
    ...step,
    changes: [{ field: 'snapshots', before, after: wanted }],
    async run(run) {
      await run.waitForCluster(name)
      const params = { id: await run.idOf('cluster', name) }
      if (wanted === null) await run.call(snapshotScheduleRemove, { params }, now?.version)
      else
        await run.call(
          snapshotScheduleSet,
          { params, body: await scheduleBody(run, wanted) },
          now?.version,
        )
    },
  })
}

/**
 * The lock is taken before anything else changes. Only a person takes it off.
 * @param cluster null: the run creates it
 */
export function planLock(
  { plan, set }: Planning,
  {
    placed,
    cluster,
  }: {
    placed: Placed<ClusterDocument>
    cluster: Cluster | null
  },
): void {
  const { name, locked } = placed.document
  const isHeld = cluster?.files?.set === set
  if (locked === false && isHeld)
    plan.withheld.push(
      `The cluster ${name} stays locked to the set ${set} until a person releases it: steelyard cluster release ${name}`,
    )
  if (locked !== true || isHeld) return
  plan.steps.push({
    does: 'update',
    kind: 'cluster',
    name,
    placed,
    rank: ranks.lock,
    changes: [{ field: 'locked', before: false, after: true }],
    note: `only files of the set ${set} change it from then on`,
    async run(run) {
      const params = { id: await run.idOf('cluster', name) }
      await run.call(clusterFilesHold, { params, body: { set } })
    },
  })
}

/** Adds the steps that set the labels, the window and the schedule of a cluster. */
export async function planSettings(
  planning: Planning,
  placed: Placed<ClusterDocument>,
  cluster: Cluster,
): Promise<void> {
  const { name, labels, maintenance_window: window } = placed.document
  const step = {
    does: 'update',
    kind: 'cluster',
    name,
    placed,
    rank: ranks.settings,
  } as const
  const relabelled = labelChangesOf(cluster.labels, labels)
  if (relabelled.length > 0) {
    planning.plan.steps.push({
      ...step,
      changes: relabelled,
      async run(run) {
        const params = { id: await run.idOf('cluster', name) }
        await run.call(clusterUpdate, { params, body: { labels: labelsIn(relabelled)! } })
      },
    })
  }
  const now = cluster.maintenance_window ?? null
  if (window !== undefined && !isDeepStrictEqual(sorted(now), sorted(window)))
    planning.plan.steps.push({
      ...step,
      changes: [{ field: 'maintenance_window', before: now, after: window }],
      async run(run) {
        await run.waitForCluster(name)
        const params = { id: await run.idOf('cluster', name) }
        await run.call(clusterWindowSet, { params, body: { window } })
      },
    })
  planLock(planning, { placed, cluster })
  await planSchedule(planning, { placed, cluster, step })
}

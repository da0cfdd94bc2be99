/**
 * What a cluster gets from its template after its creation. Labels and the schedule of snapshots are
 * set at once, the rest once the cluster is ready. The list is kept as a draft of this browser, so
 * that the page of the cluster names what remains.
 */
import * as z from 'zod/mini'
import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { snapshotScheduleSet } from '#contract/clusters/changes/snapshots.ts'
import { windowText } from '#contract/clusters/changes/window.ts'
import type { ServerExtensions } from '#contract/clusters/extensions.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { storeList } from '#contract/storage/stores.ts'
import { NewTemplate } from '#contract/templates/templates.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { readDraft, removeDraft, writeDraft } from '../../../api/drafts.ts'

const { shape } = NewTemplate
export const Rest = z.object({
  labels: shape.labels,
  snapshots: shape.snapshots,
  maintenance_window: shape.maintenance_window,
  subnets: shape.subnets,
  extensions: shape.extensions,
  kernel_args: shape.kernel_args,
})
export type Rest = z.infer<typeof Rest>

export type Part = 'labels' | 'snapshots' | 'maintenance_window' | 'extensions' | 'subnets'
/** The parts that are set without a form. */
export type SetPart = Exclude<Part, 'extensions' | 'subnets'>

/** The parts that the template has, in words. */
export function partsOf({
  labels,
  snapshots,
  maintenance_window: window,
  subnets,
  extensions,
  kernel_args,
}: Rest): { part: Part; said: string }[] {
  const pairs = Object.entries(labels).map(([key, value]) => (value ? `${key}=${value}` : key))
  const images = [
    ...(extensions === undefined
      ? []
      : [extensions.length === 0 ? 'no extensions' : extensions.join(', ')]),
    ...(kernel_args === undefined || kernel_args.length === 0
      ? []
      : [`kernel arguments ${kernel_args.join(' ')}`]),
  ]
  return [
    ...(pairs.length > 0 ? [{ part: 'labels' as const, said: `Labels: ${pairs.join(', ')}` }] : []),
    ...(snapshots
      ? [
          {
            part: 'snapshots' as const,
            said: `Snapshots every ${counted(snapshots.every_hours, 'hour')} to the store ${snapshots.store}`,
          },
        ]
      : []),
    ...(window
      ? [
          {
            part: 'maintenance_window' as const,
            said: `Maintenance window: ${windowText(window)}`,
          },
        ]
      : []),
    ...(images.length > 0
      ? [{ part: 'extensions' as const, said: `Image: ${images.join('; ')}` }]
      : []),
    ...(subnets.length > 0
      ? [{ part: 'subnets' as const, said: counted(subnets.length, 'subnet') }]
      : []),
  ]
}

const isSame = (has: readonly string[] | null, wanted: readonly string[] | undefined): boolean =>
  wanted === undefined || (has !== null && has.join('\n') === wanted.join('\n'))

/** Whether a server has the extensions and kernel arguments already. Unknown ones it has not. */
export const hasImage = (
  has: Pick<ServerExtensions, 'extensions' | 'kernel_args'>,
  { extensions, kernel_args }: Rest,
): boolean =>
  isSame(has.extensions?.toSorted() ?? null, extensions?.toSorted()) &&
  isSame(has.kernel_args, kernel_args)

/** The rest without a part that is set, or that a person leaves out. */
export function without(rest: Rest, part: Part): Rest {
  const { extensions, kernel_args, ...more } = rest
  if (part === 'extensions') return more
  const now: Rest = {
    ...more,
    ...(extensions && { extensions }),
    ...(kernel_args && { kernel_args }),
  }
  if (part === 'labels') return { ...now, labels: {} }
  if (part === 'subnets') return { ...now, subnets: [] }
  return { ...now, [part]: null }
}

/** Sets a part. @throws Error with a sentence if a store is gone; CallError */
export async function setPart(
  { id }: Pick<Cluster, 'id'>,
  { labels, snapshots, maintenance_window: window }: Rest,
  part: SetPart,
): Promise<void> {
  const params = { id }
  if (part === 'labels') await call(clusterUpdate, { params, body: { labels } })
  else if (part === 'maintenance_window') await call(clusterWindowSet, { params, body: { window } })
  else if (snapshots) {
    const { store: name, ...schedule } = snapshots
    const { items } = await call(storeList, { query: { per_page: 1000 } })
    const store = items.find((one) => one.name === name)
    if (!store)
      throw new Error(
        `The store ${name} is gone. Set a schedule with another store on the tab Snapshots.`,
      )
    await call(snapshotScheduleSet, { params, body: { ...schedule, store_id: store.id } })
  }
}

const nameOf = (id: string): string => `cluster/${id}/rest`

/** What remains for a cluster; null if nothing does. */
export async function readRest(userId: string, id: string): Promise<Rest | null> {
  const read = z.safeParse(Rest, (await readDraft(userId, nameOf(id)))?.value)
  return read.success ? read.data : null
}

/** Keeps what remains, or forgets it if nothing does. */
export async function keepRest(userId: string, id: string, rest: Rest): Promise<void> {
  await (partsOf(rest).length === 0
    ? removeDraft(userId, nameOf(id))
    : writeDraft(userId, nameOf(id), rest))
}

/**
 * Keeps the rest of a new cluster, and sets what can be set before the cluster is ready. What fails
 * remains, and the page of the cluster shows it.
 */
export async function beginRest(
  userId: string,
  cluster: Pick<Cluster, 'id'>,
  all: Rest,
): Promise<void> {
  let rest = z.parse(Rest, all)
  await keepRest(userId, cluster.id, rest)
  for (const part of ['labels', 'snapshots'] as const) {
    if (!partsOf(rest).some((one) => one.part === part)) continue
    try {
      await setPart(cluster, rest, part)
    } catch {
      continue
    }
    rest = without(rest, part)
    await keepRest(userId, cluster.id, rest)
  }
}

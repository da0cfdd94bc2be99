/** What the editors of labels ask and send. */
import { clusterUpdate } from '#contract/clusters/update.ts'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { clusterLabels, serverLabels } from '#contract/labels/known.ts'
import { serverGet, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { labelText } from '../../lib/label.ts'
import type { Relabelling } from './edits.ts'
import type { Labelled } from './labelled.ts'

/** The labels that objects of a kind have, the most used first. */
export const known = {
  server: query(serverLabels),
  cluster: query(clusterLabels),
} as const

/** The call that changes an object of a kind. */
export const updateOf = { server: serverUpdate, cluster: clusterUpdate } as const

/** Sends a change of labels and notes, and fetches what shows them. */
export async function relabel(
  { kind, id }: Pick<Labelled, 'kind' | 'id'>,
  body: Relabelling,
): Promise<void> {
  if (Object.keys(body).length === 0) return
  if (kind === 'server') await call(serverUpdate, { params: { id }, body })
  else await call(clusterUpdate, { params: { id }, body })
  await refreshLabels()
}

export const refreshLabels = (): Promise<unknown> =>
  invalidate(serverList, serverGet, clusterList, clusterGet, serverLabels, clusterLabels)

/** The keys of known labels, those of the most used labels first. */
export const keysOf = (items: readonly { key: string }[] = []): string[] => [
  ...new Set(items.map(({ key }) => key)),
]

/** Texts of known labels, for suggestions. */
export const textsOf = (items: readonly { key: string; value: string }[] = []): string[] =>
  items.map(({ key, value }) => labelText([key, value]))

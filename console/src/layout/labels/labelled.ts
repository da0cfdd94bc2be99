import type { Labels } from '#contract/labels/selector.ts'

/** A server or a cluster, as the editor of labels takes it. */
export interface Labelled {
  kind: 'server' | 'cluster'
  id: string
  name: string
  labels: Labels
  notes: string
}

export const labelledOf = (
  kind: Labelled['kind'],
  {
    id,
    name,
    labels = {},
    notes = '',
  }: Pick<Labelled, 'id' | 'name'> & {
    labels?: Labels | undefined
    notes?: string | undefined
  },
): Labelled => ({ kind, id, name, labels, notes })

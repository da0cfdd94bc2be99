/** The labels that servers and clusters have, as suggestions for forms and selectors. */
import * as z from 'zod/mini'
import { operation } from '../operation.ts'

/** Most labels of an answer. */
export const mostKnownLabels = 1000

export const KnownLabels = z.object({
  /** Each key with each of its values, the most used first. */
  items: z.array(
    z.object({
      key: z.string(),
      value: z.string(),
      /** Number of servers or clusters that have the label. */
      count: z.int(),
    }),
  ),
  /** There are more than the answer names. */
  more: z.boolean(),
})
export type KnownLabels = z.infer<typeof KnownLabels>

export const serverLabels = operation('serverLabels', 'GET /v1/labels/nodes', 'servers:read', {
  summary: `Labels that servers have, the most used first, at most ${mostKnownLabels}.`,
  answer: KnownLabels,
})
export const clusterLabels = operation(
  'clusterLabels',
  'GET /v1/labels/clusters',
  'clusters:read',
  {
    summary: `Labels that clusters have, the most used first, at most ${mostKnownLabels}.`,
    answer: KnownLabels,
  },
)

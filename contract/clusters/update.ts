/** The change of a cluster's labels and notes, which changes nothing on its servers. */
import * as z from 'zod/mini'
import { labelling } from '../labels/labels.ts'
import { callsOf } from '../object-calls.ts'
import type { Words } from '../operation.ts'
import { Cluster } from './clusters.ts'

export const clusterUpdate = callsOf(
  'cluster',
  '/v1/clusters',
  { read: 'clusters:read', write: 'clusters:write' },
  Cluster,
).update({
  summary: 'Change the labels and notes of a cluster.',
  body: z.strictObject(labelling),
  errors: ['stale'],
})

/** Words for the API documentation. */
export const words: Words = {
  bodies: { clusterUpdate: { labels: { env: 'prod', team: null } } },
}

/**
 * Clusters that only a set of files changes: others are refused, so that nobody changes by hand what
 * the next `steelyard apply` would change back. A guard against slips, not a permission: whoever may
 * change the cluster may release it.
 */
import * as z from 'zod/mini'
import { SetName } from '../apply/applied.ts'
import { operation, type Words } from '../operation.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { Cluster } from './clusters.ts'

export const clusterFilesHold = operation(
  'clusterFilesHold',
  'PUT /v1/clusters/{id}/files',
  'clusters:write',
  {
    summary:
      'Let only a set of files change the cluster: changes by requests without the header `Steelyard-Apply` of this set are refused.',
    body: z.strictObject({ set: SetName }),
    answer: Cluster,
    errors: ['held_by_files'],
  },
)
export const clusterFilesRelease = operation(
  'clusterFilesRelease',
  'DELETE /v1/clusters/{id}/files',
  'clusters:write',
  {
    summary:
      'Let everybody who may change clusters change this one again, until its files hold it anew. Only a person can do this, not an API token.',
    session: true,
    proof: true,
    answer: Cluster,
    status: 200,
  },
)

/**
 * Whether a request may change a cluster.
 * @param set the set of files that the request carries out; undefined: none
 */
export const canChangeHeld = (
  { name, files }: Pick<Cluster, 'name' | 'files'>,
  set: string | undefined,
): Verdict => (files == null || files.set === set ? yes : no(heldByFiles(name, files)))

/** Why a person can't change the cluster, and what to do. */
export const heldByFiles = (
  name: string,
  { set, by, since }: NonNullable<Cluster['files']>,
): string =>
  `Only the files of the set ${set} change ${name}${by === null ? '' : `: ${by} has said so`} (since ${since.slice(0, 10)} ${since.slice(11, 16)} UTC). Change the files and apply them, or release the cluster first`

/** Words for the API documentation. */
export const words: Words = {
  fields: { 'clusterFilesHold.set': 'Name of the set of files: `--set` of `steelyard apply`.' },
  bodies: { clusterFilesHold: { set: 'rack-12' } },
}

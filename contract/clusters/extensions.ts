/**
 * Extensions and kernel arguments of a cluster's servers, read from the machines at the moment of
 * the call.
 */
import * as z from 'zod/mini'
import { operation } from '../operation.ts'

export const ServerExtensions = z.object({
  node_id: z.uuid(),
  name: z.string(),
  /** null: the machine or the image factory did not answer. */
  extensions: z.nullable(z.array(z.string())),
  /**
   * Without the argument with which the server announces itself. null: the machine or the image
   * factory did not answer.
   */
  kernel_args: z.nullable(z.array(z.string())),
  /** Why the values are unknown. */
  reason: z.nullable(z.string()),
})
export type ServerExtensions = z.infer<typeof ServerExtensions>

export const clusterExtensions = operation(
  'clusterExtensions',
  'GET /v1/clusters/{id}/extensions',
  'clusters:read',
  {
    summary:
      'The extensions and kernel arguments of the image that each server of a cluster runs, read now.',
    answer: z.object({ items: z.array(ServerExtensions) }),
    errors: ['cluster_not_ready'],
  },
)

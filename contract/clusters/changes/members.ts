/**
 * Changes of the servers of a running cluster: servers are added, removed, replaced, or get the
 * other role.
 */
import * as z from 'zod/mini'
import { ClusterRole, ClusterServer } from '../clusters.ts'

const mostServers = 500
const some = <T extends z.ZodMiniType>(server: T) =>
  z.array(server).check(z.minLength(1, 'Choose at least one server'), z.maxLength(mostServers))

/** True: the workload disks of the server are not wiped when it is reset. */
const keep_workload_disks = z._default(z.boolean(), false)

/** Adds servers: control planes one at a time, then all workers. */
export const Grow = z.strictObject({ kind: z.literal('grow'), servers: some(ClusterServer) })

/**
 * Removes servers. `force`: remove a server that does not answer without resetting it; it is reset
 * as soon as it answers.
 */
export const Shrink = z.strictObject({
  kind: z.literal('shrink'),
  servers: some(
    z.strictObject({
      node_id: z.uuid(),
      keep_workload_disks,
      force: z._default(z.boolean(), false),
    }),
  ),
})

/** Gives servers the other role. Each is reset and joins again; its workload disks are kept. */
export const Role = z.strictObject({
  kind: z.literal('role'),
  servers: some(z.strictObject({ node_id: z.uuid(), role: ClusterRole })),
})

/** Replaces the server `node_id` with the server `by`, which gets its role. */
export const Replace = z.strictObject({
  kind: z.literal('replace'),
  node_id: z.uuid(),
  keep_workload_disks,
  by: z.omit(ClusterServer, { role: true }),
})

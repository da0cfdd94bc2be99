/**
 * Patches of servers that join. They may contain secrets, and arguments of operations never do, so
 * a change with patches is stored encrypted.
 */
import * as z from 'zod/mini'
import type { ClusterServer } from '#contract/clusters/clusters.ts'
import type { ChangeKind } from '../frame.ts'

const Stored = z.object({ kind: z.string(), sealed: z.string() })

/** The place names the cluster's configurations, because operations of earlier releases are there. */
const place = (clusterId: string) => ({
  table: 'cluster_server_config',
  column: 'sealed',
  owner: clusterId,
})

/** @param joining the servers that the change adds */
export const sealedPatches = <C extends { readonly kind: string }>(
  joining: (change: C) => readonly Pick<ClusterServer, 'patch'>[],
): NonNullable<ChangeKind<C>['sealed']> => ({
  async close({ vault }, tx, clusterId, change) {
    if (joining(change).every((s) => s.patch === undefined)) return change
    const bytes = Buffer.from(JSON.stringify(change))
    const sealed = await vault.seal(tx, { ...place(clusterId), bytes })
    return { kind: change.kind, sealed: Buffer.from(sealed).toString('base64') }
  },
  async open({ vault }, on, clusterId, stored) {
    const read = z.safeParse(Stored, stored)
    // The reconciler parses the result.
    if (!read.success) return stored as C
    return JSON.parse(
      (
        await vault.open(on, {
          ...place(clusterId),
          sealed: Buffer.from(read.data.sealed, 'base64'),
        })
      ).toString('utf8'),
    ) as C
  },
})

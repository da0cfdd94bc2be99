/**
 * Patches of servers that join. They may contain secrets, and arguments of operations never do, so
 * a change with patches is stored encrypted.
 */
import * as z from 'zod/mini'
import type { ClusterServer } from '#contract/clusters/clusters.ts'
import type { ChangeKind } from '../frame.ts'

const Stored = z.object({ kind: z.string(), sealed: z.string() })

/** @param joining the servers that the change adds */
export const sealedPatches = <C extends { readonly kind: string }>(
  joining: (change: C) => readonly Pick<ClusterServer, 'patch'>[],
): NonNullable<ChangeKind<C>['sealed']> => ({
  async close({ secrets }, tx, clusterId, change) {
    if (joining(change).every((s) => s.patch === undefined)) return change
    const sealed = await secrets.sealConfig(tx, clusterId, JSON.stringify(change))
    return { kind: change.kind, sealed: Buffer.from(sealed).toString('base64') }
  },
  async open({ secrets }, on, clusterId, stored) {
    const read = z.safeParse(Stored, stored)
    // The reconciler parses the result.
    if (!read.success) return stored as C
    return JSON.parse(
      await secrets.openConfig(on, clusterId, Buffer.from(read.data.sealed, 'base64')),
    ) as C
  },
})

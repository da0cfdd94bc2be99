/** Which servers a shared patch is for, and which of them a roll-out would change. Pure. */
import type { SharedPatchServer } from '#contract/shared-patches/shared-patches.ts'
import { passing } from '../../../slices.ts'
import { isTargetOf } from './selecting.ts'
import type { SharedStore } from './store.ts'

export type TargetServer = Awaited<ReturnType<SharedStore['servers']>>[number]
export type Head = Awaited<ReturnType<SharedStore['heads']>>[number]
export type Held = Awaited<ReturnType<SharedStore['held']>>[number]
export type State = SharedPatchServer['state']

/** Whether values that are known without the server's hardware are still those that were filled in. */
const isFilledWith = ({ filled }: Held, { name, labels }: TargetServer): boolean =>
  Object.entries(filled).every(([variable, value]) => {
    if (variable === 'name') return value === name
    const key = variable.startsWith('label.') ? variable.slice('label.'.length) : null
    return key === null || (Object.hasOwn(labels, key) && labels[key] === value)
  })

/** The state of a server with regard to a patch; null if the patch doesn't concern it. */
export function stateOf(
  { revision }: Pick<Head, 'revision'>,
  isTarget: boolean,
  server: TargetServer,
  held: Held | undefined,
): State | null {
  if (!isTarget) return held ? 'extra' : null
  return held && held.revision === revision && isFilledWith(held, server) ? 'current' : 'behind'
}

/** The servers that a patch concerns, with their states. `held`: what servers have of this patch. */
export async function statesOf(
  patch: Pick<Head, 'targets' | 'revision'>,
  servers: readonly TargetServer[],
  held: readonly Held[],
): Promise<{ server: TargetServer; held: Held | undefined; state: State }[]> {
  const has = new Map(held.map((row) => [row.server_id, row]))
  const targets = new Set(await passing(servers, isTargetOf(patch.targets)))
  return servers.flatMap((server) => {
    const row = has.get(server.id)
    const state = stateOf(patch, targets.has(server), server, row)
    return state === null ? [] : [{ server, held: row, state }]
  })
}

/**
 * The order of a roll-out: clusters by name, servers without one last; in a cluster workers first,
 * so that a wrong patch breaks a worker before a member of etcd.
 */
export const inRollOutOrder = <S extends Pick<TargetServer, 'name' | 'role' | 'cluster_name'>>(
  servers: readonly S[],
): S[] =>
  servers.toSorted(
    (a, b) =>
      Number(a.cluster_name === null) - Number(b.cluster_name === null) ||
      compare(a.cluster_name ?? '', b.cluster_name ?? '') ||
      Number(a.role === 'control_plane') - Number(b.role === 'control_plane') ||
      compare(a.name, b.name),
  )
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Whether a server has room for a patch, whoever adds or changes it. */
import { canHavePatchBytes, serverPatchLimit } from '#contract/patches.ts'
import { canAdd } from '#contract/rule.ts'
import type { Db, Tx } from '../../db/db.ts'
import { demand } from '../../http/errors.ts'
import type { PatchStore } from './store.ts'

const sum = (rows: readonly { readonly bytes: number }[]): number =>
  rows.reduce((total, { bytes }) => total + bytes, 0)

/**
 * @param replaced id of the patch whose body is replaced; undefined for a new one
 * @throws Problem conflict
 */
export async function demandPatchRoom(
  store: Pick<PatchStore, 'sizes'>,
  on: Db | Tx,
  nodeId: string,
  body: string,
  replaced?: string,
): Promise<void> {
  const rows = await store.sizes(on, nodeId)
  if (replaced === undefined) demand(canAdd(serverPatchLimit, rows.length), 'conflict')
  const others = sum(rows.filter(({ id }) => id !== replaced))
  demand(canHavePatchBytes(others + Buffer.byteLength(body), sum(rows)), 'conflict')
}

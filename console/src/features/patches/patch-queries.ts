import { patchGet, patchList, patchSchema } from '#contract/patches.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { invalidate, query } from '../../api/query.ts'

export const patchesQuery = (serverId: string) => query(patchList, { params: { id: serverId } })
export const patchQuery = (serverId: string, patchId: string) =>
  query(patchGet, { params: { id: serverId, patchId } })
/** Never refetched: the schema doesn't change while the Steelyard server runs. */
export const schemaQuery = { ...query(patchSchema), staleTime: Number.POSITIVE_INFINITY }

/**
 * Refetches a server's patches and the server after a change of a patch. The server's eligibility
 * depends on its patches.
 */
export const refreshPatches = (): Promise<unknown> =>
  invalidate(patchList, patchGet, serverGet, serverList)

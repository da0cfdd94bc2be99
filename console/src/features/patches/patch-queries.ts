import { patchGet, patchList, patchSchema } from '#contract/patches.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { invalidate, query } from '../../api/query.ts'

export const patchesQuery = (serverId: string) => query(patchList, { params: { id: serverId } })
export const patchQuery = (serverId: string, patchId: string) =>
  query(patchGet, { params: { id: serverId, patchId } })
/**
 * Never refetched: the schema of a version doesn't change while the Steelyard server runs.
 * @param talosVersion of the machine that reads the patch; null if that isn't known yet
 */
export const schemaQuery = (talosVersion: string | null) => ({
  ...query(patchSchema, {
    query: talosVersion === null ? {} : { talos_version: talosVersion },
  }),
  staleTime: Number.POSITIVE_INFINITY,
})

/**
 * Refetches a server's patches and the server after a change of a patch. The server's eligibility
 * depends on its patches.
 */
export const refreshPatches = (): Promise<unknown> =>
  invalidate(patchList, patchGet, serverGet, serverList)

import { keepPreviousData } from '@tanstack/react-query'
import {
  serverSharedPatches,
  sharedPatchGet,
  sharedPatchList,
  sharedPatchServers,
} from '#contract/shared-patches/shared-patches.ts'
import { invalidate, query } from '../../../api/query.ts'
import { askedOf, type ListSearch } from '../../../lib/list-search.ts'

export const sharedPatchesQuery = (search: ListSearch) => ({
  ...query(sharedPatchList, { query: askedOf(sharedPatchList, search) }),
  placeholderData: keepPreviousData,
})
export const sharedPatchQuery = (id: string) => query(sharedPatchGet, { params: { id } })
/** The servers that a patch is for, and those that have it. */
export const patchServersQuery = (id: string) => query(sharedPatchServers, { params: { id } })
/** The shared patches of a server. */
export const ofServerQuery = (id: string) => query(serverSharedPatches, { params: { id } })

/** Refetches shared patches and their operations after a change. */
export const refreshSharedPatches = () =>
  invalidate(
    sharedPatchList,
    sharedPatchGet,
    sharedPatchServers,
    serverSharedPatches,
    { name: 'operationList' },
    { name: 'operationGet' },
  )

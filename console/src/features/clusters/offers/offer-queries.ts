import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { offerDifference, offerGet, offerList, offerToolGet } from '#contract/marketplace/offers.ts'
import { invalidate, query } from '../../../api/query.ts'

export const offerOne = (id: string) => query(offerGet, { params: { id } })
/** Computed from the live inventory, so an earlier answer is never shown as current. */
export const differenceOf = (id: string) => ({
  ...query(offerDifference, { params: { id } }),
  staleTime: 0,
  gcTime: 0,
})
/** The tool's name and commands are settings, which change only with a restart of Steelyard. */
export const offerTool = { ...query(offerToolGet), staleTime: 10 * 60_000 }

export const refreshOffers = (): Promise<unknown> =>
  invalidate(offerGet, offerList, offerDifference, clusterGet, clusterList)

import { queryOptions } from '@tanstack/react-query'
import { call } from '../../../api/client.ts'

/** All racks, for filters. Their calls are loaded when they are asked. */
export const everyRack = queryOptions({
  queryKey: ['rackList', { every: true }],
  queryFn: async ({ signal }) => {
    const { rackList } = await import('#contract/racks/racks.ts')
    return call(rackList, { query: { per_page: 1000, sort: 'name' } }, signal)
  },
})

import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { call } from '../../../api/client.ts'
import { keyOf } from '../../../api/query.ts'
import { everyPage } from '../../../lib/every-page.ts'

/** All servers of the datacenter with this code. Nothing is read without a code. */
export const useServersOf = (datacenter: string | undefined): UseQueryResult<Server[]> =>
  useQuery({
    queryKey: [keyOf(serverList), { every: datacenter }],
    queryFn: ({ signal }) =>
      everyPage((page) => call(serverList, { query: { datacenter: datacenter!, page } }, signal)),
    enabled: datacenter !== undefined,
    select: withoutRemoved,
  })

const withoutRemoved = (servers: readonly Server[]): Server[] =>
  servers.filter((s) => s.status !== 'deleted')

// Query · loader · page.
import { lazy } from 'react'
import type { Load } from '../api/page.ts'
import { CreateCluster, datacentersQuery, versionsQuery } from '../features/clusters/CreateCluster.tsx'
import { useSearch } from '../lib/use-search.ts'

const PatchWriter = lazy(() => import('../features/patches/PatchWriter.tsx'))
const writeBody: Parameters<typeof CreateCluster>[0]['writeBody'] = (asked) => <PatchWriter {...asked} />

export const load: Load = ({ client }) => Promise.all([client.ensureQueryData(datacentersQuery()), client.ensureQueryData(versionsQuery())])

export function Page() {
  const { search, setSearch } = useSearch()
  return <CreateCluster search={search} setSearch={setSearch} writeBody={writeBody} />
}

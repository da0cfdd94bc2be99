// Query · loader · page.
import { useNavigate, useSearch } from '@tanstack/react-router'
import { datacenterList } from '#contract/datacenters.ts'
import type { Load } from '../api/page.ts'
import { query } from '../api/query.ts'
import { datacenterQuery, DatacentersPage } from '../features/datacenters/DatacentersPage.tsx'

export const load: Load = ({ search, client }) => client.ensureQueryData(query(datacenterList, { query: datacenterQuery(search) }))

export function Page() {
  const search = useSearch({ from: '/infra/datacenters' })
  const navigate = useNavigate()
  return <DatacentersPage search={search} onSearch={(next) => void navigate({ to: '/infra/datacenters', search: next, replace: true })} />
}

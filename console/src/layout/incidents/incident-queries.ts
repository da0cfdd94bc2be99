import { keepPreviousData } from '@tanstack/react-query'
import { incidentGet, incidentList } from '#contract/incidents/incidents.ts'
import { query } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

export const incidentsQuery = (search: ListSearch) => ({
  ...query(incidentList, { query: askedOf(incidentList, search) }),
  placeholderData: keepPreviousData,
})
export const incidentQuery = (id: string) => query(incidentGet, { params: { id } })

import { keepPreviousData } from '@tanstack/react-query'
import { auditList } from '#contract/audit.ts'
import { query } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

/** New entries make no live event, so each visit fetches them again. */
export const auditQuery = (search: ListSearch) => ({
  ...query(auditList, { query: askedOf(auditList, search) }),
  placeholderData: keepPreviousData,
  staleTime: 0,
})

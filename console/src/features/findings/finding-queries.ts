import { keepPreviousData } from '@tanstack/react-query'
import { findingList } from '#contract/findings/findings.ts'
import { query } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

export const findingsQuery = (search: ListSearch) => ({
  ...query(findingList, { query: askedOf(findingList, search) }),
  placeholderData: keepPreviousData,
})

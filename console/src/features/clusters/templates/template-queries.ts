import { keepPreviousData } from '@tanstack/react-query'
import { templateList } from '#contract/templates/templates.ts'
import { query } from '../../../api/query.ts'
import { askedOf, type ListSearch } from '../../../lib/list-search.ts'

export const templatesQuery = (search: ListSearch) => ({
  ...query(templateList, { query: askedOf(templateList, search) }),
  placeholderData: keepPreviousData,
})

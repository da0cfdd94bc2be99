import { keepPreviousData } from '@tanstack/react-query'
import { templateGet, templateList } from '#contract/templates/templates.ts'
import { query } from '../../../api/query.ts'
import { askedOf, type ListSearch } from '../../../lib/list-search.ts'

export const templatesQuery = (search: ListSearch) => ({
  ...query(templateList, { query: askedOf(templateList, search) }),
  placeholderData: keepPreviousData,
})
/** A template with its whole patches. */
export const templateQuery = (id: string) => query(templateGet, { params: { id } })

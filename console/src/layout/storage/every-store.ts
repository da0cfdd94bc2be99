import { storeList } from '#contract/storage/stores.ts'
import { query } from '../../api/query.ts'

/** All stores, for select boxes. */
export const everyStore = query(storeList, { query: { per_page: 1000, sort: 'name' } })

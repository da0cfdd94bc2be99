import { describe, expect, it } from 'vitest'
import { isFiltered, noFilters, readServerSearch, serverQuery } from './server-search.ts'

describe('search params of the server list', () => {
  it('asks page 1 of 1000 unless the address says otherwise', () => {
    expect(serverQuery({})).toEqual({ page: 1, per_page: 1000 })
    expect(serverQuery({ page: '3', size: '25' })).toEqual({ page: 3, per_page: 25 })
  })

  it('takes strings only', () => {
    expect(readServerSearch({ q: 'oak', page: 2, cluster: ['a'], status: '', other: 'x' })).toEqual({ q: 'oak' })
  })

  it('sends filters only if they are not empty and allowed', () => {
    expect(serverQuery({ status: 'ready', nodeType: 'worker', sort: '-contact', q: '127' })).toEqual({
      page: 1,
      per_page: 1000,
      status: 'ready',
      nodeType: 'worker',
      sort: '-contact',
      q: '127',
    })
    expect(serverQuery({ confirmed: 'false' })).toEqual({ page: 1, per_page: 1000, confirmed: 'false' })
    expect(serverQuery({ status: 'sleepy', confirmed: 'maybe', nodeType: 'boss', sort: 'colour', page: '0', size: '7' })).toEqual({ page: 1, per_page: 1000 })
    expect(serverQuery({ page: '1e3', size: '-5', datacenter: 'x'.repeat(41) })).toEqual({ page: 1, per_page: 1000 })
  })

  it('resets what narrows the list and nothing else', () => {
    const search = { q: 'x', status: 'ready', cluster: 'a', confirmed: 'false', sort: '-name', size: '50', page: '2' }
    expect(isFiltered(search)).toBe(true)
    const reset = readServerSearch({ ...search, ...noFilters })
    expect(reset).toEqual({ sort: '-name', size: '50' })
    expect(isFiltered(reset)).toBe(false)
  })
})

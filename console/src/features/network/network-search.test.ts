import { expect, test } from 'vitest'
import { filterQuery, isFiltered, noFilters, readNetworkSearch, subnetQuery } from './network-search.ts'

test('what stands in the address is asked, and nothing that nobody knows', () => {
  const search = readNetworkSearch({
    q: '10.0.0.5',
    cluster: 'poz-a',
    status: 'active',
    type: 'IPv4',
    sort: '-used',
    page: '2',
    size: '10',
    open: 'x',
    other: 'y',
    purpose: 7,
  })
  expect(subnetQuery(search)).toEqual({ q: '10.0.0.5', cluster: 'poz-a', status: 'active', type: 'IPv4', sort: '-used', page: 2, per_page: 10 })
  expect(subnetQuery(readNetworkSearch({ status: 'asleep', type: 'ipx', sort: 'colour', page: '0', size: '5000', cluster: 'c'.repeat(41) }))).toEqual({
    page: 1,
    per_page: 50,
  })
})

test('an export takes the filters and neither page nor order', () => {
  expect(filterQuery({ q: 'a', datacenter: 'PL-POZ-1', sort: 'name', page: '3' })).toEqual({ q: 'a', datacenter: 'PL-POZ-1' })
})

test('the address map and the order narrow nothing', () => {
  expect([isFiltered({ open: 'x', sort: 'name', page: '2' }), isFiltered({ q: 'a' })]).toEqual([false, true])
  const all = { q: 'a', cluster: 'b', datacenter: 'c', status: 'd', type: 'e', purpose: 'f' }
  expect(Object.entries(all).filter(([key, value]) => !isFiltered({ [key]: value }))).toEqual([])
  expect(Object.keys(noFilters).toSorted()).toEqual([...Object.keys(all), 'page'].toSorted())
})

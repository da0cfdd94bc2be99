import { expect, test } from 'vitest'
import { joinTokenList } from '#contract/join-tokens.ts'
import { ccList } from '#contract/marketplace/ccs.ts'
import { subnetList } from '#contract/network/subnets.ts'
import { viewKeys } from '#contract/list.ts'
import { serverList } from '#contract/servers/server.ts'
import {
  askedOf,
  isNarrowed,
  narrowingOf,
  sameView,
  showing,
  viewOf,
  widened,
} from './list-search.ts'

const asked = (search: Record<string, string>) => askedOf(serverList, search)

test('by default the first page is requested, with the default size of the list', () => {
  expect(asked({})).toEqual({ page: 1, per_page: 1000 })
  expect(askedOf(joinTokenList, {})).toEqual({ page: 1, per_page: 50 })
  expect(asked({ page: '3', size: '25' })).toEqual({ page: 3, per_page: 25 })
})

test('the page must be a whole number in plain digits, and the size one of the offered sizes', () => {
  expect(['1', '50', '999999'].map((page) => asked({ page }).page)).toEqual([1, 50, 999_999])
  for (const page of ['0', '-1', '1.5', '1e2', '1e3', '+1', ' 1', '01', '1000000', '', 'x'])
    expect(asked({ page }).page).toBe(1)
  expect(
    ['5', '1000', '7', '1e3', '', '-5'].map((size) => askedOf(joinTokenList, { size }).per_page),
  ).toEqual([5, 1000, 50, 50, 50, 50])
})

test('only filters and sort orders that the contract accepts are sent', () => {
  expect(
    asked({
      status: 'ready',
      nodeType: 'worker',
      sort: '-contact',
      q: '127',
      eligible: 'true',
      cluster: 'poz-a',
      add: 'new',
      open: 'x',
    }),
  ).toEqual({
    page: 1,
    per_page: 1000,
    status: 'ready',
    nodeType: 'worker',
    sort: '-contact',
    q: '127',
    eligible: 'true',
    cluster: 'poz-a',
  })
  expect(asked({ confirmed: 'false' })).toEqual({ page: 1, per_page: 1000, confirmed: 'false' })
  expect(
    asked({
      status: 'sleepy',
      confirmed: 'maybe',
      nodeType: 'boss',
      sort: 'colour',
      datacenter: 'x'.repeat(41),
    }),
  ).toEqual({ page: 1, per_page: 1000 })
  for (const sort of ['other', '--name', '-', 'eligible'])
    expect(asked({ sort })).toEqual({ page: 1, per_page: 1000 })
  expect(asked({ q: 'a'.repeat(300) })).toMatchObject({ q: 'a'.repeat(200) })
  expect(
    askedOf(subnetList, {
      q: '10.0.0.5',
      status: 'active',
      type: 'IPv4',
      sort: '-used',
      page: '2',
      size: '10',
      open: 'x',
    }),
  ).toEqual({
    q: '10.0.0.5',
    status: 'active',
    type: 'IPv4',
    sort: '-used',
    page: 2,
    per_page: 10,
  })
  expect(askedOf(joinTokenList, { status: 'lost', sort: '-colour' })).toEqual({
    page: 1,
    per_page: 50,
  })
})

test('a range that the contract rejects is not sent', () => {
  expect(askedOf(ccList, { cu: '32..64', price: '..1.5' })).toMatchObject({
    cu: '32..64',
    price: '..1.5',
  })
  for (const cu of ['64..32', '..', 'many', '1e400..', '-1..'])
    expect(askedOf(ccList, { cu })).toEqual({ page: 1, per_page: 50 })
})

test('an export uses the filters, but not page and order', () => {
  expect(
    narrowingOf(subnetList, {
      q: 'a',
      datacenter: 'PL-POZ-1',
      sort: 'name',
      page: '3',
      type: 'ipx',
    }),
  ).toEqual({ q: 'a', datacenter: 'PL-POZ-1' })
})

test('search and filters narrow a list; order, page and expanded rows do not', () => {
  const { list } = subnetList
  expect([
    isNarrowed(list, { open: 'x', sort: 'name', page: '2' }),
    isNarrowed(list, { q: 'a' }),
  ]).toEqual([false, true])
  for (const key of ['q', 'cluster', 'datacenter', 'status', 'type', 'purpose'])
    expect(isNarrowed(list, { [key]: 'x' })).toBe(true)
  expect(viewKeys(list)).toEqual([
    'q',
    'cluster',
    'datacenter',
    'status',
    'type',
    'purpose',
    'sort',
  ])
})

test('a reset removes search and filters and keeps order and page size', () => {
  const search = {
    q: 'x',
    status: 'ready',
    cluster: 'a',
    confirmed: 'false',
    sort: '-name',
    size: '50',
    page: '2',
  }
  const reset = Object.fromEntries(
    Object.entries({ ...search, ...widened(serverList.list) }).filter(
      ([, value]) => value !== undefined,
    ),
  )
  expect(reset).toEqual({ sort: '-name', size: '50' })
})

test('a view contains only the filters and the sort order', () => {
  expect(
    viewOf(serverList.list, { q: '', status: 'ready', sort: '-name', page: '3', add: 'new' }),
  ).toEqual({ status: 'ready', sort: '-name' })
  expect(viewOf(serverList.list, { cluster: 'none', group: 'rack', open: '!' })).toEqual({
    cluster: 'none',
    group: 'rack',
  })
  expect(sameView({ status: 'ready', sort: '-name' }, { sort: '-name', status: 'ready' })).toBe(
    true,
  )
  expect(sameView({ status: 'ready' }, { status: 'ready', sort: 'name' })).toBe(false)
  expect(sameView({ status: 'ready' }, { status: 'ready', group: 'rack' })).toBe(false)
})

test('opening a view removes all params that are not part of the view', () => {
  const keys = Object.fromEntries(viewKeys(serverList.list).map((key) => [key, undefined]))
  expect(showing(serverList.list, { status: 'ready' })).toStrictEqual({
    ...keys,
    status: 'ready',
    page: undefined,
    open: undefined,
  })
  const grouped = viewOf(serverList.list, { cluster: 'none', group: 'rack', open: '!' })
  expect(showing(serverList.list, grouped)).toStrictEqual({
    ...keys,
    cluster: 'none',
    group: 'rack',
    page: undefined,
    open: undefined,
  })
})

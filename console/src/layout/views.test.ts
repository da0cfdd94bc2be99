import { expect, test } from 'vitest'
import { sameView, showing, viewOf } from './views.ts'

const keys = ['q', 'status', 'sort']

test('a view contains only the filters and the sort order', () => {
  expect(viewOf({ q: '', status: 'ready', sort: '-name', page: '3', add: 'new' }, keys)).toEqual({ status: 'ready', sort: '-name' })
  expect(sameView({ status: 'ready', sort: '-name' }, { sort: '-name', status: 'ready' })).toBe(true)
  expect(sameView({ status: 'ready' }, { status: 'ready', sort: 'name' })).toBe(false)
})

test('showing a view removes the params that it doesn’t have', () => {
  expect(showing({ status: 'ready' }, keys)).toEqual({ q: undefined, status: 'ready', sort: undefined, page: undefined })
})

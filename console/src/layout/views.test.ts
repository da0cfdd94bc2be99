import { expect, test } from 'vitest'
import { sameView, showing, viewOf } from './views.ts'

const keys = ['q', 'status', 'sort']

test('a view is what narrows and orders the list, and nothing else of the address', () => {
  expect(viewOf({ q: '', status: 'ready', sort: '-name', page: '3', add: 'new' }, keys)).toEqual({ status: 'ready', sort: '-name' })
  expect(sameView({ status: 'ready', sort: '-name' }, { sort: '-name', status: 'ready' })).toBe(true)
  expect(sameView({ status: 'ready' }, { status: 'ready', sort: 'name' })).toBe(false)
})

test('showing one takes off what it does not say', () => {
  expect(showing({ status: 'ready' }, keys)).toEqual({ q: undefined, status: 'ready', sort: undefined, page: undefined })
})

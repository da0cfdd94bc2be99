import { expect, expectTypeOf, test } from 'vitest'
import { everyText, parseSearch, samePlace, stringifySearch, texts } from './search.ts'

test('values of search params stay strings', () => {
  expect(parseSearch('?q=127&flag=true&x=%7B%7D')).toEqual({ q: '127', flag: 'true', x: '{}' })
  expect(stringifySearch({ q: '10.0.0.1/24', page: 2, none: undefined, empty: '' })).toBe(
    '?q=10.0.0.1%2F24&page=2',
  )
  expect(stringifySearch({})).toBe('')
})

test('of a search param that is given twice, the first value counts', () => {
  expect(parseSearch('?cluster=first&q=a&cluster=second')).toEqual({ cluster: 'first', q: 'a' })
  expect(Object.getPrototypeOf(parseSearch('?__proto__=1&__proto__=2'))).toBe(Object.prototype)
})

test('only string params are kept, and on a page that lists its params only those', () => {
  expect(everyText({ q: 'oak', page: 2, cluster: ['a'], status: '', other: 'x' })).toEqual({
    q: 'oak',
    other: 'x',
  })
  expect(texts('cluster', 'nodeType')({ cluster: 'a', nodeType: 3, other: 'x' })).toEqual({
    cluster: 'a',
  })
  const none = texts()
  expect(none({ other: 'x' })).toEqual({})
  // Otherwise, a link with any param to a page that has none compiles.
  expectTypeOf(none).returns.not.toHaveProperty('other')
})

test('the redirect after sign-in leads only to pages of the console', () => {
  const origin = 'https://console.example'
  const to = (href: unknown) => samePlace(href, origin)
  expect(to('/infra/servers?q=a#b')).toBe('/infra/servers?q=a#b')
  for (const bad of [
    'https://evil.example/',
    '//evil.example/x',
    '/\\evil.example',
    'javascript:alert(1)',
    '/auth/login',
    undefined,
    7,
    '',
  ])
    expect(to(bad)).toBe('/')
})

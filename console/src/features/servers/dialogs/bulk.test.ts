import { expect, test } from 'vitest'
import { no, yes } from '#contract/rule.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { anyAble } from '../any-able.ts'
import { namesOf, sorted, toEach } from './bulk.ts'

const servers = ['a', 'b', 'c', 'd', 'e', 'f'].map(
  (id) => ({ id, name: `n-${id}` }) as ListedServer,
)
const judge = (s: ListedServer) => (s.id === 'b' ? no('It is in a cluster') : yes)

test('before a bulk action starts, servers that do not allow the action are listed with the reason', () => {
  const { able, unable } = sorted(servers, judge)
  expect(able.map((s) => s.id)).toEqual(['a', 'c', 'd', 'e', 'f'])
  expect(unable).toEqual([{ id: 'b', name: 'n-b', ok: false, reason: 'It is in a cluster' }])
})

test('each server has its own result, in the order of the selection, and a failure does not stop the others', async () => {
  const seen: number[] = []
  const othersEnded = Promise.withResolvers<void>()
  const results = await toEach(
    servers,
    async (s) => {
      if (s.id === 'a') await othersEnded.promise
      if (s.id === 'c') throw new Error('Taken')
    },
    (ended) => {
      if (seen.push(ended) === servers.length - 1) othersEnded.resolve()
    },
  )
  expect(results.map((r) => [r.id, r.ok, r.reason])).toEqual([
    ['a', true, null],
    ['b', true, null],
    ['c', false, 'Taken'],
    ['d', true, null],
    ['e', true, null],
    ['f', true, null],
  ])
  expect(seen).toEqual([1, 2, 3, 4, 5, 6])
})

test('an action is available if at least one selected server allows it', () => {
  expect(anyAble(servers, judge)).toEqual(yes)
  expect(anyAble([servers[1]!], judge)).toEqual(no('It is in a cluster'))
  expect(anyAble([servers[1]!, servers[1]!], judge)).toEqual(no('n-b: It is in a cluster'))
})

test('a dialog names the selected servers, or only the first of many', () => {
  expect(namesOf(servers.slice(0, 2))).toBe('n-a, n-b')
  expect(namesOf(servers, 4)).toBe('n-a, n-b, n-c, n-d and 2 more')
})

test('the number of further names is separated in thousands', () => {
  const many = Array.from({ length: 1234 }, (_, i) => ({ name: `n-${i}` }))
  expect(namesOf(many, 1)).toBe('n-0 and 1\u202f233 more')
})

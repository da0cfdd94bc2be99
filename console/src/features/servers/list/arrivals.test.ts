import { expect, test } from 'vitest'
import { joined, joinedSentence } from './arrivals.ts'

const now = Date.parse('2026-11-20T12:00:00Z')
const server = (id: string, secondsAgo: number) => ({
  id,
  name: `n-${id}`,
  status: 'maintenance' as const,
  created_at: new Date(now - secondsAgo * 1000).toISOString(),
})

test('the servers of the first loaded list do not count as joined', () => {
  expect(joined(null, [server('a', 3)], now)).toEqual([])
})

test('a server that is new in the list and was just registered has joined', () => {
  const list = [
    server('a', 3),
    server('b', 3),
    server('c', 900),
    { ...server('d', 3), status: 'deleted' as const },
  ]
  expect(joined(new Set(['a']), list, now).map((s) => s.id)).toEqual(['b'])
})

test('the message names the first servers and counts the rest', () => {
  const names = (n: number) =>
    joinedSentence(Array.from({ length: n }, (_, i) => ({ name: `s-${i}` })))
  expect(names(1)).toBe('1 server joined: s-0')
  expect(names(4)).toBe('4 servers joined: s-0, s-1, s-2, s-3')
  expect(names(500)).toBe('500 servers joined: s-0, s-1, s-2, s-3 and 496 more')
})

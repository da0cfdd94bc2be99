import { expect, test } from 'vitest'
import { nextTime } from './deciding.ts'
import { type Item, textOf } from './message.ts'

const id = '0198c0de-0000-7000-8000-000000000001'
const silent: Item = {
  event: 'began',
  id,
  kind: 'datacenter_silent',
  severity: 'down',
  object: { kind: 'datacenter', id, name: 'DE-FRA-1' },
  cluster: null,
  datacenter: { id, code: 'DE-FRA-1' },
  since: '2026-11-27T21:38:00.000Z',
  reason: '40 servers fell silent together at 21:38 UTC.',
  remedies: [],
  affected: { kind: 'server', count: 40 },
  caused_by: null,
  ended_at: null,
  count: 1,
}

test('a message leads to what it is about: of a datacenter, to its silent servers', () => {
  const text = (kind: Item['object']['kind'], name: string) =>
    textOf(
      { test: false, items: [{ ...silent, object: { kind, id, name } }], more: 0 },
      'https://steelyard.example.com',
    )
      .trimEnd()
      .split('\n')
      .at(-1)
  const own = 'https://steelyard.example.com'
  const page = `${own}/infra`
  expect(text('datacenter', 'DE-FRA-1')).toBe(`${page}/servers?datacenter=DE-FRA-1&reachable=false`)
  expect(text('cluster', 'web')).toBe(`${page}/clusters/${id}`)
  expect(text('server', 'a')).toBe(`${page}/servers/${id}`)
  expect(text('channel', 'office')).toBe(`${own}/alerts/channels`)
  expect(text('installation', 'Steelyard')).toBe(`${own}/admin/backups`)
})

test('the next time of the day is today or tomorrow, never now', () => {
  expect(nextTime('07:00', new Date('2026-11-27T06:59:59Z')).toISOString()).toBe(
    '2026-11-27T07:00:00.000Z',
  )
  expect(nextTime('07:00', new Date('2026-11-27T07:00:00Z')).toISOString()).toBe(
    '2026-11-28T07:00:00.000Z',
  )
  expect(nextTime('00:15', new Date('2026-12-31T23:00:00Z')).toISOString()).toBe(
    '2027-01-01T00:15:00.000Z',
  )
})

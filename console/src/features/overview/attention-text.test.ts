import { expect, test } from 'vitest'
import type { Finding } from '#contract/findings/findings.ts'
import { groupText } from './attention-text.ts'

const findings = (...names: string[]) =>
  names.map((name) => ({ object: { kind: 'server', id: name, name } }) as Finding)

test('many findings of one kind are one sentence with the place, three names and how many others', () => {
  const items = findings('db-1', 'db-2', 'db-3', 'db-4', 'db-5')
  const datacenter = { id: 'x', code: 'DE-FRA-1' }
  expect(groupText({ kind: 'server_not_ready', datacenter, count: 40, items })).toBe(
    'Node not Ready in DE-FRA-1: db-1, db-2, db-3 and 37 others',
  )
  expect(
    groupText({ kind: 'cluster_etcd_full', datacenter: null, count: 4, items: items.slice(0, 4) }),
  ).toBe('etcd full: db-1, db-2, db-3 and 1 other')
  expect(
    groupText({ kind: 'cluster_etcd_full', datacenter: null, count: 3, items: items.slice(0, 3) }),
  ).toBe('etcd full: db-1, db-2, db-3')
})

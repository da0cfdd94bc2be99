import { expect, test } from 'vitest'
import type { Subnet } from '#contract/network/subnets.ts'
import {
  canChoose,
  canReview,
  choiceOf,
  idsOf,
  sameWish,
  textOfIds,
  verbOf,
} from './assign-choice.ts'

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const poz = { id: uuid(90), code: 'PL-POZ-1' }
const fra = { id: uuid(91), code: 'DE-FRA-1' }
const cluster = {
  id: uuid(50),
  name: 'poz-render-01',
  status: 'ready' as const,
  datacenter: { ...poz, country_code: 'PL' },
}
const other = { id: uuid(51), name: 'poz-other' }
const subnet = (n: number, more: Partial<Subnet> = {}): Subnet => ({
  id: uuid(n),
  name: `net-${n}`,
  type: 'IPv4',
  cidr: `10.0.${n}.0/24`,
  gateway: null,
  vlan_id: null,
  exclude: [],
  first_and_last: false,
  purpose: 'workload',
  datacenter: poz,
  clusters: [],
  status: 'unassigned',
  reason: null,
  total: 254,
  used: 0,
  observed_at: null,
  version: 1,
  created_at: '2026-11-20T10:00:00Z',
  updated_at: '2026-11-20T10:00:00Z',
  ...more,
})
const mine = subnet(1, { clusters: [cluster] })
const theirs = subnet(2, { clusters: [other] })
const shared = subnet(3, { clusters: [other], purpose: 'management' })
const free = subnet(4)
const names = (list: readonly Subnet[]) => list.map((s) => s.name)

test('only a cluster of the same datacenter can be selected; other clusters show the reason', () => {
  expect(canChoose(cluster, [free])).toEqual({ ok: true })
  expect(canChoose(cluster, [subnet(7, { datacenter: fra })])).toEqual({
    ok: false,
    reason: 'net-7 is in DE-FRA-1; cluster poz-render-01 is in PL-POZ-1',
  })
  expect(canChoose({ ...cluster, status: 'deleting' }, [])).toEqual({
    ok: false,
    reason: 'The cluster is being deleted',
  })
})

test('the request has the current subnets of the cluster, minus the removed ones, plus the added ones', () => {
  const choice = choiceOf(cluster, [mine, theirs, shared, free], [free.id, shared.id], [mine.id])
  expect([names(choice.wanted), names(choice.added), names(choice.removed)]).toEqual([
    ['net-3', 'net-4'],
    ['net-3', 'net-4'],
    ['net-1'],
  ])
  expect(choice.free.map(({ subnet: s, can }) => [s.name, can.ok])).toEqual([
    ['net-1', true],
    ['net-2', false],
  ])
})

test('a subnet that was assigned to another cluster in the meantime is not added', () => {
  const choice = choiceOf(cluster, [mine, theirs], [theirs.id, uuid(77)], [])
  expect([names(choice.wanted), canReview(choice).ok]).toEqual([['net-1'], false])
  expect(choice.free[0]!.can).toEqual({ ok: false, reason: 'net-2 is assigned to poz-other' })
})

test('a choice is outdated if somebody else changes one of its subnets after the review', () => {
  const reviewed = choiceOf(cluster, [mine, free], [free.id], [])
  const now = (...all: Subnet[]) => sameWish(reviewed, choiceOf(cluster, all, [free.id], []))
  expect(now(free, mine)).toBe(true)
  expect(now(mine, free, subnet(5, { clusters: [cluster] }))).toBe(false)
  expect(now({ ...mine, status: 'draining' }, free)).toBe(false)
  expect(now(mine, { ...free, clusters: [other] })).toBe(false)
})

test('the button names the change that it makes', () => {
  expect([
    verbOf({ added: [free], removed: [] }),
    verbOf({ added: [], removed: [mine, mine] }),
    verbOf({ added: [free], removed: [mine] }),
  ]).toEqual(['Assign 1 subnet', 'Unassign 2 subnets', 'Assign 1, unassign 1'])
})

test('the URL lists each subnet id once, and anything that is not an id is dropped', () => {
  expect(idsOf(`${uuid(1)},x,${uuid(1)},${uuid(2)}`)).toEqual([uuid(1), uuid(2)])
  expect([idsOf(undefined), textOfIds([]), textOfIds([uuid(1)])]).toEqual([[], undefined, uuid(1)])
})

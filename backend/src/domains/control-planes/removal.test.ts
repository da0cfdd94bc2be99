import { expect, test } from 'vitest'
import { afterLeaving } from '#contract/clusters/clusters.ts'
import { canBeOff, canLeaveEtcd, type EtcdMembers, leavingMembers } from './removal.ts'

const etcd = (
  members: number,
  ill: readonly number[] = [],
  learners: readonly number[] = [],
): EtcdMembers => ({
  members: Array.from({ length: members }, (_, i) => ({
    id: String(i + 1),
    name: `web-${i + 1}`,
    learner: learners.includes(i + 1),
    healthy: !ill.includes(i + 1),
  })),
})

test('a control plane may leave if the others keep a majority', () => {
  expect(canLeaveEtcd(etcd(3), 'web-1', 'prod')).toEqual({ ok: true })
  expect(canLeaveEtcd(etcd(2), 'web-2', 'prod')).toEqual({ ok: true })
  // The broken member itself leaves, so the others remove it.
  expect(canLeaveEtcd(etcd(3, [1]), 'web-1', 'prod')).toEqual({ ok: true })
  expect(canLeaveEtcd(etcd(5, [4, 5]), 'web-4', 'prod')).toEqual({ ok: true })
  // web-3 has left etcd already.
  expect(canLeaveEtcd(etcd(2), 'web-3', 'prod')).toEqual({ ok: true })
  // A learner has no vote.
  expect(canLeaveEtcd(etcd(4, [3, 4], [3, 4]), 'web-3', 'prod')).toEqual({ ok: true })
})

test("a control plane whose departure would cost the majority can't leave, and the error gives the numbers", () => {
  expect(canLeaveEtcd(etcd(3, [3]), 'web-1', 'prod')).toEqual({
    ok: false,
    kind: 'for_now',
    reason:
      'Without web-1, etcd of prod has 2 members and needs 2 of them healthy, but only 1 is. Bring web-3 back first',
  })
  expect(canLeaveEtcd(etcd(5, [4, 5]), 'web-1', 'prod')).toMatchObject({
    ok: false,
    reason: expect.stringContaining('has 4 members and needs 3'),
  })
  expect(canLeaveEtcd(etcd(2, [2]), 'web-1', 'prod')).toMatchObject({
    ok: false,
    reason: expect.stringContaining('Bring web-2 back first'),
  })
  expect(canLeaveEtcd(etcd(1), 'web-1', 'prod')).toMatchObject({
    ok: false,
    reason: expect.stringContaining('delete the cluster instead'),
  })
})

test('without a majority no member can be removed, not even a dead one', () => {
  expect(canLeaveEtcd(etcd(2, [2]), 'web-2', 'prod')).toEqual({
    ok: false,
    kind: 'for_now',
    reason:
      'etcd of prod has no majority, so no member can be removed: 1 of 2 is healthy and 2 are needed. Bring web-2 back, or restore the cluster from a snapshot',
  })
})

test.each([2, 3, 4, 5, 6, 7])(
  'one of %i members may leave if and only if the healthy members are a majority before and after',
  (count) => {
    for (let mask = 0; mask < 2 ** count; mask++) {
      const ill = Array.from({ length: count }, (_, i) => i + 1).filter(
        (i) => mask & (1 << (i - 1)),
      )
      const healthyStaying = count - 1 - ill.filter((i) => i !== 1).length
      const healthyNow = count - ill.length
      const may = healthyStaying * 2 > count - 1 && healthyNow * 2 > count
      expect({ ill, ok: canLeaveEtcd(etcd(count, ill), 'web-1', 'prod').ok }).toEqual({
        ill,
        ok: may,
      })
    }
  },
)

test('the dead members of a lost server go, each removal is judged, and a living member leaves before them', () => {
  const twin = { id: '9', name: 'web-3', learner: false, healthy: false }
  const idsOf = (of: EtcdMembers) => leavingMembers(of, 'web-3').map((m) => m.id)
  const four = { members: [...etcd(3).members, twin] }
  expect(idsOf(four)).toEqual(['9'])
  expect(idsOf(etcd(3))).toEqual([])
  expect(idsOf({ members: [...etcd(3, [3]).members, twin] })).toEqual(['3', '9'])
  // The living member leaves first, and the dead one still counts then.
  expect(canLeaveEtcd(four, 'web-3', 'prod')).toEqual({ ok: true })
  const two = { members: [...etcd(1).members, { ...twin, id: '3', healthy: true }, twin] }
  expect(canLeaveEtcd(two, 'web-3', 'prod')).toMatchObject({
    ok: false,
    reason: expect.stringMatching(
      /^Without web-3, etcd of prod has 2 members .* only 1 is\. Remove the dead member web-3 \(9\) first/,
    ),
  })
  // A dead member of a server that stays gives the majority nothing.
  const one = { members: [...etcd(3, [2]).members, twin] }
  expect(canLeaveEtcd(one, 'web-1', 'prod')).toMatchObject({
    ok: false,
    reason: expect.stringMatching(
      /has 3 members and needs 2 .*\. Remove the dead member web-3 \(9\) first: talosctl etcd remove-member 9$/,
    ),
  })
  const only = (id: string, of: EtcdMembers) =>
    canLeaveEtcd(of, 'web-3', 'prod', (m) => m.id === id).ok
  expect(only('9', four)).toBe(true)
  expect(only('9', one)).toBe(false)
})

test('removing a member warns if the remaining number of members is unsafe', () => {
  expect(afterLeaving(3)).toBeNull()
  expect(afterLeaving(2)).toBe(
    '2 control planes remain, an even number: the cluster then tolerates no more failures than with 1',
  )
  expect(afterLeaving(1)).toContain('down while that server is')
})

test('servers may be off only while the other healthy members are a majority', () => {
  const off = (all: EtcdMembers, ...names: string[]) => canBeOff(all, new Set(names), 'prod')
  expect(off(etcd(3), 'web-1')).toEqual({ ok: true })
  expect(off(etcd(3), 'web-1', 'web-2')).toMatchObject({
    ok: false,
    kind: 'for_now',
    reason:
      'Without web-1 and web-2, 1 of 3 members of etcd of prod would be healthy, and 2 are needed',
  })
  expect(off(etcd(3, [3]), 'web-1')).toMatchObject({
    reason:
      'Without web-1, 1 of 3 members of etcd of prod would be healthy, and 2 are needed. Bring web-3 back first',
  })
  expect(off(etcd(1), 'web-1')).toMatchObject({
    reason: 'web-1 is the last healthy member of etcd of prod',
  })
  // A member that is down gives the majority nothing: switching it may bring it back.
  expect(off(etcd(3, [2, 3]), 'web-2')).toEqual({ ok: true })
  expect(off(etcd(3, [], [3]), 'web-3')).toEqual({ ok: true })
  expect(off(etcd(3), 'worker-1')).toEqual({ ok: true })
})

import { expect, test } from 'vitest'
import { changedLines } from './likeness.ts'
import { isTargetOf } from './selecting.ts'
import { inRollOutOrder, statesOf, type TargetServer } from './targets.ts'

const server = (name: string, more: Partial<TargetServer> = {}): TargetServer => ({
  id: name,
  name,
  status: 'ready',
  labels: {},
  role: 'worker',
  cluster_id: 'c1',
  cluster_name: 'shop',
  datacenter_id: null,
  datacenter_code: null,
  ...more,
})
const none = { labels: [], cluster_ids: [], roles: [], node_ids: [] }
const all = [
  server('w1', { labels: { rack: '3' } }),
  server('w2', { labels: { rack: '4' }, cluster_id: 'c2', cluster_name: 'apps' }),
  server('cp', { labels: { rack: '3' }, role: 'control_plane' }),
  server('idle', { labels: { rack: '3' }, role: 'worker', cluster_id: null, cluster_name: null }),
]
const named = (targets: object) =>
  all.filter(isTargetOf({ ...none, ...targets })).map(({ name }) => name)

test('different kinds of targets must all match, and of one kind any', () => {
  expect(named({})).toEqual([])
  expect(named({ labels: ['rack=3'] })).toEqual(['w1', 'cp', 'idle'])
  expect(named({ labels: ['rack=3', 'rack=4'] })).toEqual(['w1', 'w2', 'cp', 'idle'])
  expect(named({ labels: ['rack=3', 'rack=4'], roles: ['worker'] })).toEqual(['w1', 'w2'])
  expect(named({ cluster_ids: ['c1', 'c2'], roles: ['worker'] })).toEqual(['w1', 'w2'])
  expect(named({ node_ids: ['w2', 'idle'], labels: ['rack=3'] })).toEqual(['idle'])
})

test('clusters come one after another, their workers first, and servers without a cluster last', () => {
  expect(inRollOutOrder(all).map(({ name }) => name)).toEqual(['w2', 'w1', 'cp', 'idle'])
})

test('a server is behind with another revision or another value, and has a patch too much', async () => {
  const patch = { id: 'p', revision: 2, targets: { ...none, roles: ['worker' as const] } }
  const held = (server_id: string, revision: number, filled = {}) => ({
    server_id,
    patch_id: 'p',
    revision,
    filled,
  })
  const states = async (...rows: ReturnType<typeof held>[]) =>
    Object.fromEntries(
      (await statesOf(patch, all, rows)).map(({ server: { name }, state }) => [name, state]),
    )
  expect(await states()).toEqual({ w1: 'behind', w2: 'behind' })
  expect(await states(held('w1', 2, { 'label.rack': '3' }), held('w2', 1), held('cp', 2))).toEqual({
    w1: 'current',
    w2: 'behind',
    cp: 'extra',
  })
  expect((await states(held('w1', 2, { 'label.rack': '9' })))['w1']).toBe('behind')
})

test('changed lines are alike if only the values of variables differ', () => {
  const diff = (link: string) =>
    `@@ -1,2 +1,3 @@\n name: a\n+parent: ${link}\n+  ${link}: x\n+vlan3: 3\n`
  const lines = (link: string) => changedLines(diff(link), { link, 'label.rack': '3' })
  expect(lines('enp1s0')).toEqual(['+parent: {{link}}', '+  {{link}}: x', '+vlan3: {{label.rack}}'])
  expect(lines('eno1')).toEqual(lines('enp1s0'))
})

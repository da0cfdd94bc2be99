/** What a drain does about pods that stay, without machines. */
import { expect, test } from 'vitest'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import { aboutSeveral, type Budget, type Pod, selecting } from './drain-outlook.ts'
import { evictSome, ignoresCordon, isSuccessor } from './drain.ts'

const { signal } = new AbortController()
type Result = 'evicted' | 'gone' | { readonly blocked: string } | Error

/** An API whose answers are those of `results`, by the pod's name; others are evicted. */
function apiOf(results: Readonly<Record<string, Result>>) {
  const asked: string[] = []
  const evict = ({ name }: { readonly name: string }) => {
    asked.push(name)
    const result = results[name] ?? 'evicted'
    return result instanceof Error ? Promise.reject(result) : Promise.resolve(result)
  }
  return { evict, asked }
}
const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    namespace: 'shop',
    name: `${prefix}-${i}`,
    uid: `${prefix}-${i}`,
  }))

test('pods that are blocked do not keep a drain from the pods behind them', async () => {
  const first = named('storage', 9)
  const api = apiOf(Object.fromEntries(first.map(({ name }) => [name, { blocked: 'in use' }])))
  const blocked = await evictSome(api, [...first, ...named('user', 20)], signal)
  expect(blocked).toHaveLength(9)
  expect(blocked[0]).toBe("shop/storage-0 can't be moved: in use")
  expect(api.asked.filter((name) => name.startsWith('user'))).toHaveLength(8)
})

test('what is refused for one pod does not end the drain of the others', async () => {
  const refused = new KubernetesError('the API server answered 500: More than one budget', 500)
  const api = apiOf({ 'web-0': refused, 'web-1': 'gone' })
  expect(await evictSome(api, named('web', 3), signal)).toEqual([
    "shop/web-0 can't be moved: the API server answered 500: More than one budget",
  ])
  expect(api.asked).toEqual(['web-0', 'web-1', 'web-2'])
})

test('an API that does not answer ends the attempt at once', async () => {
  const api = apiOf({ 'web-0': new KubernetesError('connection refused') })
  await expect(evictSome(api, named('web', 3), signal)).rejects.toThrow('connection refused')
  expect(api.asked).toEqual(['web-0'])
})

test('a plan warns of pods that several disruption budgets select', () => {
  const budget = (name: string, app: string, namespace = 'shop'): Budget => ({
    namespace,
    name,
    allows: 1,
    wanted: 1,
    expected: 2,
    selects: selecting({ matchLabels: { app } }),
  })
  const pod = (name: string, node: string, more: Partial<Pod> = {}): Pod => ({
    namespace: 'shop',
    name,
    uid: name,
    node,
    labels: { app: 'web' },
    isBare: false,
    isEnding: false,
    ignoresCordon: false,
    createdMs: 0,
    ...more,
  })
  const budgets = [budget('web-new', 'web'), budget('web', 'web'), budget('web', 'web', 'other')]
  const pods = [
    pod('web-0', 'worker-1'),
    pod('web-1', 'worker-2'),
    pod('web-2', 'worker-3', { isEnding: true }),
    pod('db-0', 'worker-3', { labels: { app: 'db' } }),
  ]
  expect(aboutSeveral(budgets, pods)).toEqual([
    'Kubernetes moves no pod that several disruption budgets select: web and web-new of shop select shop/web-0 and shop/web-1. Let each pod have one budget first. Otherwise the drain of worker-1 and worker-2 waits, and the change stops there after 20 minutes',
  ])
  expect(aboutSeveral(budgets.slice(1), pods)).toEqual([])
})

test.each([
  [[{ operator: 'Exists' }], true],
  [[{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }], true],
  [[{ key: 'app' }, { key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }], true],
  [[{ effect: 'NoSchedule', operator: 'Exists' }], true],
  [[{ effect: 'NoExecute', operator: 'Exists' }], false],
  [[{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }], false],
  [[{ key: 'node.kubernetes.io/unschedulable', operator: 'Equal', value: 'x' }], false],
  [[{ key: 'node.kubernetes.io/unschedulable', operator: 'Lt', value: '5' }], false],
  [undefined, false],
])('a pod with the tolerations %j starts on a cordoned node: %s', (tolerations, is) => {
  expect(ignoresCordon(tolerations)).toBe(is)
})

test('a pod that ignores the cordon is evicted once; the pod that replaces it does not hold up the drain', () => {
  const pod = { isBare: false, ignoresCordon: true, createdMs: 2_000 }
  expect(isSuccessor(pod, 2_001)).toBe(false)
  expect(isSuccessor(pod, 2_000)).toBe(true)
  expect(isSuccessor({ ...pod, ignoresCordon: false }, 2_000)).toBe(false)
  expect(isSuccessor({ ...pod, isBare: true }, 2_000)).toBe(false)
  expect(isSuccessor({ ...pod, createdMs: Number.NaN }, 2_000)).toBe(false)
})

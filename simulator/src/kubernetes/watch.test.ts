import { expect, test } from 'vitest'
import { cluster, fleet, rack, until } from '../testing/fleet.ts'
import { as, type Ask, type Told, watching } from '../testing/kubernetes.ts'
import { History } from './history.ts'

const MAPS = '/api/v1/namespaces/default/configmaps'

const setup = async (workers = 0) => {
  const simulator = await fleet({ scenario: rack(1 + workers) })
  const made = await cluster(simulator, 1, workers)
  const host = made.controlPlanes[0]!.plan.address
  return { ...made, ask: await as(made.bundle, host), watch: await watching(made.bundle, host) }
}

const put = (ask: Ask, name: string, labels: object): ReturnType<Ask> =>
  ask('POST', MAPS, { metadata: { name, labels } })
const words = (told: readonly Told[]): string[] =>
  told.map(({ type, object }) => `${type} ${object.metadata.name}`)
const versionOf = async (ask: Ask): Promise<string> =>
  ((await ask('GET', MAPS)).body.metadata as { resourceVersion: string }).resourceVersion

test('a watch sends existing objects, changes, and objects that enter or leave the selector', async () => {
  const { ask, watch } = await setup()
  const before = await versionOf(ask)
  await put(ask, 'a', { tier: 'edge' })
  const all = watch(`${MAPS}?watch=true&labelSelector=tier%3Dedge`)
  await until('what is there', () => all.told.length === 1)
  await put(ask, 'b', {})
  await ask(
    'PATCH',
    `${MAPS}/b`,
    { metadata: { labels: { tier: 'edge' } } },
    'application/merge-patch+json',
  )
  await ask('PATCH', `${MAPS}/b`, { data: { x: '1' } }, 'application/merge-patch+json')
  await ask(
    'PATCH',
    `${MAPS}/a`,
    { metadata: { labels: { tier: null } } },
    'application/merge-patch+json',
  )
  await ask('DELETE', `${MAPS}/b`)
  const expected = ['ADDED a', 'ADDED b', 'MODIFIED b', 'DELETED a', 'DELETED b']
  await until('all of it', () => all.told.length === expected.length)
  expect(words(all.told)).toEqual(expected)
  const versions = all.told.map(({ object }) => Number(object.metadata.resourceVersion))
  expect(versions).toEqual(versions.toSorted((one, other) => one - other))
  // The version counts the changes of all objects, and nodes report meanwhile.
  expect(Number(await versionOf(ask))).toBeGreaterThanOrEqual(versions.at(-1)!)
  // A watcher that reconnects gets every missed event exactly once.
  const late = watch(`${MAPS}?watch=true&resourceVersion=${before}&fieldSelector=metadata.name%3Db`)
  await until('what was missed', () => late.told.length === 4)
  expect(words(late.told)).toEqual(['ADDED b', 'MODIFIED b', 'MODIFIED b', 'DELETED b'])
})

test('a watch from an expired version gets error 410 in the stream, and a watch from an invalid version fails with status 400', async () => {
  const { ask, watch } = await setup()
  const old = watch(`${MAPS}?watch=true&resourceVersion=1`)
  await until('the stream ends', old.ended)
  expect(old.told).toMatchObject([
    { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } },
  ])
  expect((await ask('GET', `${MAPS}?watch=true&resourceVersion=x`)).status).toBe(400)
  const history = new History(10)
  for (let version = 11; version <= 2_500; version++)
    history.add({
      version,
      kind: { group: '', plural: 'pods' },
      namespace: '',
      before: null,
      after: {},
    })
  expect(history.after(11)).toBe(null)
  expect(history.after(history.oldest)).toHaveLength(2_500 - history.oldest)
  expect(2_500 - history.oldest).toBeLessThanOrEqual(2_000)
})

test('initial events end with a bookmark, and a watch ends at its timeout', async () => {
  const { watch } = await setup()
  const { told, ended } = watch(
    '/api/v1/namespaces?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1',
  )
  await until('the end', ended)
  expect(told.slice(0, -1).every(({ type }) => type === 'ADDED')).toBe(true)
  expect(words(told)).toContain('ADDED kube-node-lease')
  expect(told.at(-1)).toMatchObject({
    type: 'BOOKMARK',
    object: {
      kind: 'Namespace',
      metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
    },
  })
})

test('a watch reports a node whose machine loses power as a change with a new version', async () => {
  const { ask, watch, workers } = await setup(1)
  const path = `/api/v1/nodes/${workers[0]!.hostname}`
  const { body } = await ask('GET', path)
  const { told } = watch(
    `/api/v1/nodes?watch=true&fieldSelector=metadata.name%3D${workers[0]!.hostname}`,
    {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
    },
  )
  const statuses = (): unknown[] =>
    told.map(({ object }) => (object.rows as { cells: unknown[] }[])[0]!.cells[1])
  await until('it is ready', () => statuses().at(-1) === 'Ready')
  await workers[0]!.lifecycle.powerOff()
  await until('it is not', () => statuses().at(-1) === 'NotReady')
  expect(told.map(({ object }) => object.columnDefinitions === null)).toEqual(
    told.map((_, i) => i > 0),
  )
  const version = ({ metadata }: Record<string, unknown>): number =>
    Number((metadata as { resourceVersion: string }).resourceVersion)
  const later = (await ask('GET', path)).body
  expect(version(later)).toBeGreaterThan(version(body))
  expect((await ask('PUT', path, { ...later, spec: { unschedulable: true } })).status).toBe(200)
  expect((await ask('PUT', path, body)).status).toBe(409)
})

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { historyList } from '#contract/history/history.ts'
import {
  serverGet,
  serverList,
  serverRemove,
  serverRows,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { type CallOptions, startBackend } from '../../testing/backend.ts'
import { buildCluster, buildServer } from './testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const admin = await backend.signIn()
const viewer = await backend.signIn({ role: 'viewer' })

const label = (id: string, labels: Record<string, string | null>, options: CallOptions = {}) =>
  operator.call(serverUpdate, { params: { id }, body: { labels } }, options)
const labelsOf = async (id: string) =>
  (await operator.call(serverGet, { params: { id } })).answer!.labels
const listed = async (selector: string) =>
  (
    await operator.call(serverRows, { query: { fields: 'list', label: selector } })
  ).answer!.items.map((s) => s.name)

test('a change of labels keeps the others, and stands in the audit log and the history', async () => {
  const id = await buildServer(backend, { name: 'labelled' })
  await label(id, { rack: '3', gen: 'r640' })
  const { answer } = await label(id, { gen: null, 'example.com/pool': 'edge' })
  expect(answer!.labels).toEqual({ rack: '3', 'example.com/pool': 'edge' })
  expect(await labelsOf(id)).toEqual({ rack: '3', 'example.com/pool': 'edge' })
  await backend.publish()
  const entries = await admin.call(auditList, { query: { target: id } })
  expect(entries.answer!.items.map(({ action, after }) => [action, after?.['changed']])).toEqual([
    ['server.labelled', 'example.com/pool=edge set, gen=r640 removed'],
    ['server.labelled', 'gen=r640 set, rack=3 set'],
  ])
  const history = await operator.call(historyList, { query: { object: id } })
  expect(history.answer!.items.map((e) => e.message)).toEqual([
    'Labels: example.com/pool=edge set, gen=r640 removed',
    'Labels: gen=r640 set, rack=3 set',
  ])
})

test('the same labels again change nothing', async () => {
  const id = await buildServer(backend, { name: 'unchanged' })
  const first = (await label(id, { rack: '3' })).answer!
  const again = (await label(id, { rack: '3', gone: null })).answer!
  expect(again.version).toBe(first.version)
})

test('a change by a stale version is refused, and one of two concurrent changes never loses the other', async () => {
  const id = await buildServer(backend, { name: 'contended' })
  const { version } = (await label(id, { rack: '3' })).answer!
  expect((await label(id, { rack: '4' }, { ifMatch: version - 1 })).problem?.code).toBe('stale')
  await Promise.all(Array.from({ length: 10 }, (_, i) => label(id, { [`key-${i}`]: String(i) })))
  expect(Object.keys((await labelsOf(id))!)).toHaveLength(11)
})

test('an object has at most 64 labels, also after many changes', async () => {
  const id = await buildServer(backend, { name: 'full' })
  const all = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`key-${i}`, 'x']))
  expect((await label(id, all)).status).toBe(200)
  expect((await label(id, { more: '1' })).problem).toMatchObject({
    code: 'invalid',
    error: 'An object has at most 64 labels, and these would be 65',
  })
  expect(await labelsOf(id)).toEqual(all)
})

test('odd labels are refused by a sentence and change nothing', async () => {
  const id = await buildServer(backend, { name: 'odd' })
  for (const [key, value] of [
    ['a b', '1'],
    ['☃', '1'],
    ['a', 'b\u0001c'],
    ['k'.repeat(65_536), '1'],
    ['a', 'v'.repeat(65_536)],
  ] as const) {
    const { status, problem, text } = await label(id, { [key]: value })
    expect({ status, code: problem?.code }).toEqual({ status: 422, code: 'invalid' })
    expect(problem!.error).toMatch(/^(A label (key|value)|The key of the label)/)
    expect(text.length).toBeLessThan(2_000)
  }
  const thousand = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key-${i}`, 'x']))
  expect((await label(id, thousand)).problem?.error).toBe('An object has at most 64 labels')
  expect(await labelsOf(id)).toEqual({})
})

test('the list of servers is filtered by labels', async () => {
  const ids = await Promise.all(
    ['sel-a', 'sel-b', 'sel-c'].map((name) => buildServer(backend, { name })),
  )
  await label(ids[0]!, { row: '1', gen: 'r640' })
  await label(ids[1]!, { row: '1', gen: 'r650' })
  await label(ids[2]!, { row: '2', constructor: 'acme' })
  expect(await listed('row=1')).toEqual(['sel-a', 'sel-b'])
  expect(await listed('row=1,gen!=r640')).toEqual(['sel-b'])
  expect(await listed('row in (1,2),!gen')).toEqual(['sel-c'])
  expect(await listed('constructor')).toEqual(['sel-c'])
  await label(ids[0]!, { row: '2' })
  expect(await listed('row=1')).toEqual(['sel-b'])
  const { status, problem } = await operator.call(serverList, { query: { label: 'row=1;gen' } })
  expect(status).toBe(400)
  expect(problem!.error).toMatch(/^Conditions on labels look like rack=3,gen!=r640/)
})

test('the list of clusters is filtered by the same selectors, and a cluster has labels and notes', async () => {
  const ids = [randomUUID(), randomUUID()] as const
  await buildCluster(backend, ids[0], 'lab-a')
  const { datacenter } = (await operator.call(clusterGet, { params: { id: ids[0] } })).answer!
  await buildCluster(backend, ids[1], 'lab-b', datacenter.id)
  const change = (id: string, body: object) =>
    operator.call(clusterUpdate, { params: { id }, body })
  const { answer } = await change(ids[0], { labels: { env: 'prod', team: 'shop' }, notes: 'Ask' })
  expect(answer).toMatchObject({ labels: { env: 'prod', team: 'shop' }, notes: 'Ask' })
  await change(ids[1], { labels: { env: 'test' } })
  const names = async (selector: string) =>
    (await operator.call(clusterList, { query: { label: selector } })).answer!.items.map(
      (c) => c.name,
    )
  expect(await names('env=prod')).toEqual(['lab-a'])
  expect(await names('env')).toEqual(['lab-a', 'lab-b'])
  expect(await names('!team')).toEqual(['lab-b'])
  expect(await names('env!=prod')).toEqual(['lab-b'])
  expect(await names('env in (prod,test),team notin (shop)')).toEqual(['lab-b'])
  const history = await operator.call(historyList, { query: { object: ids[0] } })
  expect(history.answer!.items.map((e) => e.message)).toContain(
    'Labels: env=prod set, team=shop set',
  )
})

test('a viewer reads labels and notes and changes none, and a removed server keeps its labels', async () => {
  const id = await buildServer(backend, { name: 'seen' })
  await operator.call(serverUpdate, {
    params: { id },
    body: { notes: 'Its fan hums', labels: { rack: '3' } },
  })
  const { answer } = await viewer.call(serverGet, { params: { id } })
  expect(answer).toMatchObject({ notes: 'Its fan hums', labels: { rack: '3' } })
  const { status } = await viewer.call(serverUpdate, {
    params: { id },
    body: { labels: { rack: '4' } },
  })
  expect(status).toBe(403)
  await operator.call(serverRemove, { params: { id } })
  expect((await label(id, { rack: '4' })).problem).toMatchObject({
    code: 'transition_refused',
    error: 'The server was removed',
  })
  expect(await labelsOf(id)).toEqual({ rack: '3' })
})

test('a server in quarantine can not join a cluster, and says who wants that, since when and why', async () => {
  const id = await buildServer(backend, { name: 'bad-disk' })
  const set = (quarantine: { reason: string } | null) =>
    operator.call(serverUpdate, { params: { id }, body: { quarantine } })
  const check = async () =>
    (await operator.call(serverGet, { params: { id } })).answer!.eligibility.find(
      (e) => e.check === 'quarantine',
    )
  expect(await check()).toEqual({ check: 'quarantine', ok: true, reason: null })
  const { answer } = await set({ reason: 'Its disk sda fails' })
  const { since } = answer!.quarantine!
  expect(answer!.quarantine).toEqual({ reason: 'Its disk sda fails', by: operator.email, since })
  const reason = `In quarantine since ${since.slice(0, 16).replace('T', ' ')} UTC by ${operator.email}: Its disk sda fails`
  expect(await check()).toEqual({ check: 'quarantine', ok: false, reason })
  const [listedServer] = (
    await operator.call(serverRows, { query: { fields: 'list', q: 'bad-disk' } })
  ).answer!.items
  expect(listedServer).toMatchObject({ ineligible: reason, quarantine: { by: operator.email } })
  expect((await set({ reason: ' ' })).problem?.error).toBe('Say why the server is not to be used')
  expect((await set({ reason: 'x'.repeat(201) })).status).toBe(422)
  await set(null)
  expect(await check()).toEqual({ check: 'quarantine', ok: true, reason: null })
  const history = await operator.call(historyList, { query: { object: id } })
  expect(history.answer!.items.map((e) => e.message)).toEqual([
    'Its quarantine was lifted',
    'In quarantine: Its disk sda fails',
  ])
})

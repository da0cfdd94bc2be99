import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { clusterLabels, serverLabels } from '#contract/labels/known.ts'
import { serverRemove, serverRows, serverUpdate } from '#contract/servers/servers.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })

test('the labels that servers and clusters have are listed, the most used first', async () => {
  const servers = await Promise.all(
    ['known-a', 'known-b', 'known-c'].map((name) => buildServer(backend, { name })),
  )
  const label = (id: string, labels: Record<string, string>) =>
    operator.call(serverUpdate, { params: { id }, body: { labels } })
  await label(servers[0]!, { rack: '3', gen: 'r640' })
  await label(servers[1]!, { rack: '3', spare: '' })
  await label(servers[2]!, { rack: '3', gone: 'x' })
  await operator.call(serverRemove, { params: { id: servers[2]! } })
  const cluster = randomUUID()
  await buildCluster(backend, cluster, 'known')
  await operator.call(clusterUpdate, { params: { id: cluster }, body: { labels: { env: 'prod' } } })

  expect((await operator.call(serverLabels)).answer).toEqual({
    items: [
      { key: 'rack', value: '3', count: 2 },
      { key: 'gen', value: 'r640', count: 1 },
      { key: 'spare', value: '', count: 1 },
    ],
    more: false,
  })
  expect((await operator.call(clusterLabels)).answer).toEqual({
    items: [{ key: 'env', value: 'prod', count: 1 }],
    more: false,
  })
})

test('the list of servers is filtered by quarantine', async () => {
  const id = await buildServer(backend, { name: 'held' })
  await buildServer(backend, { name: 'usable' })
  await operator.call(serverUpdate, {
    params: { id },
    body: { quarantine: { reason: 'Its disk sda fails' } },
  })
  const listed = async (quarantine: 'true' | 'false') =>
    (await operator.call(serverRows, { query: { fields: 'list', quarantine } })).answer!.items.map(
      (s) => s.name,
    )
  expect(await listed('true')).toEqual(['held'])
  expect(await listed('false')).not.toContain('held')
  expect(await listed('false')).toContain('usable')
})

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { clusterGroupings, clusterList } from '#contract/clusters/clusters.ts'
import { clusterGroups } from '#contract/clusters/groups.ts'
import { type FindingKind, findingKinds } from '#contract/findings/kinds.ts'
import { overviewGet } from '#contract/overview.ts'
import { startBackend } from '../../../testing/backend.ts'
import { buildCluster } from '../../servers/testing.ts'

const backend = await startBackend()
const { call } = await backend.signIn({ role: 'viewer', lasts: true })
const { db } = backend.platform

const found = (kind: FindingKind) =>
  JSON.stringify({
    id: randomUUID(),
    kind,
    severity: findingKinds[kind].severity,
    since: new Date(backend.clock.now()).toISOString(),
    reason: 'It is so.',
  })
async function add(name: string, columns: object, datacenterId?: string): Promise<string> {
  const id = randomUUID()
  await buildCluster(backend, id, name, datacenterId)
  const { datacenter_id } = await db
    .updateTable('cluster')
    .set({ status: 'ready', ...columns })
    .where('id', '=', id)
    .returning('datacenter_id')
    .executeTakeFirstOrThrow()
  return datacenter_id!
}
const place = await add('api-down', {
  finding: found('cluster_api_down'),
  labels: JSON.stringify({ env: 'prod' }),
  talos_version: 'v1.13.10',
})
await add(
  'behind',
  { finding: found('cluster_snapshot_overdue'), labels: JSON.stringify({ env: 'test' }) },
  place,
)
await add('installing', { status: 'installing', kubernetes_version: '1.35.1' }, place)
await add('well', { labels: JSON.stringify({ env: 'prod' }) }, place)
// Nothing is judged of a cluster that is being deleted, and nothing is shown of one that is gone.
const leaving = { wanted: 'removed', finding: found('cluster_api_down') }
await add('leaving', { ...leaving, status: 'deleting' }, place)
await add('gone', { ...leaving, deleted_at: new Date(backend.clock.now()) }, place)

const groups = async (by: string, query: object = {}) => {
  const { answer } = await call(clusterGroups, { query: { by, ...query } })
  return answer!.items.map(
    ({ name, clusters, finding }) => `${name ?? '-'}: ${clusters} ${finding?.kind ?? 'well'}`,
  )
}

test.each([
  [
    'status',
    [
      'installing: 1 well',
      'ready: 2 cluster_snapshot_overdue',
      'degraded: 1 cluster_api_down',
      'deleting: 1 well',
    ],
  ],
  [
    'finding',
    [
      'Kubernetes API down: 1 cluster_api_down',
      `${findingKinds.cluster_snapshot_overdue.title}: 1 cluster_snapshot_overdue`,
      '-: 3 well',
    ],
  ],
  ['datacenter', ['PL-TST-1: 5 cluster_api_down']],
  ['talos_version', ['v1.13.9: 4 cluster_snapshot_overdue', 'v1.13.10: 1 cluster_api_down']],
  ['kubernetes_version', ['1.35.1: 1 well', '1.36.3: 4 cluster_api_down']],
  ['label:env', ['prod: 2 cluster_api_down', 'test: 1 cluster_snapshot_overdue', '-: 2 well']],
])('clusters by %s are counted, with the worst finding of each group', async (by, expected) => {
  expect(await groups(by)).toEqual(expected)
})

test.each(clusterGroupings)(
  'the filter %s lists the clusters of each group, as many as the group counts',
  async (by) => {
    const { answer } = await call(clusterGroups, { query: { by } })
    let all = 0
    for (const { value, clusters } of answer!.items) {
      const query = { [by]: value ?? 'none' }
      const { answer: page } = await call(clusterList, { query })
      expect([by, value, page!.total]).toEqual([by, value, clusters])
      all += clusters
    }
    expect([answer!.clusters, (await call(clusterList)).answer!.total]).toEqual([all, 5])
  },
)

test('groups count only the clusters that pass the filters and the search', async () => {
  expect(await groups('status', { label: 'env=prod', q: 'we' })).toEqual(['ready: 1 well'])
  expect(await groups('label:env', { finding: 'none', talos_version: '1.13.9' })).toEqual([
    'prod: 1 well',
    '-: 2 well',
  ])
  const { answer } = await call(clusterList, { query: { kubernetes_version: 'v1.35.1' } })
  expect(answer!.items.map(({ name }) => name)).toEqual(['installing'])
  const { status, problem } = await call(clusterGroups, { query: { by: 'rack' } })
  expect(status).toBe(400)
  expect(JSON.stringify(problem)).toContain(
    'Groups are by status, finding, datacenter, talos_version, kubernetes_version, or by a label',
  )
})

test('each cluster brings its word, from its own findings, and the overview counts the words', async () => {
  const { answer } = await call(clusterList, { query: { sort: 'name' } })
  expect(answer!.items.map(({ name, said }) => [name, said!.word, said!.severity])).toEqual([
    ['api-down', 'Down', 'down'],
    ['behind', 'Ready', 'attention'],
    ['installing', 'Installing', null],
    ['leaving', 'Deleting', null],
    ['well', 'Ready', null],
  ])
  const { clusters } = (await call(overviewGet)).answer!
  expect(clusters.by_word.map(({ word, count }) => `${word} ${count}`).toSorted()).toEqual([
    'Deleting 1',
    'Down 1',
    'Installing 1',
    'Ready 1',
    'Ready 1',
  ])
})

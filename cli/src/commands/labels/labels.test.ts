import { expect, test } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { Problem } from '#contract/errors.ts'
import { clusterLabels, serverLabels } from '#contract/labels/known.ts'
import { relabelled } from '#contract/labels/labels.ts'
import { selectorOf, selects } from '#contract/labels/selector.ts'
import { serverGet, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'
import { aCluster, aServer, id, pageOf } from '../../testing/things.ts'

/** Three servers and a cluster; the server `locked` refuses every change. */
async function started() {
  const api = await startApi()
  const cli = await startCli(api)
  const servers = [
    aServer({ id: id(1), name: 'brave-otter-042', labels: { rack: '3', gen: 'r640' } }),
    aServer({ id: id(2), name: 'calm-heron-204', labels: { rack: '3' } }),
    aServer({ id: id(3), name: 'locked', labels: { rack: '4' } }),
  ]
  api.on(serverList, ({ query }) =>
    pageOf(
      servers.filter(
        (s) =>
          (query.q === undefined || s.name.includes(query.q)) &&
          (query.label === undefined || selects(selectorOf(query.label)!, s.labels!)),
      ),
    ),
  )
  api.on(serverUpdate, ({ params, body }) => {
    const server = servers.find((s) => s.id === params.id)!
    if (server.name === 'locked') throw new Problem('conflict', 'It is locked')
    const { labels = {}, notes, quarantine = null } = body
    const since = '2026-11-28T02:00:00.000Z'
    const set = quarantine && { ...quarantine, by: 'a@example.com', since }
    return { ...server, notes, quarantine: set, labels: relabelled(server.labels!, labels) }
  })
  api.on(clusterList, () => pageOf([aCluster({ id: id(20), name: 'web' })]))
  api.on(clusterUpdate, ({ body }) => ({
    ...aCluster({ id: id(20), name: 'web' }),
    notes: body.notes,
    labels: relabelled({}, body.labels ?? {}),
  }))
  return { api, cli }
}

test('labels are set and removed on servers by name', async () => {
  const { api, cli } = await started()
  expect(await cli.run('server label brave-otter-042 calm-heron-204 rack=5 gen-')).toMatchObject({
    exit: 0,
    out: 'brave-otter-042: rack=5\ncalm-heron-204: rack=5\n',
  })
  expect(api.callsOf(serverUpdate).map((c) => c.body)).toEqual([
    { labels: { rack: '5', gen: null } },
    { labels: { rack: '5', gen: null } },
  ])
})

test('servers are chosen by labels, in the list too', async () => {
  const { api, cli } = await started()
  const run = await cli.run(['server', 'label', '-l', 'rack=3,gen!=r640', 'spare='])
  expect(run).toMatchObject({ exit: 0, out: 'calm-heron-204: rack=3, spare\n' })
  expect((await cli.run(['server', 'list', '-l', 'rack=3', '--columns', 'name'])).out).toBe(
    'NAME\nbrave-otter-042\ncalm-heron-204\n',
  )
  expect(await cli.run(['server', 'label', '-l', 'rack=9', 'a=1'])).toMatchObject({ exit: 5 })
  expect(api.callsOf(serverUpdate)).toHaveLength(1)
})

test('a server that refuses is named, and the others are changed', async () => {
  const { cli } = await started()
  expect(await cli.run(['server', 'label', '-l', 'rack', 'seen=yes'])).toMatchObject({
    exit: 6,
    out: 'brave-otter-042: gen=r640, rack=3, seen=yes\ncalm-heron-204: rack=3, seen=yes\n',
    err: 'locked: It is locked\n1 server of 3 not changed\n',
  })
})

test('without a change the labels are shown', async () => {
  const { api, cli } = await started()
  api.on(serverGet, () => aServer({ name: 'brave-otter-042', labels: { rack: '3' } }))
  expect((await cli.run('server label brave-otter-042')).out).toBe('brave-otter-042: rack=3\n')
  expect(JSON.parse((await cli.run('server label brave-otter-042 --json')).out)).toMatchObject([
    { name: 'brave-otter-042', labels: { rack: '3' } },
  ])
  expect(api.callsOf(serverUpdate)).toEqual([])
})

test.each([
  ['server label rack=3'],
  ['server label -l rack=3 brave-otter-042 a=1'],
  ['server label brave-otter-042 a=1 a-'],
  ['server list -l rack=3;gen'],
  ['server note brave-otter-042'],
  ['server note brave-otter-042 text --remove'],
])('%s is refused and changes nothing', async (line) => {
  const { api, cli } = await started()
  expect(await cli.run(line)).toMatchObject({ exit: 2, out: '' })
  expect(api.callsOf(serverUpdate)).toEqual([])
})

test('a cluster has labels and notes as well', async () => {
  const { api, cli } = await started()
  expect((await cli.run('cluster label web env=prod')).out).toBe('web: env=prod\n')
  expect((await cli.run(['cluster', 'note', 'web', 'Ask the shop team'])).out).toBe(
    'The notes are now:\nAsk the shop team\n',
  )
  expect(await cli.run(['server', 'note', 'brave-otter-042', '--remove'])).toMatchObject({
    exit: 0,
    err: '',
    out: 'The notes were removed\n',
  })
  expect(api.callsOf(clusterUpdate).map((c) => c.body)).toEqual([
    { labels: { env: 'prod' } },
    { notes: 'Ask the shop team' },
  ])
})

test('a server is put into quarantine with a reason, and taken out of it', async () => {
  const { api, cli } = await started()
  expect(await cli.run('server quarantine brave-otter-042 bad-disk')).toMatchObject({
    exit: 0,
    out: 'brave-otter-042: In quarantine since 2026-11-28 02:00 UTC by a@example.com: bad-disk\n',
  })
  expect((await cli.run('server quarantine brave-otter-042 --lift')).out).toBe(
    'brave-otter-042 may be used again\n',
  )
  expect(await cli.run('server quarantine brave-otter-042')).toMatchObject({ exit: 2 })
  expect(api.callsOf(serverUpdate).map((c) => c.body)).toEqual([
    { quarantine: { reason: 'bad-disk' } },
    { quarantine: null },
  ])
})

test('the labels that servers have are listed with their number', async () => {
  const { api, cli } = await started()
  api.on(serverLabels, () => ({
    items: [
      { key: 'rack', value: '3', count: 2 },
      { key: 'spare', value: '', count: 1 },
    ],
    more: false,
  }))
  api.on(clusterLabels, () => ({ items: [], more: false }))
  expect(await cli.run('server labels')).toMatchObject({
    exit: 0,
    out: 'LABEL   SERVERS\nrack=3  2\nspare   1\n',
  })
  const { out, err } = await cli.run('cluster labels')
  expect(out + err).toBe('No cluster has labels\n')
})

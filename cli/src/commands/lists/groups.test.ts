import { expect, test } from 'vitest'
import { clusterGroups } from '#contract/clusters/groups.ts'
import { serverGroups } from '#contract/servers/groups.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'
import { id } from '../../testing/things.ts'

const finding = {
  id: id(7),
  kind: 'cluster_api_down',
  severity: 'down',
  since: '2026-11-28T08:00:00.000Z',
  reason: 'Nobody answers.',
} as const

test('clusters and servers are counted in groups, with the filters of their lists', async () => {
  const api = await startApi()
  const cli = await startCli(api)
  const groups = [
    { value: 'v1.13.9', name: 'v1.13.9', finding, clusters: 12 },
    { value: null, name: null, finding: null, clusters: 1 },
  ]
  const answer = { items: groups, total: 3, clusters: 14 }
  api.on(clusterGroups, () => answer)
  const shown = await cli.run(
    'cluster groups --by talos_version -l env=prod --finding cluster_api_down --kubernetes-version 1.36.3',
  )
  expect(shown.out.split('\n')).toEqual([
    expect.stringMatching(/^TALOS VERSION +CLUSTERS +WORST FINDING$/),
    expect.stringMatching(/^v1\.13\.9 +12 +Down$/),
    expect.stringMatching(/^none +1 +-$/),
    '1 more group',
    '',
  ])
  expect(api.callsOf(clusterGroups)[0]!.query).toEqual({
    by: 'talos_version',
    label: 'env=prod',
    finding: 'cluster_api_down',
    kubernetes_version: '1.36.3',
  })
  expect(JSON.parse((await cli.run('cluster groups --by status --json')).out)).toEqual(answer)
  api.on(serverGroups, () => ({ items: [], total: 0, servers: 0 }))
  expect((await cli.run('server groups --by rack')).out).toBe('No servers\n')
  expect(await cli.run('cluster groups')).toMatchObject({
    exit: 2,
    err: expect.stringContaining(
      'Say what the clusters are grouped by, such as --by finding',
    ) as string,
  })
})

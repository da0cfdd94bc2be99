import { expect, test } from 'vitest'
import { clusterHealth } from '#contract/clusters/health.ts'
import { clusterList } from '#contract/clusters/clusters.ts'
import type { Answer } from '#contract/operation.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'
import { aCluster, id, pageOf } from '../../testing/things.ts'

const version = { current: '1.36.3', newest: '1.36.3', next: null, after: null, reason: null }
const healthy: Answer<typeof clusterHealth> = {
  at: '2026-11-20T08:00:00.000Z',
  lines: [
    {
      topic: 'etcd',
      state: 'ok',
      message: '3 members, all healthy. cp-1 leads. One may fail.',
      remedies: [],
    },
    {
      topic: 'talos',
      state: 'note',
      message: 'v1.12.11; v1.13.9 is offered.',
      remedies: [{ change: 'upgradeTalos', node_id: null, name: null }],
    },
  ],
  etcd: {
    members: [
      {
        id: '7',
        name: 'cp-1',
        node_id: id(1),
        leader: true,
        learner: false,
        version: '3.6.12',
        size_bytes: 24_000_000,
        in_use_bytes: 12_000_000,
        alarms: [],
        healthy: true,
        reason: null,
      },
    ],
    reason: null,
  },
  kubernetes_api: [{ node_id: id(1), name: 'cp-1', ready: true, reason: null }],
  nodes: [
    {
      node_id: id(1),
      name: 'cp-1',
      role: 'control_plane',
      ready: true,
      reason: null,
      schedulable: true,
      kubelet_version: '1.36.3',
      talos_version: 'v1.13.9',
      pods: 4,
    },
  ],
  snapshot: null,
  versions: { talos: version, kubernetes: version },
  drift: [],
}

test('cluster health prints a line per topic, the members of etcd and the nodes, and exits with 1 if the cluster has a problem or an unknown state', async () => {
  const api = await startApi()
  const cluster = aCluster()
  api.on(clusterList, () => pageOf([cluster]))
  api.on(clusterHealth, () => healthy)
  const cli = await startCli(api)
  const { exit, out } = await cli.run(`cluster health ${cluster.name}`)
  expect(exit).toBe(0)
  expect(out).toMatch(/^etcd +ok +3 members, all healthy/m)
  expect(out).toMatch(/^Talos +note +v1\.12\.11; v1\.13\.9 is offered\.$/m)
  expect(out).toContain(`What helps:\n  steelyard cluster upgrade-talos ${cluster.name} VERSION\n`)
  expect(out).toMatch(/^cp-1 +yes +leader +3\.6\.12 +22\.9 MiB +11\.4 MiB/m)
  expect(out).toMatch(/^cp-1 +control plane +yes +yes +1\.36\.3 +v1\.13\.9 +4/m)
  expect(JSON.parse((await cli.run(`cluster health ${cluster.name} --json`)).out)).toEqual(healthy)

  const snapshot = {
    id: id(9),
    taken_at: healthy.at,
    verified_at: healthy.at,
    size_bytes: 1,
    store: 'disk',
  }
  const remedies = [{ change: 'restore' as const, node_id: null, name: null }]
  for (const state of ['problem', 'unknown'] as const) {
    const message = 'No control plane reports the members of etcd'
    api.on(clusterHealth, () => ({
      ...healthy,
      lines: [{ topic: 'etcd' as const, state, message, remedies }],
      etcd: { members: [{ ...healthy.etcd.members[0]!, id: null }], reason: message },
      snapshot,
    }))
    const ran = await cli.run(`cluster health ${cluster.name}`)
    expect(ran).toMatchObject({
      exit: 1,
      out: expect.stringMatching(new RegExp(`^etcd +${state} `, 'm')) as string,
    })
    expect(ran.out).toContain(
      `What helps:\n  steelyard cluster restore ${cluster.name} ${snapshot.id} --dry-run\n`,
    )
    expect(ran.out).toMatch(/^cp-1 +yes +unknown /m)
  }
})

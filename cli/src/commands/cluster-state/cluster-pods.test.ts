import { expect, test } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import { clusterPods } from '#contract/clusters/pods.ts'
import type { Answer } from '#contract/operation.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'
import { aCluster, id, pageOf } from '../../testing/things.ts'

const pods: Answer<typeof clusterPods> = {
  items: [
    {
      namespace: 'shop',
      name: 'web-1',
      node: 'cp-1',
      node_id: id(1),
      owner: { kind: 'Deployment', name: 'web' },
      state: 'CrashLoopBackOff',
      ready: false,
      reason: 'back-off restarting failed container',
      containers_ready: 0,
      containers: 1,
      restarts: 41,
      started_at: '2026-11-20T08:00:00.000Z',
      on_drain: 'moved',
    },
  ],
  total: 1200,
  not_ready: 1,
}

test('cluster pods prints a line per pod, says how many are left out, and sends server and search', async () => {
  const api = await startApi()
  api.on(clusterList, () => pageOf([aCluster()]))
  const asked: unknown[] = []
  api.on(clusterPods, ({ query }) => {
    asked.push(query)
    return pods
  })
  const cli = await startCli(api)
  const { exit, out } = await cli.run(`cluster pods web --server ${id(1)} --search shop`)
  expect(exit).toBe(0)
  expect(out).toMatch(
    /^shop +web-1 +cp-1 +0\/1 +CrashLoopBackOff +41 .* moves +back-off restarting/m,
  )
  expect(out).toContain('The first 1 of 1200 pods are shown')
  expect(asked).toEqual([{ node_id: id(1), q: 'shop' }])
})

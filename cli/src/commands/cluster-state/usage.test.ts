import { expect, test } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import { clusterMeasurements, serverMeasurements } from '#contract/measurements/measurements.ts'
import { serverRows } from '#contract/servers/servers.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'
import { aCluster, aServer, pageOf } from '../../testing/things.ts'

const starts_at = '2026-11-20T08:00:00.000Z'
const dayMs = 24 * 3_600_000

test('server usage prints least, mean, highest and newest value of each series of the period', async () => {
  const api = await startApi()
  const server = aServer()
  api.on(serverRows, () => pageOf([server]))
  const asked: (string | undefined)[] = []
  const answer = {
    starts_at,
    step_seconds: 3600,
    simulated_before: null,
    series: [
      {
        name: 'cpu' as const,
        unit: 'share' as const,
        mean: [0.25, null, 0.75],
        max: [0.5, null, 1],
      },
      {
        name: 'received' as const,
        unit: 'rate' as const,
        mean: [null, 2000, null],
        max: [null, 4000, null],
      },
      {
        name: 'sent' as const,
        unit: 'rate' as const,
        mean: [null, null, null],
        max: [null, null, null],
      },
    ],
  }
  api.on(serverMeasurements, ({ query }) => {
    asked.push(query.from)
    return answer
  })
  const cli = await startCli(api)
  const now = Date.parse('2026-11-27T08:00:00Z')
  const { exit, out } = await cli.run(`server usage ${server.name} --range 7d`, { now: () => now })
  expect(exit).toBe(0)
  expect(asked).toEqual([new Date(now - 7 * dayMs).toISOString()])
  expect(out).toMatch(/^WHAT +MIN +MEAN +MAX +NEWEST$/m)
  expect(out).toMatch(/^Processors +25 % +50 % +100 % +75 %$/m)
  expect(out).toMatch(/^Received +2 kB\/s +2 kB\/s +4 kB\/s +2 kB\/s$/m)
  // Nothing is known of what was never measured.
  expect(out).not.toMatch(/^Sent/m)
  expect(JSON.parse((await cli.run(`server usage ${server.name} -o json`)).out)).toEqual(answer)
  expect((await cli.run(`server usage ${server.name} --range 2w`)).err).toContain('24h')
})

test('cluster usage says what is simulated, and that nothing was measured', async () => {
  const api = await startApi()
  const cluster = aCluster()
  api.on(clusterList, () => pageOf([cluster]))
  const measured = (value: number | null) => ({
    starts_at,
    step_seconds: 60,
    simulated_before: starts_at,
    series: [
      { name: 'api_seconds' as const, unit: 'seconds' as const, mean: [value], max: [value] },
      { name: 'etcd_bytes' as const, unit: 'bytes' as const, mean: [value], max: [value] },
      { name: 'nodes_ready' as const, unit: 'count' as const, mean: [value], max: [value] },
    ],
  })
  api.on(clusterMeasurements, () => measured(3))
  const cli = await startCli(api)
  const { out } = await cli.run(`cluster usage ${cluster.name}`)
  expect(out).toMatch(/^Kubernetes API +3000 ms/m)
  expect(out).toMatch(/^Size of etcd +3 B/m)
  expect(out).toMatch(/^Nodes that are Ready +3/m)
  expect(out).toMatch(/^Values before 2026-11-20 .* are simulated\.$/m)
  api.on(clusterMeasurements, () => measured(null))
  expect((await cli.run(`cluster usage ${cluster.name}`)).out).toContain(
    'Nothing was measured in this period',
  )
})

import { expect, test } from 'vitest'
import { clusterGet, clusterList, clusterServerFailure } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { clusterResume } from '#contract/restoration.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aCluster, anOperation, id, pageOf } from '../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'

async function signedIn() {
  const api = await startApi()
  const cluster = aCluster()
  api.on(clusterList, () => pageOf([cluster]))
  api.on(clusterGet, () => cluster)
  return { api, cli: await startCli(api), cluster }
}

test('the failure of a server is printed with the log of the failed boot', async () => {
  const { api, cli, cluster } = await signedIn()
  const answer = {
    reason: 'no disk is large enough',
    log: {
      at,
      lines: [
        '[talos] task install: starting',
        '[talos] \u001b[31mno disk\u001b[0m is large enough',
      ],
    },
  }
  api.on(clusterServerFailure, () => answer)
  const { exit, out } = await cli.run(`cluster failure ${cluster.name} brave-otter-042`)
  expect(exit).toBe(0)
  expect(out).toMatch(
    /^Reason +no disk is large enough\nLog +as of [^\n]+\n\n\[talos\] task install: starting\n/,
  )
  expect(out.split('\n')).toHaveLength(6)
  // Escape sequences in a machine's log don't reach the terminal.
  expect(out).not.toContain('\u001b')
  expect(api.callsOf(clusterServerFailure)[0]!.params).toEqual({ id: cluster.id, node_id: id(1) })
  expect(JSON.parse((await cli.run(`cluster failure ${cluster.id} ${id(1)} --json`)).out)).toEqual(
    answer,
  )
})

test('an unreadable log, a server that never failed, and a server of another cluster are reported as errors', async () => {
  const { api, cli, cluster } = await signedIn()
  api.on(clusterServerFailure, () => ({ reason: 'it does not answer', log: null }))
  expect((await cli.run(`cluster failure ${cluster.name} brave-otter-042`)).out).toMatch(
    /^Reason +it does not answer\nLog +could not be read\n$/,
  )
  api.on(clusterServerFailure, () => ({ reason: null, log: null }))
  expect((await cli.run(`cluster failure ${cluster.name} brave-otter-042`)).out).toBe(
    `Nothing has failed on brave-otter-042 in ${cluster.name}\n`,
  )
  const unknown = await cli.run(`cluster failure ${cluster.name} nobody`)
  expect(unknown.err).toContain(`There is no server of ${cluster.name} nobody`)
  expect(unknown.exit).not.toBe(0)
})

test("cluster resume prints what continues, or why the cluster can't be resumed", async () => {
  const { api, cli, cluster } = await signedIn()
  api.on(clusterResume, () => ({ operations: [anOperation({ status: 'running' })] }))
  expect(await cli.run(`cluster resume ${cluster.name}`)).toMatchObject({
    exit: 0,
    out: 'Create cluster web: running\n',
  })
  expect(api.callsOf(clusterResume)[0]!.params).toEqual({ id: cluster.id })
  api.on(clusterResume, () => ({ operations: [] }))
  expect((await cli.run(`cluster resume ${cluster.id}`)).out).toBe(
    'The cluster is resumed. No operation was on hold\n',
  )
  api.on(clusterResume, () => {
    throw new Problem(
      'transition_refused',
      'brave-otter-042 has not been contacted since the restore',
    )
  })
  expect(await cli.run(`cluster resume ${cluster.name}`)).toMatchObject({
    exit: 6,
    err: expect.stringContaining('has not been contacted since the restore') as string,
  })
  expect((await cli.run('cluster resume nothing')).err).toContain('nothing')
})

test('cluster show prints the problems of the cluster', async () => {
  const { api, cli, cluster } = await signedIn()
  const message = 'The configuration of db-1 cannot be sent: connection refused'
  api.on(clusterGet, () => ({ ...cluster, troubles: [{ node_id: id(1), message }] }))
  expect((await cli.run(`cluster show ${cluster.name}`)).out).toMatch(
    new RegExp(`^Trouble +${message}$`, 'm'),
  )
})

test('cluster show prints what an upgrade that stopped is to reach, and which certificate should be renewed by now', async () => {
  const { api, cli, cluster } = await signedIn()
  const ending = (year: number) => ({
    kind: 'etcd_server' as const,
    name: `db-${year}`,
    ends_at: `${year}-12-03T12:00:00Z`,
    reason: 'Talos has not renewed it in time: restart the server',
  })
  const sentence = '2 of 3 on v1.14.1, stopped 18:01 UTC'
  let years = [2998, 2999]
  api.on(clusterGet, () => ({
    ...cluster,
    upgrade: { of: 'talos' as const, version: 'v1.14.1', sentence, operation_id: id(2) },
    certificates_ending: years.map(ending),
  }))
  const shown = async () => (await cli.run(`cluster show ${cluster.name}`)).out
  expect(await shown()).toMatch(new RegExp(`^Wanted +${sentence}$`, 'm'))
  expect(await shown()).toMatch(
    /^Certificates +etcd of db-2998 expires 2998-12-03 .* and 1 more: Talos has not renewed it in time: restart the server$/m,
  )
  years = [2025]
  expect(await shown()).toMatch(/^Certificates +etcd of db-2025 has expired since 2025-12-03 /m)
})

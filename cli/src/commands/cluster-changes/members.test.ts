import { expect, test } from 'vitest'
import { certificateKinds, clusterCertificates } from '#contract/clusters/certificates.ts'
import type { CertificateKind } from '#contract/clusters/ending-certificates.ts'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { serverList } from '#contract/servers/servers.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'
import { aCluster, anOperation, aServer, id, pageOf } from '../../testing/things.ts'

const seen = '0'.repeat(64)

async function ready() {
  const api = await startApi()
  const servers = [
    { node_id: id(1), name: 'cp-1', role: 'control_plane' as const },
    { node_id: id(2), name: 'w-1', role: 'worker' as const },
  ]
  api.on(clusterList, () => pageOf([aCluster({ id: id(3), name: 'web' })]))
  api.on(clusterGet, () => aCluster({ id: id(3), name: 'web', status: 'ready', servers }))
  api.on(serverList, () =>
    pageOf([aServer({ id: id(4), name: 'spare' }), aServer({ id: id(5), name: 'other' })]),
  )
  api.on(clusterPlan, ({ body }) => ({
    kind: body.change.kind,
    checks: [],
    warnings: [],
    groups: [],
    disks: [],
    losses: [],
    differences: [],
    took_s: null,
    seen,
  }))
  api.on(clusterChange, () => ({ operation: anOperation() }))
  return { api, cli: await startCli(api) }
}

test.each([
  [
    'cluster grow web --control-plane spare --worker other --workload-disk other=nvme1n1',
    {
      kind: 'grow',
      servers: [
        { node_id: id(4), role: 'control_plane' },
        { node_id: id(5), role: 'worker', workload_disks: ['nvme1n1'] },
      ],
    },
  ],
  [
    'cluster shrink web --server w-1 --keep-workload-disks',
    { kind: 'shrink', servers: [{ node_id: id(2), keep_workload_disks: true, force: false }] },
  ],
  [
    'cluster shrink web --force w-1',
    { kind: 'shrink', servers: [{ node_id: id(2), keep_workload_disks: false, force: true }] },
  ],
  [
    `cluster upgrade-kubernetes web 1.36.3 --store ${id(6)}`,
    {
      kind: 'upgradeKubernetes',
      version: '1.36.3',
      drain: false,
      accept_removed_apis: false,
      store_id: id(6),
    },
  ],
  [
    'cluster upgrade-talos web v1.13.9 --no-snapshot',
    { kind: 'upgradeTalos', version: 'v1.13.9', stage: false, snapshot: false },
  ],
  [
    'cluster role web --control-plane w-1',
    { kind: 'role', servers: [{ node_id: id(2), role: 'control_plane' }] },
  ],
  [
    'cluster upgrade-talos web v1.13.9 --canary w-1 --stage',
    { kind: 'upgradeTalos', version: 'v1.13.9', canary: id(2), stage: true },
  ],
  ['cluster rollback-talos web w-1', { kind: 'rollbackTalos', node_id: id(2) }],
  [
    'cluster replace web cp-1 --by spare',
    { kind: 'replace', node_id: id(1), by: { node_id: id(4) }, keep_workload_disks: false },
  ],
])('`%s` shows its plan, and starts the change of this plan', async (line, change) => {
  const { api, cli } = await ready()
  expect(await cli.run(`${line} --dry-run`)).toMatchObject({ exit: 0 })
  expect(api.callsOf(clusterPlan)).toMatchObject([{ params: { id: id(3) }, body: { change } }])
  expect(api.callsOf(clusterChange)).toEqual([])
  expect(await cli.run(`${line} --yes`)).toMatchObject({ exit: 0 })
  expect(api.callsOf(clusterChange)).toMatchObject([
    { params: { id: id(3) }, body: { change, seen } },
  ])
})

test.each([
  ['cluster grow web', 'Name the servers with --control-plane or --worker'],
  ['cluster grow web --worker spare,spare', 'spare is named twice'],
  ['cluster shrink web', 'Name the servers with --server or --force'],
  ['cluster role web', 'Name the servers with --control-plane or --worker'],
  ['cluster replace web cp-1', '--by is missing'],
])('`%s` is refused: %s', async (line, message) => {
  const { api, cli } = await ready()
  expect(await cli.run(line)).toMatchObject({
    exit: 2,
    err: expect.stringContaining(message) as string,
  })
  expect(api.callsOf(clusterPlan)).toEqual([])
})

test('a refused change prints the command that settles the reason', async () => {
  const { api, cli } = await ready()
  const remedies = [{ change: 'shrink' as const, node_id: id(1), name: 'cp-1' }]
  const checks = [{ check: 'etcd', ok: false, message: 'cp-1: no answer', remedies }]
  api.on(clusterPlan, () => ({
    kind: 'defragment',
    checks,
    warnings: [],
    groups: [],
    disks: [],
    losses: [],
    differences: [],
    took_s: null,
    seen,
  }))
  const helps = 'What helps: steelyard cluster shrink web --force cp-1'
  const dry = await cli.run('cluster defragment web --dry-run')
  expect(dry).toMatchObject({ exit: 1, out: expect.stringContaining(helps) as string })
  expect(dry.out).not.toContain('Nothing to do')
  expect(await cli.run('cluster defragment web --yes')).toMatchObject({
    err: expect.stringContaining(`Nothing was changed. ${helps}`) as string,
  })
})

test('cluster certificates names the command that renews an authority, and none that is refused', async () => {
  const { api, cli } = await ready()
  const one = (kind: CertificateKind, ending: boolean) => ({
    kind,
    ending,
    renewed_by: certificateKinds[kind].renewed_by,
    node_id: null,
    name: null,
    starts_at: null,
    ends_at: null,
    reason: null,
  })
  api.on(clusterCertificates, () => ({
    items: [
      one('talos_ca', true),
      one('aggregator_ca', false),
      one('etcd_ca', true),
      one('kubelet', true),
    ],
  }))
  const { out } = await cli.run('cluster certificates web')
  expect(out).toMatch(/What helps:\n {2}steelyard cluster rotate web talos-ca --dry-run\n$/)
  expect(out.match(/cluster rotate/g)).toHaveLength(1)
})

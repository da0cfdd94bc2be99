/**
 * Every call that may change a cluster or its servers, taken from the contract: on a cluster that a
 * set of files holds, it is refused, or it is on a list with the reason why it isn't.
 */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { allOperations } from '#contract/all.ts'
import { clusterFilesHold } from '#contract/clusters/files.ts'
import { subnetCreate, subnetExport } from '#contract/network/subnets.ts'
import type { Operation } from '#contract/operation.ts'
import { patchCreate } from '#contract/patches.ts'
import { sharedPatchCreate, sharedPatchRollOut } from '#contract/shared-patches/shared-patches.ts'
import { startBackend } from '../../../testing/backend.ts'
import { buildCluster, buildServer } from '../../servers/testing.ts'
import { assign } from '../../subnets/testing.ts'

const backend = await startBackend()
const { db } = backend.platform
const admin = await backend.signIn()
const cluster = randomUUID()
const set = 'rack-12'
const seen = '0'.repeat(64)
let node = ''
let patch = ''
let shared = ''
let subnet = ''
/** The subnet's row with an address excluded. */
let csv = ''

/** Calls about accounts, alerts and storage: none of their objects is a cluster's. */
const elsewhere =
  /^\/v1\/(?:session|sessions|authorize|password-reset|users|invitations|waitlist|tokens|channels|alert-rules|deliveries|stores|views|backups|backup-schedule|bmcs|bmc-credentials)(?:\/|$)/

type Ask = () => { params?: object; query?: object; body?: object }
const ofCluster = (more: object = {}): Ask => {
  return () => ({ params: { id: cluster }, ...more })
}
const ofServer = (more: object = {}): Ask => {
  return () => ({ params: { id: node }, ...more })
}
const window = { days: ['sat'], from: '02:00', minutes: 60, time_zone: 'UTC' }

/** The calls that are refused, each with a request that would change the held cluster. */
const refused: Readonly<Record<string, Ask>> = {
  clusterChange: ofCluster({ body: { change: { kind: 'defragment' } } }),
  clusterDelete: ofCluster({ query: { force: 'true' } }),
  clusterFilesHold: ofCluster({ body: { set: 'other' } }),
  clusterServerReplace: () => ({
    params: { id: cluster, node_id: node },
    body: { node_id: randomUUID() },
  }),
  clusterSubnetsAssign: ofCluster({ body: { subnet_ids: [] } }),
  clusterWindowSet: ofCluster({ body: { window } }),
  patchCreate: ofServer({
    body: { name: 'more', body: 'machine: {sysctls: {net.core.somaxconn: "1"}}\n' },
  }),
  patchRemove: () => ({ params: { id: node, patchId: patch } }),
  patchUpdate: () => ({ params: { id: node, patchId: patch }, body: { labels: { a: 'b' } } }),
  serverDriftKeep: ofServer({ body: { seen } }),
  serverRemove: ofServer({ query: { force: 'true' } }),
  serverReset: ofServer({ body: {} }),
  sharedPatchRollOut: () => ({ params: { id: shared }, body: {} }),
  sharedPatchUndo: () => ({ params: { id: shared }, body: {} }),
  snapshotScheduleRemove: ofCluster(),
  snapshotScheduleSet: ofCluster({
    body: { store_id: randomUUID(), every_hours: 6, keep_count: 28 },
  }),
  subnetImport: () => ({ body: { csv } }),
  subnetUpdate: () => ({ params: { id: subnet }, body: { exclude: ['203.0.113.20'] } }),
}

const reads = 'It changes nothing.'
const runs = 'Work that has begun may be ended, repeated or resumed.'
const anew = 'Its servers belong to no cluster yet, and the new cluster has no files that hold it.'
const another = 'Its object is no part of the cluster, and the files of the cluster do not name it.'
const spare = 'It copies etcd or checks a copy; the cluster stays as it is.'
const assigned = 'It is refused while the object belongs to a cluster.'
const unsent = 'It sends nothing to a server: a roll-out does.'
const machine =
  'The state of a machine for now: what it runs and its configuration stay the same, and an incident does not wait for files.'
const others = 'It answers what others did to the cluster, which no file can say.'

/** The calls that stay possible, with the reason. */
const possible: Readonly<Record<string, string>> = {
  appliedMove: 'It says to which set an object belongs; the lock stays with the set that holds it.',
  ccCreate: another,
  ccUpdate: another,
  clusterCreate: anew,
  clusterFilesRelease: 'It takes off the lock.',
  clusterImport: anew,
  clusterImportPreview: reads,
  clusterKeyReplace: others,
  clusterPlan: reads,
  clusterPreview: reads,
  clusterResume: runs,
  clusterSecretsImport: others,
  clusterSubnetsPreview: reads,
  clusterUpdate: 'Labels and notes are no part of the document of a cluster.',
  datacenterCreate: another,
  datacenterRemove: assigned,
  datacenterUpdate: another,
  findingAcknowledge: 'It marks a finding as known.',
  imageCreate: another,
  imageRegister: another,
  imageRemove: another,
  incidentAssign: 'It says who takes care of what has happened.',
  incidentUpdate: 'The note of an incident is no part of the document of a cluster.',
  joinTokenCreate: another,
  joinTokenRevoke: another,
  offerAccessAddressSet: another,
  offerChallenge: reads,
  offerCreate: another,
  offerProve: another,
  offerRecompute: another,
  offerUpdate: another,
  operationCancel: runs,
  operationResume: runs,
  operationRetry: runs,
  patchPreview: reads,
  rackCreate: another,
  rackImport: another,
  rackRemove: another,
  rackUpdate: another,
  serverAdd: another,
  serverIdentify: another,
  serverPower: 'It changes the power of a machine, and nothing that the files say.',
  serverBulk: 'It answers for each server: one of a held cluster is not reset.',
  serverBulkPlan: reads,
  serverConfirm: 'It says that a machine is the known one; the machine is sent nothing.',
  serverDriftOverwrite: 'It sends what the files have asked for.',
  serverPlace: another,
  serverReboot: machine,
  serverRestartKubelet: machine,
  serverShutdown: machine,
  serverUnplace: another,
  serverUpdate:
    'In a cluster name and datacenter are fixed; labels, notes and quarantine change no machine.',
  sharedPatchCreate: unsent,
  sharedPatchPreview: reads,
  sharedPatchRemove: 'It is refused while a server has the patch.',
  sharedPatchUpdate: unsent,
  silenceCreate: another,
  silenceRemove: another,
  snapshotImport: spare,
  snapshotRemove: spare,
  snapshotVerify: spare,
  subnetCreate: another,
  subnetRemove: assigned,
  templateCreate: another,
  templatePlan: reads,
  templateRemove: another,
  templateUpdate: another,
}

beforeAll(async () => {
  node = await buildServer(backend, { name: 'cp-1' })
  const made = await admin.call(patchCreate, {
    params: { id: node },
    body: { name: 'sysctls', body: 'machine: {sysctls: {net.core.somaxconn: "4096"}}\n' },
  })
  patch = made.answer!.patch_id
  await buildCluster(backend, cluster, 'held')
  await sql`update cluster set status = 'ready', ready_at = created_at where id = ${cluster}`.execute(
    db,
  )
  await db
    .insertInto('cluster_server')
    .values({
      cluster_id: cluster,
      node_id: node,
      role: 'control_plane',
      position: 0,
      name: 'cp-1',
      install_disk: '/dev/sda',
      install_image: 'x',
      interface: null,
      workload_disks: [],
      disk_wwids: '{}',
      at_since: new Date(backend.clock.now()),
    })
    .execute()
  await db
    .updateTable('server')
    .set({ cluster_id: cluster, cluster_name: 'held', status: 'ready' })
    .where('id', '=', node)
    .execute()
  const { datacenter_id } = await db
    .selectFrom('cluster')
    .select('datacenter_id')
    .where('id', '=', cluster)
    .executeTakeFirstOrThrow()
  const pool = await admin.call(subnetCreate, {
    body: {
      name: 'edge-pool',
      datacenter_id: datacenter_id!,
      cidr: '203.0.113.0/26',
      gateway: '203.0.113.1',
    },
  })
  subnet = pool.answer!.id
  await assign(backend, pool.answer!, cluster)
  const saved = await admin.call(sharedPatchCreate, {
    body: {
      name: 'calm',
      body: 'machine: {sysctls: {vm.swappiness: "1"}}\n',
      targets: { node_ids: [node] },
    },
  })
  shared = saved.answer!.id
  await admin.call(sharedPatchRollOut, { params: { id: shared }, body: {} })
  await sql`update operation set status = 'done', ended_at = created_at`.execute(db)
  await sql`update shared_roll_out_server set applied_at = now()`.execute(db)
  const { text } = await admin.call(subnetExport, { query: {} })
  csv = text.replace('203.0.113.1,,,', '203.0.113.1,,203.0.113.20,')
  await admin.call(clusterFilesHold, { params: { id: cluster }, body: { set } })
})

const mutating = allOperations.filter((o) => o.method !== 'GET' && !elsewhere.test(o.path))
const namesOf = (list: readonly Operation[]) => list.map((o) => o.name).toSorted()

test('each call that changes something is refused on a held cluster, or has its reason why not', () => {
  expect([...Object.keys(refused), ...Object.keys(possible)].toSorted()).toEqual(namesOf(mutating))
  // The documentation of the API says the same.
  const declared = allOperations.filter((o) => o.errors.includes('held_by_files'))
  expect(namesOf(declared)).toEqual(Object.keys(refused).toSorted())
})

test.each(mutating.filter((o) => o.name in refused).map((o) => [o.name, o] as const))(
  '%s by hand is refused on a held cluster, names who holds it, and changes nothing',
  async (name, operation) => {
    const state = async () => [
      await db.selectFrom('cluster').selectAll().execute(),
      await db.selectFrom('cluster_server').selectAll().execute(),
      await db.selectFrom('patch').selectAll().execute(),
      await db.selectFrom('subnet').selectAll().execute(),
      await db.selectFrom('subnet_assignment').selectAll().execute(),
      await db.selectFrom('operation').selectAll().execute(),
    ]
    const before = await state()
    const { problem } = await admin.call(operation, refused[name]!())
    expect(problem).toMatchObject({
      code: 'held_by_files',
      error: expect.stringMatching(
        /^Only the files of the set rack-12 change held: .*@.* has said so .*release the cluster first$/,
      ) as string,
    })
    expect(await state()).toEqual(before)
  },
)

test.each(mutating.filter((o) => o.name in refused).map((o) => [o.name, o] as const))(
  '%s by the files that hold the cluster is not refused for that',
  async (name, operation) => {
    const ask = name === 'clusterFilesHold' ? ofCluster({ body: { set } }) : refused[name]!
    const { problem } = await admin.call(operation, ask(), {
      headers: { 'steelyard-apply': set },
    })
    expect(problem?.code).not.toBe('held_by_files')
  },
)

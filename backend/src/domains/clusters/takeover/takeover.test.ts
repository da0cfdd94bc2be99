import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { clusterPlan } from '#contract/clusters/changes/changes.ts'
import {
  type Cluster,
  clusterDelete,
  clusterEvents,
  clusterGet,
  clusterKubeconfig,
  clusterTalosconfig,
} from '#contract/clusters/clusters.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import { operationGet } from '#contract/operations.ts'
import { overviewGet } from '#contract/overview.ts'
import { patchCreate } from '#contract/patches.ts'
import { type Server, serverList, serverRemove } from '#contract/servers/servers.ts'
import { subnetCreate, subnetRemove } from '#contract/network/subnets.ts'
import {
  clusterImport,
  clusterImportPreview,
  clusterSecretsImport,
  type Takeover,
} from '#contract/clusters/takeover.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { readTalosconfig, talosconfig } from '#talos/access/access.ts'
import { type SecretsBundle, writeSecrets, secretsOfControlPlane } from '#talos/secrets/bundle.ts'
import { spread } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { inTransaction } from '../../../db/db.ts'
import { sweepQueue } from '../../configurations/api.ts'
import { clusterWorld } from '../testing/world.ts'
import { adminOf, held, otherBundle, rotate } from './testing.ts'
import { listedFindings } from '../../../testing/overview.ts'

const world = await clusterWorld({ servers: 2, seed: 'takeover' })
const { admin, backend, datacenterId } = world
let nodes: Server[]
let bundle: SecretsBundle
let files: { talosconfig: string; kubeconfig: string }
let taken: Cluster

const machineOf = (node: Server) =>
  world.simulator.servers.find((m) => m.disk.identity.uuid.toLowerCase() === node.identity.uuid)!
const addressOf = (node: Server) => machineOf(node).plan.address
const applies = () => nodes.map((node) => machineOf(node).disk.state.counters.applies)

/**
 * Creates a cluster, then deletes it and one of its servers from Steelyard while the machines
 * continue to run.
 */
beforeAll(async () => {
  // A preview lists the machines by name; the first one is the control plane.
  nodes = world.take(2).toSorted((a, b) => a.name.localeCompare(b.name))
  const made = await world.create(nodes, { name: 'theirs' })
  const { status, reason } = await world.ended(made.operation.id)
  if (status !== 'done') throw new Error(`The cluster was not made: ${reason}`)
  const params = { id: made.cluster.id }
  files = {
    talosconfig: (await admin.call(clusterTalosconfig, { params })).text,
    kubeconfig: (await admin.call(clusterKubeconfig, { params })).text,
  }
  const keys = (await backend.domains.clusters.talosCredentials(params.id, {
    role: 'os:admin',
    lifetimeMs: 3_600_000,
  }))!
  bundle = secretsOfControlPlane(await held(addressOf(nodes[0]!), keys))
  const deleted = await admin.call(clusterDelete, { params, query: { force: 'true' } })
  await world.ended(deleted.answer!.operation.id)
  await admin.call(serverRemove, { params: { id: nodes[1]!.id } })
}, 600_000)

const preview = (body: Partial<Parameters<typeof asked>[0]> = {}) =>
  admin.call(clusterImportPreview, { body: asked(body) })
const asked = (more: {
  secrets?: string
  talosconfig?: string
  kubeconfig?: string
  addresses?: string[]
  name?: string
}) => ({
  datacenter_id: datacenterId,
  ...(more.talosconfig === undefined && {
    secrets: writeSecrets(bundle),
    addresses: [addressOf(nodes[0]!)],
  }),
  ...more,
})

const wrong: [string, () => Promise<object> | object, RegExp][] = [
  [
    'a talosconfig as the bundle',
    () => ({ secrets: files.talosconfig }),
    /^This is a talosconfig, not a secrets bundle$/,
  ],
  [
    'a kubeconfig as the talosconfig',
    () => ({ talosconfig: files.kubeconfig }),
    /^This is a kubeconfig, not a talosconfig$/,
  ],
  [
    'a bundle as the talosconfig',
    () => ({ talosconfig: writeSecrets(bundle) }),
    /^This is a secrets bundle, not a talosconfig$/,
  ],
  [
    'a bundle of another cluster',
    async () => ({ secrets: writeSecrets(await otherBundle()) }),
    /^The secrets belong to another cluster, or are older than a change of the cluster's CA: the given CA did not sign the certificate of the machine at 127\.20\./,
  ],
  [
    'a bundle with the id of another cluster',
    () => ({ secrets: writeSecrets({ ...bundle, cluster: { ...bundle.cluster, id: 'another' } }) }),
    /^The secrets belong to another cluster than the machine at/,
  ],
  [
    'a bundle with an old token',
    () => ({
      secrets: writeSecrets({ ...bundle, trustdInfo: { token: 'abcdef.0123456789abcdef' } }),
    }),
    /the machine token differs\. They may be older than a change of keys$/,
  ],
  [
    'a file that is no bundle',
    () => ({ secrets: 'cluster: 1' }),
    /^Secrets: cluster\.id is missing$/,
  ],
  [
    'a talosconfig without a context',
    () => ({ talosconfig: 'contexts: {}' }),
    /^The talosconfig has no context$/,
  ],
  [
    'a kubeconfig of another cluster',
    async () => ({
      talosconfig: files.talosconfig,
      kubeconfig: files.kubeconfig.replace(
        /certificate-authority-data: .*/,
        `certificate-authority-data: ${Buffer.from((await otherBundle()).certs.k8s.crt).toString('base64')}`,
      ),
    }),
    /^The kubeconfig belongs to another cluster/,
  ],
  [
    'the address of a worker',
    () => ({ addresses: [addressOf(nodes[1]!)] }),
    /is a worker: give the address of a control plane$/,
  ],
  ['no address', () => ({ addresses: [] }), /^Give the address of a control plane/],
]
test.each(spread(wrong, 5))(
  'a takeover with %s is refused with a reason, and nothing is stored',
  async (_, given, sentence) => {
    const refused = await preview(await given())
    expect(refused).toMatchObject({
      status: 422,
      problem: { code: 'invalid', error: expect.stringMatching(sentence) as string },
    })
    expect(refused.text).not.toContain('PRIVATE KEY')
    expect((await admin.call(serverList, { query: {} })).answer!.total).toBe(1)
  },
)

test('a takeover by an address that may not be dialled is refused', async () => {
  const sentence = expect.stringContaining('10.99.0.1 is not in STEELYARD_DIAL_NETWORKS') as string
  expect(await preview({ addresses: ['10.99.0.1'] })).toMatchObject({
    status: 422,
    problem: { code: 'dial_refused', fields: { addresses: sentence } },
  })
})

test('the endpoints of a talosconfig may include a DNS name if another endpoint is an address', async () => {
  const { ca, crt, key } = readTalosconfig(files.talosconfig)
  const of = (...endpoints: string[]) => talosconfig({ context: 'theirs', endpoints, ca, crt, key })
  expect(await preview({ talosconfig: of('api.example.org', addressOf(nodes[0]!)) })).toMatchObject(
    { status: 200 },
  )
  const sentence =
    '"api.example.org" is not an IP address in its plain form. Give the address of a control plane'
  expect(await preview({ talosconfig: of('api.example.org') })).toMatchObject({
    status: 422,
    problem: { error: sentence, fields: { addresses: sentence } },
  })
})

test('a cluster with a silent machine can be previewed but not taken over', async () => {
  const worker = machineOf(nodes[1]!)
  await addFault(worker, { kind: 'refuse', port: 'apid' })
  const { answer } = await preview()
  expect(answer!.servers[1]).toMatchObject({
    name: nodes[1]!.name,
    uuid: null,
    problem: expect.stringContaining('connection refused') as string,
  })
  expect(answer!.checks).toContainEqual({
    check: 'machines',
    ok: false,
    message: expect.stringContaining('1 machine did not answer') as string,
  })
  expect(
    await admin.call(clusterImport, { body: { ...asked({}), seen: answer!.seen } }),
  ).toMatchObject({
    status: 503,
    problem: { code: 'server_unreachable' },
  })
  await clearFaults(worker)
})

let shown: Takeover

test('the preview lists the machines and marks those whose UUID is registered already', async () => {
  const before = applies()
  shown = (await preview()).answer!
  expect(shown).toMatchObject({
    name: 'theirs',
    endpoint: expect.stringContaining(addressOf(nodes[0]!)) as string,
    talos_version: 'v1.13.9',
    pod_cidr: '10.244.0.0/16',
    servers: [
      {
        name: nodes[0]!.name,
        role: 'control_plane',
        uuid: nodes[0]!.identity.uuid,
        known: { id: nodes[0]!.id },
        problem: null,
      },
      {
        name: nodes[1]!.name,
        role: 'worker',
        uuid: nodes[1]!.identity.uuid,
        known: null,
        problem: null,
      },
    ],
  })
  expect(shown.checks.every((c) => c.ok)).toBe(true)
  // With an admin's talosconfig instead of the secrets file the preview is the same: Steelyard
  // reads the secrets from the control plane.
  expect(
    (await preview({ talosconfig: files.talosconfig, kubeconfig: files.kubeconfig })).answer,
  ).toEqual(shown)
  expect(applies()).toEqual(before)
})

test('the preview warns if the networks of the cluster overlap a subnet', async () => {
  const subnet = (
    await admin.call(subnetCreate, {
      body: { name: 'front', cidr: '10.244.7.0/24', datacenter_id: datacenterId },
    })
  ).answer!
  const { answer } = await preview()
  expect(answer!.checks).toContainEqual({
    check: 'warning',
    ok: true,
    message:
      "The pod network 10.244.0.0/16 overlaps with subnet front (10.244.7.0/24): pods can't reach servers in that subnet",
  })
  expect(answer!.seen).toBe(shown.seen)
  await admin.call(subnetRemove, { params: { id: subnet.id } })
})

test('after a takeover the cluster is ready, and nothing was sent to its servers', async () => {
  const before = applies()
  expect(
    await admin.call(clusterImport, { body: { ...asked({}), seen: '0'.repeat(64) } }),
  ).toMatchObject({ status: 412, problem: { code: 'stale' } })
  const imported = await admin.call(clusterImport, {
    body: { ...asked({ name: 'ours' }), seen: shown.seen },
  })
  expect(imported.status).toBe(202)
  taken = imported.answer!.cluster
  expect(taken).toMatchObject({
    name: 'ours',
    status: 'ready',
    control_planes: 1,
    workers: 1,
    kubernetes_version: shown.kubernetes_version,
  })
  expect(
    (await admin.call(operationGet, { params: { id: imported.answer!.operation.id } })).answer,
  ).toMatchObject({ kind: 'clusterImport', status: 'done' })
  const { items } = (await admin.call(serverList, { query: {} })).answer!
  expect(items.map((s) => s.kubernetes?.ready)).toEqual([true, true])
  expect(
    items
      .map((s) => [s.name, s.status, s.type, s.cluster?.name, s.identity.state])
      .toSorted((a, b) => String(a[2]).localeCompare(String(b[2]))),
  ).toEqual([
    [nodes[0]!.name, 'ready', 'control_plane', 'ours', 'confirmed'],
    [nodes[1]!.name, 'ready', 'worker', 'ours', 'confirmed'],
  ])
  // The server that was removed before the takeover has a new id.
  nodes = nodes.map((node) => ({ ...items.find((s) => s.identity.uuid === node.identity.uuid)! }))
  for (const node of nodes)
    expect((await admin.call(serverDrift, { params: { id: node.id } })).answer).toMatchObject({
      state: 'none',
    })
  expect(
    await admin.call(clusterImport, { body: { ...asked({ name: 'twice' }), seen: shown.seen } }),
  ).toMatchObject({ status: 409 })
  await world.until(
    () =>
      backend.platform.db
        .selectFrom('cluster')
        .select(['escrowed_at', 'access_applied_at', 'status'])
        .where('id', '=', taken.id)
        .executeTakeFirstOrThrow(),
    (row) => row.escrowed_at !== null && row.access_applied_at !== null && row.status === 'ready',
  )
  expect(applies()).toEqual(before)
})

test('a patch is merged into the configuration that the machine had at the takeover', async () => {
  const keys = await adminOf(bundle)
  const before = parse(
    await held(addressOf(nodes[1]!), keys).then((yaml) => yaml.split('---')[0]!),
  ) as {
    machine: object
  }
  const made = await admin.call(patchCreate, {
    params: { id: nodes[1]!.id },
    body: { name: 'swap', body: 'machine:\n  sysctls:\n    vm.swappiness: "1"\n' },
  })
  expect(made.status).toBe(201)
  const after = await world.until(
    () => held(addressOf(nodes[1]!), keys),
    (yaml) => yaml.includes('vm.swappiness'),
  )
  expect(parse(after.split('---')[0]!)).toEqual({
    ...before,
    machine: { ...before.machine, sysctls: { 'vm.swappiness': '1' } },
  })
})

longTest(
  'a cluster that was taken over gets another endpoint in the configurations that its servers had',
  { timeout: 600_000 },
  async () => {
    const keys = await adminOf(bundle)
    const old = new URL(taken.endpoint).hostname
    const mainOf = async (node: Server) =>
      parse((await held(addressOf(node), keys)).split('---')[0]!) as {
        cluster: { apiServer?: { certSANs: string[] } }
      }
    const params = { id: taken.id }
    const change = {
      kind: 'endpoint' as const,
      endpoint: 'kube.example.com',
      accept_unchecked: true,
    }
    const refused = (
      await admin.call(clusterPlan, {
        params,
        body: { change: { ...change, endpoint: '127.20.255.77', virtual_ip: true } },
      })
    ).answer!
    expect(refused.checks.find((c) => c.check === 'adopted')?.message).toMatch(
      / was taken over with a network configuration of its own.*: add it there with a patch/,
    )
    const { id } = await world.change(taken.id, change)
    expect(await world.ended(id)).toMatchObject({ status: 'done', reason: null })
    for (const node of nodes) {
      expect(await held(addressOf(node), keys)).toContain('endpoint: https://kube.example.com:6443')
      expect((await admin.call(serverDrift, { params: { id: node.id } })).answer).toMatchObject({
        state: 'none',
      })
    }
    expect((await mainOf(nodes[0]!)).cluster.apiServer!.certSANs).toEqual(
      expect.arrayContaining([old, 'kube.example.com']),
    )
    expect((await admin.call(clusterGet, { params })).answer).toMatchObject({
      endpoint: 'https://kube.example.com:6443',
      status: 'ready',
    })
    // Steelyard's own advice: the virtual IP comes with a patch, and the endpoint follows.
    const virtual = addressOf(nodes[0]!).replace(/\d+$/, '77')
    const link = nodes[0]!.resources.interfaces.find((one) => one.link_state)!.id
    await admin.call(patchCreate, {
      params: { id: nodes[0]!.id },
      body: {
        name: 'virtual-ip',
        body: `apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: ${virtual}\nlink: ${link}\n`,
      },
    })
    await world.until(
      () => held(addressOf(nodes[0]!), keys),
      (yaml) => yaml.includes(virtual),
    )
    const toVirtual = { ...change, endpoint: virtual }
    const moved = await world.change(taken.id, toVirtual)
    expect(await world.ended(moved.id)).toMatchObject({ status: 'done', reason: null })
    expect((await admin.call(clusterGet, { params })).answer).toMatchObject({
      endpoint: `https://${virtual}:6443`,
      virtual_ip: true,
    })
    const again = (await admin.call(clusterPlan, { params, body: { change: toVirtual } })).answer!
    expect(again.checks.find((c) => !c.ok)?.message).toBe(
      `The endpoint is https://${virtual}:6443 already`,
    )
  },
)

test('if others rotate the certificate authority, Steelyard reports the lost access, and importing the new secrets restores it', async () => {
  const rotated = await rotate(nodes.map(addressOf), bundle, (...asked) => world.until(...asked))
  const params = { id: taken.id }
  await inTransaction(backend.platform.db, (tx) =>
    backend.platform.engine.wake(tx, sweepQueue, taken.id),
  )
  const locked = await world.until(
    async () => (await admin.call(clusterGet, { params })).answer!,
    (c) => c.locked_out != null,
  )
  expect(locked.locked_out).toMatchObject({ authority: 'talos_ca' })
  await backend.domains.findings.judge()
  expect(
    listedFindings((await admin.call(overviewGet)).answer).map((f) => [f.kind, f.object.name]),
  ).toContainEqual(['cluster_locked_out', 'ours'])
  const after = {
    params: { id: nodes[0]!.id },
    body: { name: 'after', body: 'machine:\n  sysctls:\n    vm.dirty_ratio: "9"\n' },
  }
  expect((await admin.call(patchCreate, after)).problem).toMatchObject({
    error: expect.stringContaining('import the new secrets') as string,
  })
  const config = talosconfig({
    context: 'theirs',
    endpoints: [addressOf(nodes[0]!)],
    ...(await adminOf(rotated)),
  })
  expect(
    await admin.call(clusterSecretsImport, { params, body: { secrets: writeSecrets(bundle) } }),
  ).toMatchObject({
    status: 422,
    problem: { error: expect.stringContaining('belong to another cluster') as string },
  })
  const certificatesReadAt = async () =>
    (
      await backend.platform.db
        .selectFrom('cluster')
        .select('certificates_read_at')
        .where('id', '=', taken.id)
        .executeTakeFirstOrThrow()
    ).certificates_read_at?.getTime() ?? 0
  const readBefore = await certificatesReadAt()
  const imported = await admin.call(clusterSecretsImport, { params, body: { talosconfig: config } })
  expect(imported.status).toBe(200)
  expect(imported.answer!.locked_out).toBeNull()
  await world.until(certificatesReadAt, (at) => at > readBefore)
  for (const node of nodes)
    expect((await admin.call(serverDrift, { params: { id: node.id } })).answer).toMatchObject({
      state: 'none',
    })
  const patched = await admin.call(patchCreate, after)
  expect(patched.status).toBe(201)
  const keys = await adminOf(rotated)
  await world.until(
    () => held(addressOf(nodes[0]!), keys),
    (yaml) => yaml.includes('vm.dirty_ratio'),
  )
  await backend.publish()
  const events = (await admin.call(clusterEvents, { params })).answer!.items.map((e) => e.type)
  expect(events).toEqual(
    expect.arrayContaining(['cluster.imported', 'cluster.locked_out', 'cluster.secrets_imported']),
  )
  // No `cluster.ready` event, because the cluster was ready before.
  expect(events).not.toContain('cluster.ready')
  const known = (await admin.call(serverList, { query: {} })).answer!.items
  await world.until(
    async () => Promise.all(known.map((s) => world.server(s.id))),
    (all) => all.every((s) => s.talos.reachable === true),
  )
})

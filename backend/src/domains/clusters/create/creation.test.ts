import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  clusterCreate,
  clusterDelete,
  clusterGet,
  clusterKubeconfig,
  clusterList,
  clusterPreview,
  clusterServerReplace,
  clusterEvents,
  clusterTalosconfig,
  type NewClusterInput,
} from '#contract/clusters/clusters.ts'
import { serverMeasurements } from '#contract/measurements/measurements.ts'
import { datacenterCreate } from '#contract/datacenters.ts'
import { operationCancel } from '#contract/operations.ts'
import { patchList } from '#contract/patches.ts'
import { serverConfig } from '#contract/servers/servers.ts'
import { readKeyFile } from '../../../vault/key-file.ts'
import { openEscrow } from '../../../testing/escrow.ts'
import { addressOf } from '../../../chain-address.ts'
import { clusterWorld } from '../testing/world.ts'

const world = await clusterWorld({ servers: 10 })
const { admin, backend } = world
const prod = world.take(4)
/** Servers that stay free until a test takes one for good. */
const free = world.take(3)

test('three control planes and a worker become a cluster, step by step', async () => {
  const nodes = prod
  const { cluster, operation } = await world.create(nodes, { name: 'prod' })
  expect(cluster).toMatchObject({
    status: 'pending',
    control_planes: 3,
    workers: 1,
    chainAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
  })
  expect(operation).toMatchObject({ kind: 'clusterCreate', status: 'pending' })
  // All steps are visible from the start.
  expect(
    operation.steps.filter((s) => s.node_id === nodes[0]!.id).map((s) => s.key.split('/')[0]),
  ).toEqual(['config', 'apply', 'install', 'boot', 'etcd', 'join'])
  expect(
    operation.steps.filter((s) => s.node_id === nodes[3]!.id).map((s) => s.key.split('/')[0]),
  ).toEqual(['config', 'apply', 'install', 'boot', 'join'])

  const end = await world.ended(operation.id)
  expect(end).toMatchObject({ status: 'done', reason: null })
  expect(end.steps.filter((s) => s.status !== 'done')).toEqual([])
  expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready', reason: null })
  expect(world.etcds('prod')).toBe(1)
  for (const node of nodes) {
    expect(world.machine(node).disk.state.counters).toMatchObject({ installs: 1, applies: 1 })
    expect(await world.server(node.id)).toMatchObject({
      status: 'ready',
      cluster: { name: 'prod' },
      operation_id: null,
    })
  }
})

test('no response contains the cluster key', async () => {
  const [cluster] = (await admin.call(clusterList, { query: { q: 'prod' } })).answer!.items
  const etcd = world.simulator.world.etcd.all.find((e) => e.state.name === 'prod')!
  const [key, stored] = Object.entries(etcd.state.kubernetes.objects).find(([name]) =>
    name.endsWith('/steelyard-cluster-key'),
  )!
  expect(key).toContain('kube-system')
  const { data } = stored.body as unknown as { data: Record<string, string> }
  const privateKey = Buffer.from(data['private-key']!, 'base64').toString()
  expect(Buffer.from(data['address']!, 'base64').toString()).toBe(cluster!.chainAddress)
  expect(await addressOf(Buffer.from(privateKey, 'hex'))).toBe(cluster!.chainAddress)

  const folder = path.join(backend.config.dataFolder, 'escrow')
  expect(readdirSync(folder)).toContain(`${cluster!.id}.bin`)
  const escrow = openEscrow(
    await readKeyFile(backend.config.keyFile),
    readFileSync(path.join(folder, `${cluster!.id}.bin`)),
  )
  const opened = JSON.parse(escrow.bytes.toString('utf8')) as { bundle: string; chain_key: string }
  expect(opened.chain_key).toBe(privateKey)
  expect(parse(opened.bundle)).toMatchObject({ certs: { os: { key: expect.any(String) } } })

  await backend.publish()
  const answers = await Promise.all([
    admin.call(clusterList),
    admin.call(auditList, { query: { per_page: 200 } }),
  ])
  for (const { text } of answers)
    for (const secret of [privateKey, 'PRIVATE KEY', opened.bundle.slice(0, 200)])
      expect(text).not.toContain(secret)
})

test("each download issues a new kubeconfig or talosconfig for the user's role, and is audited", async () => {
  const [cluster] = (await admin.call(clusterList, { query: { q: 'prod' } })).answer!.items
  const operator = await backend.signIn({ role: 'operator' })
  const viewer = await backend.signIn({ role: 'viewer' })
  const params = { id: cluster!.id }
  expect((await viewer.call(clusterKubeconfig, { params })).status).toBe(403)
  const asAdmin = parse((await admin.call(clusterKubeconfig, { params })).text) as {
    clusters: { cluster: { server: string } }[]
    users: { user: Record<string, string> }[]
  }
  const asOperator = parse(
    (await operator.call(clusterKubeconfig, { params })).text,
  ) as typeof asAdmin
  expect(asAdmin.clusters[0]!.cluster.server).toBe(cluster!.endpoint)
  const subjectOf = async (text: typeof asAdmin) => {
    const { X509Certificate } = await import('node:crypto')
    const certificate = new X509Certificate(
      Buffer.from(text.users[0]!.user['client-certificate-data']!, 'base64'),
    )
    return {
      subject: certificate.subject,
      hours: (certificate.validToDate.getTime() - Date.now()) / 3_600_000,
    }
  }
  expect(await subjectOf(asAdmin)).toEqual({
    subject: expect.stringContaining('O=system:masters'),
    hours: expect.closeTo(24, 0),
  })
  expect(await subjectOf(asOperator)).toEqual({
    subject: expect.stringContaining('O=steelyard:operators'),
    hours: expect.closeTo(24, 0),
  })
  const talos = await admin.call(clusterTalosconfig, { params })
  expect(talos.headers['content-disposition']).toContain('prod-talosconfig.yaml')
  expect(parse(talos.text)).toMatchObject({
    context: 'prod',
    contexts: {
      prod: { endpoints: expect.arrayContaining([world.machine(world.nodes[0]!).plan.address]) },
    },
  })
  // The file must not list nodes: `talosctl reset` without arguments would reset all listed nodes.
  expect(
    (parse(talos.text) as { contexts: { prod: { nodes?: string[] } } }).contexts.prod.nodes ?? [],
  ).toEqual([])
  await backend.publish()
  const audit = (
    await admin.call(auditList, { query: { action: 'cluster.kubeconfig_downloaded' } })
  ).answer!
  expect(new Set(audit.items.map((e) => e.actor))).toEqual(new Set([admin.email, operator.email]))
  // Everyone who can read the cluster sees its events, newest first, without access to the audit
  // log.
  const { items } = (await operator.call(clusterEvents, { params })).answer!
  expect(items[0]).toMatchObject({
    type: 'cluster.talosconfig_downloaded',
    message: 'A talosconfig was downloaded',
    by: admin.email,
  })
  expect(items.at(-1)).toMatchObject({ type: 'cluster.created', message: 'Created' })
})

const refused = async (body: NewClusterInput) => {
  const { status, problem } = await admin.call(clusterCreate, { body })
  return { status, code: problem?.code, error: problem?.error, fields: problem?.fields }
}

test('each invalid request is refused with its own error, and no server stays reserved', async () => {
  const nodes = free
  expect(
    await refused(
      world.ask(nodes, {
        servers: nodes.slice(0, 2).map((n) => ({ node_id: n.id, role: 'control_plane' })),
      }),
    ),
  ).toMatchObject({
    status: 422,
    code: 'invalid',
    error:
      'Choose an odd number of control planes: with 2, the cluster tolerates no more failures than with 1',
  })
  for (const [asked, sentence] of [
    [
      { talos_version: 'v1.13.9', kubernetes_version: '1.30.14' },
      'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.30.14',
    ],
    [
      { talos_version: 'v1.15.2', kubernetes_version: '1.36.3' },
      'Talos v1.15.2 is not supported; choose 1.12, 1.13 or 1.14',
    ],
    [{ kubernetes_version: '1.36' }, 'Enter a version such as 1.36.3'],
  ] as const)
    expect(await refused(world.ask(nodes, asked))).toMatchObject({
      status: 422,
      code: 'invalid',
      error: expect.stringContaining(sentence) as string,
    })
  expect(await refused(world.ask(nodes, { pod_cidr: '10.96.0.0/16' }))).toMatchObject({
    status: 422,
    fields: { pod_cidr: expect.stringContaining('overlaps with the service network') },
  })
  expect(await refused(world.ask(nodes, { name: 'prod' }))).toMatchObject({
    status: 409,
    code: 'name_taken',
    error: 'Cluster name already exists. Please choose a different name.',
  })
  const taken = world.nodes[0]!
  expect(await refused(world.ask([...nodes.slice(0, 2), taken]))).toMatchObject({
    status: 409,
    code: 'server_taken',
    error: expect.stringMatching(new RegExp(`${taken.name}.*prod`)),
  })
  expect(
    await refused(
      world.ask(nodes, {
        servers: [{ node_id: '00000000-0000-4000-8000-000000000000', role: 'control_plane' }],
      }),
    ),
  ).toMatchObject({
    status: 404,
  })
  const elsewhere = (
    await admin.call(datacenterCreate, {
      body: { country_code: 'DE', city_code: 'FRA', city_name: 'Frankfurt' },
    })
  ).answer!
  expect(await refused(world.ask(nodes, { datacenter_id: elsewhere.id }))).toMatchObject({
    status: 409,
    code: 'not_eligible',
    error: expect.stringContaining('is not in DE-FRA-1'),
  })
  for (const node of nodes)
    expect(await world.server(node.id)).toMatchObject({
      status: 'maintenance',
      cluster: null,
      operation_id: null,
    })
})

test('a preview shows the plan and the configurations with masked secrets, and writes nothing', async () => {
  const nodes = free.slice(0, 2)
  const body = world.ask(nodes, { name: 'preview' })
  const [first, second] = body.servers
  const patch = { name: 'ntp', body: 'machine:\n  time:\n    servers:\n      - time.example.com\n' }
  const { status, answer } = await admin.call(clusterPreview, {
    body: { ...body, servers: [{ ...first!, patch }, second!] },
  })
  expect(status).toBe(200)
  expect(answer!.checks.filter((c) => !c.ok)).toEqual([])
  expect(answer!.checks.map((c) => c.message)).toContain(
    'With one control plane, the cluster is down while that server is down. Three are recommended.',
  )
  expect(answer!.steps.map((s) => s.key)).toContain(`apply/${nodes[1]!.id}`)
  const [controlPlane, worker] = answer!.servers
  expect(controlPlane!.config).toContain('time.example.com')
  expect(controlPlane!.config).toContain(`hostname: ${nodes[0]!.name}`)
  expect(worker!.config).not.toContain('time.example.com')
  for (const { config } of answer!.servers)
    expect(config).not.toMatch(/PRIVATE KEY|LS0tLS1CRUdJTi[^\s]*LRVk/)
  expect((await admin.call(clusterList, { query: { q: 'preview' } })).answer!.total).toBe(0)
  expect(await world.server(nodes[0]!.id)).toMatchObject({ cluster: null, operation_id: null })

  const bad = await admin.call(clusterPreview, { body: { ...body, pod_cidr: '10.96.0.0/16' } })
  expect(bad.answer!.checks).toContainEqual({
    check: 'pod_cidr',
    ok: false,
    message: expect.stringContaining('overlaps'),
  })
})

test('01 podsecurity-namespace-twice and 15 role-label-and-taint-on-a-worker: a patch is held against the configuration that the server would get', async () => {
  const nodes = free.slice(0, 2)
  const body = world.ask(nodes)
  const [first, second] = body.servers
  const exempt = {
    name: 'exempt',
    body: 'cluster:\n  apiServer:\n    admissionControl:\n      - name: PodSecurity\n        configuration:\n          exemptions:\n            namespaces: [kube-system, rook-ceph]\n',
  }
  const labels = {
    name: 'labels',
    body: 'machine:\n  nodeLabels:\n    node-role.kubernetes.io/worker: ""\n  nodeTaints:\n    dedicated: storage:NoSchedule\n',
  }
  const asked = {
    ...body,
    servers: [
      { ...first!, patch: exempt },
      { ...second!, patch: labels },
    ],
  }
  const { answer } = await admin.call(clusterPreview, { body: asked })
  expect(answer!.checks.filter((c) => !c.ok)).toEqual([
    {
      check: 'configuration',
      ok: false,
      message: expect.stringMatching(
        new RegExp(
          `^${nodes[0]!.name}: Line 7, column \\d+: kube-system is exempt from PodSecurity already`,
        ),
      ) as string,
    },
  ])
  expect(answer!.servers[1]!.warnings).toEqual([
    expect.stringContaining('node-role.kubernetes.io/worker'),
    expect.stringContaining('register-with-taints: dedicated=storage:NoSchedule'),
  ])
  expect(await refused(asked)).toMatchObject({
    status: 422,
    fields: { 'servers.0.patch.body': expect.stringContaining('kube-system') as string },
  })
})

test('a patch in the request for a new cluster is stored only if the cluster is created', async () => {
  const nodes = [free[0]!]
  const body = world.ask(nodes)
  const withPatch = (text: string) => ({
    ...body,
    servers: [{ ...body.servers[0]!, patch: { name: 'mine', body: text } }],
  })
  const refusal = await refused(withPatch('machine:\n  type: worker\n'))
  expect(refusal).toMatchObject({
    status: 422,
    fields: { 'servers.0.patch.body': expect.any(String) },
  })
  expect(
    (await admin.call(patchList, { params: { id: nodes[0]!.id } })).answer!.items.filter(
      (p) => !p.read_only,
    ),
  ).toEqual([])
  const made = await admin.call(clusterCreate, {
    body: withPatch('machine:\n  sysctls:\n    vm.max_map_count: "262144"\n'),
  })
  expect(made.status).toBe(202)
  expect((await world.ended(made.answer!.operation.id)).status).toBe('done')
  expect(
    (await admin.call(patchList, { params: { id: nodes[0]!.id } })).answer!.items.map(
      (p) => p.name,
    ),
  ).toContain('mine')
  expect((await admin.call(serverConfig, { params: { id: nodes[0]!.id } })).text).toContain(
    'vm.max_map_count',
  )
})

test('a request for credentials is refused if the cluster is unknown or not ready', async () => {
  const params = { id: '00000000-0000-4000-8000-000000000000' }
  for (const call of [clusterGet, clusterKubeconfig, clusterTalosconfig, clusterDelete])
    expect((await admin.call(call, { params })).status).toBe(404)
  const nodes = [free[1]!]
  world.machine(nodes[0]!).disk.change((state) => state.faults.push({ kind: 'refuse' }))
  const { cluster, operation } = await world.create(nodes)
  expect(
    (await admin.call(clusterKubeconfig, { params: { id: cluster.id } })).problem,
  ).toMatchObject({
    code: 'cluster_not_ready',
    error: 'The cluster is not ready yet',
  })
  expect(
    (
      await admin.call(clusterServerReplace, {
        params: { id: cluster.id, node_id: nodes[0]!.id },
        body: { node_id: world.nodes[0]!.id },
      })
    ).problem,
  ).toMatchObject({
    code: 'transition_refused',
  })
  await admin.call(operationCancel, { params: { id: operation.id } })
  expect((await world.ended(operation.id)).status).toBe('cancelled')
})

test('of ten concurrent creations with the same server exactly one succeeds', async () => {
  const [wanted, ...others] = [free[2], ...world.take(2)]
  const calls = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      admin.call(clusterCreate, {
        body: world.ask([wanted!, ...(i % 2 ? [others[(i >> 1) % 2]!] : [])], {
          name: `race-${i}`,
        }),
      }),
    ),
  )
  const won = calls.filter((c) => c.status === 202)
  expect(won).toHaveLength(1)
  for (const lost of calls.filter((c) => c.status !== 202))
    expect(lost.problem).toMatchObject({
      code: 'server_taken',
      error: expect.stringContaining(wanted!.name),
    })
  const { cluster } = won[0]!.answer!
  for (const other of others) {
    const mine = cluster.servers.some((s) => s.node_id === other.id)
    expect((await world.server(other.id)).cluster?.name ?? null).toBe(mine ? cluster.name : null)
  }
})

test('requests with one Idempotency-Key create one cluster', async () => {
  const body = world.ask(world.take(1))
  const calls = await Promise.all(
    Array.from({ length: 5 }, () =>
      admin.call(clusterCreate, { body }, { idempotencyKey: 'cluster-once-0001' }),
    ),
  )
  const made = new Set(calls.map((c) => c.answer?.cluster.id).filter(Boolean))
  expect(made.size).toBe(1)
  expect((await admin.call(clusterList, { query: { q: body.name } })).answer!.total).toBe(1)
})

// It moves the clock, because contacts measure once a minute, so it comes last.
test('the contact with a member measures how much of it is in use', async () => {
  const measured = await world.until(
    async () => {
      // Steps are shorter than the lease of contacts.
      backend.clock.advance(5_000)
      return (await admin.call(serverMeasurements, { params: { id: prod[0]!.id } })).answer!
    },
    ({ series }) => series[1]!.mean.some((value) => value !== null),
  )
  expect(measured.series[1]!.name).toBe('memory')
  const share = measured.series[1]!.mean.find((value) => value !== null)
  expect(share).toBeGreaterThan(0.01)
  expect(share).toBeLessThan(0.2)
})

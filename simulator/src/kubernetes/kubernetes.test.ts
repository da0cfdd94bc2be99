import { expect, test } from 'vitest'
import { mintKubernetesClient, createAuthority } from '#talos/pki/certificates.ts'
import { standardKey } from '#talos/pki/keys.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import {
  cluster,
  dataFolder,
  edit,
  fleet,
  openSecure,
  rack,
  secrets,
  until,
} from '../testing/fleet.ts'
import { APPLY, as, asker } from '../testing/kubernetes.ts'

const SECRET = '/api/v1/namespaces/kube-system/secrets/steelyard-cluster-key'

test("a control plane's API returns version, readiness and nodes", async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 2)
  const ask = await as(bundle, controlPlanes[0]!.plan.address)
  expect((await ask('GET', '/version')).body).toMatchObject({
    gitVersion: 'v1.36.3',
    gitCommit: 'simulated',
  })
  expect((await ask('GET', '/readyz')).text).toBe('ok')
  expect((await ask('GET', '/livez')).text).toBe('ok')
  const { body } = await ask('GET', '/api/v1/nodes')
  expect(body.kind).toBe('NodeList')
  const nodes = body.items as {
    metadata: { name: string; labels: Record<string, string> }
    spec: object
    status: {
      conditions: object[]
      nodeInfo: { kubeletVersion: string; systemUUID: string }
      addresses: object[]
    }
  }[]
  expect(nodes.map(({ metadata }) => metadata.name).toSorted()).toEqual(
    [...controlPlanes, ...workers].map(({ hostname }) => hostname).toSorted(),
  )
  for (const { status } of nodes) {
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'True' }),
    )
    expect(status.nodeInfo.kubeletVersion).toBe('v1.36.3')
  }
  const control = nodes.find(({ metadata }) => metadata.name === controlPlanes[0]!.hostname)!
  expect(control.metadata.labels).toMatchObject({ 'node-role.kubernetes.io/control-plane': '' })
  expect(control.spec).toMatchObject({
    taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
  })
  expect(control.status.addresses).toContainEqual({
    type: 'InternalIP',
    address: controlPlanes[0]!.plan.address,
  })
  expect(control.status.nodeInfo.systemUUID).toBe(controlPlanes[0]!.disk.identity.uuid)
})

test('a node keeps its addresses when the labels of its machine change, and loses a label that is removed', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const [worker] = workers
  const ask = await as(bundle, controlPlanes[0]!.plan.address)
  const node = async () =>
    (await ask('GET', `/api/v1/nodes/${worker!.hostname}`)).body as {
      metadata: { labels: Record<string, string> }
      status: { addresses: object[] }
    }
  const before = await node()
  const label = '    nodeLabels:\n        example.com/a: "1"\n'
  await edit(worker!, bundle, 'machine:\n', `machine:\n${label}`)
  expect((await node()).metadata.labels).toMatchObject({ 'example.com/a': '1' })
  expect((await node()).status.addresses).toEqual(before.status.addresses)
  await edit(worker!, bundle, label, '')
  expect((await node()).metadata.labels).toEqual(before.metadata.labels)
})

test('calls without a cluster certificate return 401, calls without a role binding 403', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const host = controlPlanes[0]!.plan.address
  expect(await asker(host, { ca: bundle.certs.k8s.crt })('GET', '/version')).toMatchObject({
    status: 401,
    body: { kind: 'Status', code: 401, reason: 'Unauthorized' },
  })
  const foreign = await generateForeign()
  const { crt, key } = await mintKubernetesClient(foreign, {
    commonName: 'x',
    organizations: ['system:masters'],
    lifetimeMs: 3_600_000,
    now: new Date(),
  })
  expect(
    (
      await asker(host, { ca: bundle.certs.k8s.crt, cert: crt, key: standardKey(key) })(
        'GET',
        '/api/v1/nodes',
      )
    ).status,
  ).toBe(401)
  const operator = await as(bundle, host, 'anna@example.org', ['steelyard:operators'])
  expect((await operator('GET', '/version')).status).toBe(200)
  expect(await operator('GET', '/api/v1/nodes')).toMatchObject({
    status: 403,
    body: { reason: 'Forbidden' },
  })
  const admin = await as(bundle, host)
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'steelyard-operators' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [
      { kind: 'Group', name: 'steelyard:operators', apiGroup: 'rbac.authorization.k8s.io' },
    ],
  }
  expect(
    (
      await admin(
        'PATCH',
        '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/steelyard-operators?fieldManager=steelyard&force=true',
        binding,
        APPLY,
      )
    ).status,
  ).toBe(201)
  expect((await operator('GET', '/api/v1/nodes')).status).toBe(200)
})

/**
 * Keys of another cluster. They are generated, because the prepared keys belong to the cluster
 * under test.
 */
const generateForeign = async (): Promise<SecretsBundle> => {
  const bundle = await secrets()
  const k8s = await createAuthority({
    kind: 'p256',
    subject: { organizations: ['kubernetes'] },
    now: new Date(),
  })
  return { ...bundle, certs: { ...bundle.certs, k8s } }
}

test("server-side apply protects a secret's fields against other managers", async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const ask = await as(bundle, controlPlanes[0]!.plan.address)
  const secret = (address: string): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'steelyard-cluster-key', namespace: 'kube-system' },
    type: 'Opaque',
    data: { address: Buffer.from(address).toString('base64') },
  })
  expect((await ask('GET', SECRET)).body).toMatchObject({
    kind: 'Status',
    code: 404,
    reason: 'NotFound',
    message: 'secrets "steelyard-cluster-key" not found',
  })
  expect((await ask('PATCH', SECRET, secret('0x1'), APPLY)).status).toBe(400)
  expect(
    (await ask('PATCH', `${SECRET}?fieldManager=steelyard`, secret('0x1'), APPLY)).status,
  ).toBe(201)
  expect(
    (await ask('PATCH', `${SECRET}?fieldManager=steelyard`, secret('0x2'), APPLY)).status,
  ).toBe(200)
  const conflict = await ask('PATCH', `${SECRET}?fieldManager=somebody`, secret('0x3'), APPLY)
  expect(conflict).toMatchObject({ status: 409, body: { reason: 'Conflict' } })
  expect(conflict.text).toContain('conflict with \\"steelyard\\": .data.address')
  expect(
    (await ask('PATCH', `${SECRET}?fieldManager=somebody&force=true`, secret('0x3'), APPLY)).status,
  ).toBe(200)
  expect((await ask('GET', SECRET)).body).toMatchObject({
    data: { address: Buffer.from('0x3').toString('base64') },
  })
  expect(
    (
      await ask(
        'PATCH',
        `${SECRET}?fieldManager=somebody&dryRun=All&force=true`,
        secret('0x4'),
        APPLY,
      )
    ).status,
  ).toBe(200)
  expect((await ask('GET', SECRET)).body).toMatchObject({
    data: { address: Buffer.from('0x3').toString('base64') },
  })
  const plain = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'plain' },
    stringData: { word: 'text' },
  }
  expect((await ask('POST', '/api/v1/namespaces/default/secrets', plain)).body).toMatchObject({
    data: { word: 'dGV4dA==' },
  })
  expect((await ask('POST', '/api/v1/namespaces/default/secrets', plain)).body).toMatchObject({
    code: 409,
    reason: 'AlreadyExists',
  })
  expect((await ask('POST', '/api/v1/namespaces/nowhere/secrets', plain)).status).toBe(404)
  expect((await ask('POST', '/api/v1/namespaces/default/secrets', '{')).status).toBe(400)
  expect((await ask('DELETE', '/api/v1/namespaces/default/secrets/plain')).body).toMatchObject({
    status: 'Success',
  })
  expect((await ask('GET', '/api/v1/namespaces/default/secrets/plain')).status).toBe(404)
  expect((await ask('GET', '/api/v1/secrets')).body).toMatchObject({ kind: 'SecretList' })
})

test('custom objects are served after their definition is created', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const ask = await as(bundle, controlPlanes[0]!.plan.address)
  const pools = '/apis/metallb.io/v1beta1/namespaces/default/ipaddresspools'
  expect((await ask('GET', pools)).status).toBe(404)
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'ipaddresspools.metallb.io' },
    spec: {
      group: 'metallb.io',
      scope: 'Namespaced',
      names: { plural: 'ipaddresspools', kind: 'IPAddressPool' },
      versions: [{ name: 'v1beta1', served: true, storage: true }],
    },
  }
  expect(
    (await ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition))
      .status,
  ).toBe(201)
  expect(
    (
      await ask(
        'PATCH',
        `${pools}/pool?fieldManager=steelyard`,
        { spec: { addresses: ['203.0.113.8-203.0.113.14'] } },
        APPLY,
      )
    ).status,
  ).toBe(201)
  expect(
    (
      await ask(
        'PATCH',
        `${pools}/pool`,
        { spec: { autoAssign: false } },
        'application/merge-patch+json',
      )
    ).body,
  ).toMatchObject({
    spec: { addresses: ['203.0.113.8-203.0.113.14'], autoAssign: false },
  })
  expect((await ask('GET', `${pools}?labelSelector=a=b`)).body).toMatchObject({ items: [] })
})

test('the node of a lost server becomes Unknown, can be deleted, and returns with its server', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const ask = await as(bundle, controlPlanes[0]!.plan.address)
  const path = `/api/v1/nodes/${workers[0]!.hostname}`
  const ready = async (): Promise<string | undefined> => {
    const conditions =
      (
        (await ask('GET', path)).body as {
          status?: { conditions: { type: string; status: string }[] }
        }
      ).status?.conditions ?? []
    return conditions.find(({ type }) => type === 'Ready')?.status
  }
  const name = workers[0]!.hostname
  expect(await ready()).toBe('True')
  await workers[0]!.lifecycle.powerOff()
  expect(name).toBe(path.split('/').at(-1))
  await until('the node is unknown', async () => (await ready()) === 'Unknown')
  expect((await ask('DELETE', path)).status).toBe(200)
  expect((await ask('GET', path)).status).toBe(404)
  workers[0]!.lifecycle.powerOn()
  await until('the node is back', async () => (await ready()) === 'True')
})

test('without quorum reads and writes fail', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes } = await cluster(simulator, 3, 0)
  const ask = await as(bundle, controlPlanes[0]!.plan.address)
  await controlPlanes[1]!.lifecycle.powerOff()
  expect((await ask('GET', '/readyz')).status).toBe(200)
  await controlPlanes[2]!.lifecycle.powerOff()
  expect((await ask('GET', '/readyz')).status).toBe(500)
  expect((await ask('GET', '/api/v1/nodes')).body).toMatchObject({
    code: 500,
    message: 'etcdserver: no leader',
  })
})

test('Kubernetes objects survive a restart of the simulator, also of a node that was off', async () => {
  const dataDir = dataFolder()
  const first = await fleet({ scenario: rack(2), dataDir })
  const { bundle, controlPlanes, workers } = await cluster(first, 1, 1)
  const ask = await as(bundle, controlPlanes[0]!.plan.address)
  await ask('POST', '/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'kept' },
    data: { a: 'b' },
  })
  await workers[0]!.lifecycle.powerOff()
  await first.stop()
  const second = await fleet({ scenario: rack(2), dataDir })
  const { address } = controlPlanes[0]!.plan
  await until('it runs again', () => {
    const { stage } = second.servers.find((one) => one.plan.address === address)!
    return stage.ready && stage.stage === 'running'
  })
  const leases = await ask('GET', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases')
  expect(leases.status).toBe(200)
  expect(leases.body['items']).toHaveLength(2)
  expect((await ask('GET', '/api/v1/namespaces/default/configmaps/kept')).body).toMatchObject({
    data: { a: 'b' },
  })
})

test('the kubeconfig of a control plane gives access to its API', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const text = await (await openSecure(controlPlanes[0]!, bundle)).kubeconfig()
  const field = (name: string): Buffer =>
    Buffer.from(new RegExp(`${name}: (\\S+)`).exec(text)?.[1] ?? '', 'base64')
  const ask = asker(controlPlanes[0]!.plan.address, {
    ca: field('certificate-authority-data'),
    cert: field('client-certificate-data'),
    key: field('client-key-data'),
  })
  expect((await ask('GET', '/api/v1/nodes')).status).toBe(200)
})

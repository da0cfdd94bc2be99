/**
 * Tests the API that kubectl and talosctl need: default objects, mirror pods, tables, access
 * reviews and patches.
 */
import { expect, test } from 'vitest'
import { cluster, fleet, rack, until } from '../testing/fleet.ts'
import { as, type Ask } from '../testing/kubernetes.ts'

const TABLE = {
  accept:
    'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json',
}
const MERGE = 'application/merge-patch+json'

const setup = async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  return { bundle, machine: machine!, ask: await as(bundle, machine!.plan.address) }
}

const names = async (ask: Ask, path: string): Promise<string[]> =>
  ((await ask('GET', path)).body.items as { metadata: { name: string } }[]).map(
    ({ metadata }) => metadata.name,
  )

test("Kubernetes' own Services, config maps and service accounts exist, even in new namespaces", async () => {
  const { ask } = await setup()
  expect((await ask('GET', '/api/v1/namespaces/default/services/kubernetes')).body).toMatchObject({
    spec: { type: 'ClusterIP', clusterIP: '10.96.0.1' },
  })
  expect(
    await names(
      ask,
      '/api/v1/namespaces/kube-system/services?labelSelector=kubernetes.io/cluster-service%3Dtrue',
    ),
  ).toEqual(['kube-dns'])
  expect(
    (await ask('POST', '/api/v1/namespaces', { metadata: { name: 'demo' } })).body,
  ).toMatchObject({
    metadata: { labels: { 'kubernetes.io/metadata.name': 'demo' } },
    status: { phase: 'Active' },
  })
  const certificate = '/api/v1/namespaces/demo/configmaps/kube-root-ca.crt'
  expect((await ask('GET', certificate)).body).toMatchObject({
    data: { 'ca.crt': expect.stringContaining('BEGIN CERTIFICATE') as string },
  })
  expect((await ask('DELETE', certificate)).status).toBe(200)
  expect((await ask('GET', certificate)).status).toBe(200)
  expect(await names(ask, '/api/v1/namespaces/demo/serviceaccounts')).toEqual(['default'])
  expect((await ask('DELETE', '/api/v1/namespaces/demo')).status).toBe(200)
  expect(await names(ask, '/api/v1/configmaps?fieldSelector=metadata.namespace%3Ddemo')).toEqual([])
})

test('each node has a lease that is renewed, and events about its registration', async () => {
  const { ask, machine } = await setup()
  const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${machine.hostname}`
  expect((await ask('GET', lease)).body).toMatchObject({
    kind: 'Lease',
    spec: { holderIdentity: machine.hostname, leaseDurationSeconds: 40 },
  })
  expect(await names(ask, '/apis/coordination.k8s.io/v1/leases')).toEqual([machine.hostname])
  expect((await ask('DELETE', lease)).status).toBe(404)
  const { items } = (
    await ask(
      'GET',
      `/api/v1/events?fieldSelector=involvedObject.kind%3DNode%2CinvolvedObject.name%3D${machine.hostname}`,
    )
  ).body
  expect((items as { reason: string }[]).map(({ reason }) => reason).toSorted()).toEqual([
    'RegisteredNode',
    'Starting',
  ])
})

test("a control plane has mirror pods of its static pods, which can't be deleted", async () => {
  const { ask, machine } = await setup()
  const path = '/api/v1/namespaces/kube-system/pods'
  const pod = `kube-apiserver-${machine.hostname}`
  // `talosctl health --server=false` makes these calls.
  expect(await names(ask, `${path}?labelSelector=k8s-app%3Dkube-apiserver`)).toEqual([pod])
  expect(
    await names(
      ask,
      `/api/v1/pods?labelSelector=tier%3Dcontrol-plane&fieldSelector=spec.nodeName%3D${machine.hostname}`,
    ),
  ).toHaveLength(3)
  expect((await ask('GET', `${path}/${pod}`)).body).toMatchObject({
    metadata: { annotations: { 'kubernetes.io/config.source': 'file' } },
    status: {
      phase: 'Running',
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Ready', status: 'True' }),
      ]) as unknown[],
    },
  })
  // `kubectl wait` reads the first events of a watch.
  const watch = (
    await ask(
      'GET',
      `${path}?watch=1&sendInitialEvents=true&timeoutSeconds=0&fieldSelector=metadata.name%3D${pod}`,
    )
  ).text
  expect(JSON.parse(watch)).toMatchObject({ type: 'ADDED', object: { metadata: { name: pod } } })
  expect((await ask('DELETE', `${path}/${pod}`)).status).toBe(404)
  machine.nodeReady = false
  expect((await ask('GET', `${path}/${pod}`)).body).toMatchObject({
    status: { containerStatuses: [{ ready: false }] },
  })
})

test('lists and objects can be requested as a table, custom kinds with the columns of their definition', async () => {
  const { ask, machine } = await setup()
  const table = async (path: string) => {
    const { columnDefinitions, rows, kind } = (await ask('GET', path, undefined, undefined, TABLE))
      .body as {
      kind: string
      columnDefinitions: { name: string }[]
      rows: { cells: unknown[]; object: { kind: string } }[]
    }
    return {
      kind,
      names: columnDefinitions.map(({ name }) => name),
      cells: rows.map(({ cells }) => cells),
      object: rows[0]?.object.kind,
    }
  }
  const nodes = await table('/api/v1/nodes')
  expect(nodes).toMatchObject({ kind: 'Table', object: 'PartialObjectMetadata' })
  expect(nodes.names.slice(0, 6)).toEqual([
    'Name',
    'Status',
    'Roles',
    'Age',
    'Version',
    'Internal-IP',
  ])
  expect(nodes.cells).toEqual([
    [
      machine.hostname,
      'Ready',
      'control-plane',
      expect.stringMatching(/^\d+s$/),
      'v1.36.3',
      machine.plan.address,
      ...Array.from({ length: 4 }, () => expect.any(String) as string),
    ],
  ])
  expect(
    (await table('/api/v1/namespaces/kube-system/services/kube-dns')).cells[0]!.slice(0, 5),
  ).toEqual(['kube-dns', 'ClusterIP', '10.96.0.10', '<none>', '53/UDP,53/TCP,9153/TCP'])
  const definition = {
    metadata: { name: 'robots.example.org' },
    spec: {
      group: 'example.org',
      scope: 'Cluster',
      names: { plural: 'robots', kind: 'Robot', shortNames: ['rb'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          additionalPrinterColumns: [{ name: 'Legs', type: 'integer', jsonPath: '.spec.legs' }],
        },
      ],
    },
  }
  expect(
    (await ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition))
      .status,
  ).toBe(201)
  await ask('POST', '/apis/example.org/v1/robots', {
    metadata: { name: 'marvin' },
    spec: { legs: 2 },
  })
  expect(await table('/apis/example.org/v1/robots')).toMatchObject({
    names: ['Name', 'Legs'],
    cells: [['marvin', '2']],
  })
  expect((await ask('GET', '/apis/example.org/v1')).body).toMatchObject({
    resources: [
      { name: 'robots', shortNames: ['rb'], verbs: expect.arrayContaining(['watch']) as string[] },
    ],
  })
  expect((await ask('GET', '/openapi/v3/apis/example.org/v1')).text).toContain('fieldValidation')
  expect((await ask('GET', '/openapi/v2')).status).toBe(404)
})

test('every user may review its own access, but impersonation needs permission', async () => {
  const { ask, bundle, machine } = await setup()
  const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const access = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const anna = await as(bundle, machine.plan.address, 'anna', ['staff'])
  expect((await anna('POST', review, {})).body).toMatchObject({
    status: { userInfo: { username: 'anna', groups: ['staff', 'system:authenticated'] } },
  })
  const may = async (who: Ask, attributes: object, headers = {}): Promise<unknown> =>
    (
      (await who('POST', access, { spec: attributes }, undefined, headers)).body.status as {
        allowed: boolean
      }
    ).allowed
  const get = { resourceAttributes: { verb: 'get', resource: 'secrets', namespace: 'default' } }
  expect([
    await may(ask, get),
    await may(anna, get),
    await may(ask, get, { 'impersonate-user': 'anna' }),
  ]).toEqual([true, false, false])
  expect(
    (await anna('GET', '/version', undefined, undefined, { 'impersonate-user': 'steelyard' }))
      .status,
  ).toBe(403)
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
  await ask('POST', `${rbac}/roles`, {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }],
  })
  await ask('POST', `${rbac}/rolebindings`, {
    metadata: { name: 'readers' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ kind: 'Group', name: 'staff' }],
  })
  expect(await may(anna, get)).toBe(true)
  expect((await anna('GET', '/api/v1/namespaces/default/secrets')).status).toBe(200)
  expect((await anna('GET', '/api/v1/namespaces/kube-system/secrets')).status).toBe(403)
  expect(await anna('GET', '/api/v1/namespaces/default/secrets?watch=1')).toMatchObject({
    status: 403,
    body: {
      message:
        'secrets is forbidden: User "anna" cannot watch resource "secrets" in API group "" in the namespace "default"',
    },
  })
})

test('objects can be changed by every type of patch, and deletion checks preconditions', async () => {
  const { ask, machine } = await setup()
  const node = `/api/v1/nodes/${machine.hostname}`
  const taints = [{ key: 'a', effect: 'NoSchedule' }]
  expect(
    (await ask('PATCH', node, { spec: { taints } }, 'application/strategic-merge-patch+json')).body,
  ).toMatchObject({ spec: { taints } })
  expect(
    (await ask('PATCH', node, { spec: { taints: null } }, 'application/strategic-merge-patch+json'))
      .body.spec,
  ).not.toHaveProperty('taints')
  const map = '/api/v1/namespaces/default/configmaps'
  const made = await ask('POST', map, { metadata: { name: 'c' }, data: { a: '1' } })
  const operations = [
    { op: 'test', path: '/data/a', value: '1' },
    { op: 'add', path: '/data/b~1c', value: '2' },
    { op: 'remove', path: '/data/a' },
  ]
  expect(
    (await ask('PATCH', `${map}/c`, operations, 'application/json-patch+json')).body.data,
  ).toEqual({ 'b/c': '2' })
  expect(await ask('PATCH', `${map}/c`, operations, 'application/json-patch+json')).toMatchObject({
    status: 422,
  })
  expect((await ask('PATCH', `${map}/c`, {}, 'text/plain')).status).toBe(415)
  expect((await ask('PATCH', `${map}/c`, { data: null }, MERGE)).body).not.toHaveProperty('data')
  const { uid } = made.body.metadata as { uid: string }
  expect((await ask('DELETE', `${map}/c`, { preconditions: { uid: 'another' } })).status).toBe(409)
  expect((await ask('DELETE', `${map}/c`, { preconditions: { uid } })).status).toBe(200)
  const pods = '/api/v1/namespaces/default/pods'
  for (const name of ['p', 'q', 'r'])
    await ask('POST', pods, {
      metadata: { name, labels: { app: name } },
      spec: { containers: [{ name: 'c', image: 'x' }] },
    })
  expect(
    (await ask('POST', `${pods}/p/eviction`, { kind: 'Eviction', metadata: { name: 'p' } })).status,
  ).toBe(201)
  expect((await ask('DELETE', `${pods}?labelSelector=app%20in%20(q,x)`)).status).toBe(200)
  await until('the evicted pod is gone', async () => (await names(ask, pods)).join() === 'r')
  expect((await ask('GET', `${pods}/r/log`)).status).toBe(404)
})

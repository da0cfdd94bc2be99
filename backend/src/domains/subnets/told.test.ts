/** Where subnets appear besides their own list: clusters, overview, audit log, events. */
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { datacenterGet } from '#contract/datacenters.ts'
import { overviewGet } from '#contract/overview.ts'
import {
  clusterSubnets,
  subnetGet,
  subnetList,
  subnetRemove,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { startBackend } from '../../testing/backend.ts'
import { addCluster, addDatacenter, addServer, addSubnet, assign } from './testing.ts'

test('a cluster lists its subnets; the overview lists the fullest ones', async () => {
  const own = await startBackend()
  const by = await own.signIn({ role: 'operator' })
  const place = await addDatacenter(by, 'RZE')
  const cluster = await addCluster(own, place.id, 'epsilon')
  const used: Record<string, number | null> = {
    full: 6,
    half: 3,
    little: 1,
    empty: 0,
    silent: null,
    also: 2,
    most: 5,
  }
  for (const [i, [name, n]] of Object.entries(used).entries()) {
    const subnet = await addSubnet(by, place.id, name, `198.51.100.${i * 8}/29`)
    const uses =
      n === null
        ? null
        : Object.fromEntries(
            Array.from({ length: n }, (_, k) => [`198.51.100.${i * 8 + 1 + k}`, `default/${k}`]),
          )
    await assign(own, subnet, cluster, { uses })
  }
  await addSubnet(by, place.id, 'nobodys', '198.51.100.128/29')
  const { answer } = await by.call(overviewGet)
  expect(answer!.subnets?.map((s) => [s.name, s.used, s.total])).toEqual([
    ['full', 6, 6],
    ['most', 5, 6],
    ['half', 3, 6],
    ['also', 2, 6],
    ['little', 1, 6],
  ])
  const shown = (await by.call(clusterGet, { params: { id: cluster } })).answer!.subnets
  expect(shown.map((s) => s.name)).toEqual(Object.keys(used).toSorted())
  expect(shown[0]).toEqual({
    id: expect.any(String) as string,
    name: 'also',
    cidr: '198.51.100.40/29',
  })
  expect((await by.call(datacenterGet, { params: { id: place.id } })).answer!.subnets).toBe(8)
  // A matching If-None-Match still gets 200, because `used` isn't part of the version.
  const { answer: silent } = await by.call(subnetGet, {
    params: { id: (await by.call(subnetList, { query: { q: 'silent' } })).answer!.items[0]!.id },
  })
  const again = await by.call(
    subnetGet,
    { params: { id: silent!.id } },
    { headers: { 'if-none-match': '"1"' } },
  )
  expect(again).toMatchObject({ status: 200, answer: { used: null } })
})

test('a cluster has no addresses left if those that are free are only in a subnet that drains', async () => {
  const own = await startBackend()
  const by = await own.signIn({ role: 'operator' })
  const place = await addDatacenter(by, 'LUZ')
  const cluster = await addCluster(own, place.id, 'zeta')
  const [full, other] = [
    await addSubnet(by, place.id, 'full', '198.51.100.0/30'),
    await addSubnet(by, place.id, 'other', '198.51.100.8/30'),
  ]
  const exhausted = async () =>
    (await own.domains.subnets.exhausted(own.platform.db)).get(cluster)?.map((s) => s.name)
  const uses = { '198.51.100.1': 'default/a', '198.51.100.2': 'default/b' }
  await assign(own, full, cluster, { uses })
  await own.platform.db.updateTable('subnet_assignment').set({ used: 2 }).execute()
  await assign(own, other, cluster, { uses: { '198.51.100.9': 'default/c' } })
  expect(await exhausted()).toBeUndefined()
  await own.platform.db
    .updateTable('subnet_assignment')
    .set({ state: 'draining' })
    .where('subnet_id', '=', other.id)
    .execute()
  expect(await exhausted()).toEqual(['full'])
})

test('the servers in a management subnet count wherever it is shown', async () => {
  const own = await startBackend()
  const by = await own.signIn({ role: 'operator' })
  const place = await addDatacenter(by, 'OSR')
  const cluster = await addCluster(own, place.id, 'eta')
  const subnet = await addSubnet(by, place.id, 'racks', '10.60.0.0/24', { purpose: 'management' })
  await addServer(own, place.id, 'calm-otter-1', '10.60.0.7')
  await assign(own, subnet, cluster)
  const { answer: alone } = await by.call(subnetGet, { params: { id: subnet.id } })
  const { answer: of } = await by.call(clusterSubnets, { params: { id: cluster } })
  expect([alone!.used, of!.items[0]!.used]).toEqual([1, 1])
})

test('every change is audited with the values before and after, and published', async () => {
  const own = await startBackend()
  const admin = await own.signIn()
  const place = await addDatacenter(admin, 'IEG')
  const subnet = await addSubnet(admin, place.id, 'told', '10.0.0.0/24')
  await admin.call(subnetUpdate, { params: { id: subnet.id }, body: { exclude: ['10.0.0.7'] } })
  await own.platform.db
    .transaction()
    .execute((tx) =>
      own.domains.subnets.tellChanged(tx, { kind: 'system', name: 'Steelyard' }, [subnet.id]),
    )
  await admin.call(subnetRemove, { params: { id: subnet.id } })
  await own.publish()
  const { answer } = await admin.call(auditList, { query: { target: subnet.id } })
  expect(answer!.items.map((e) => [e.action, e.target!.name, e.after])).toEqual([
    ['subnet.removed', 'told', null],
    [
      'subnet.updated',
      'told',
      expect.objectContaining({ exclude: ['10.0.0.7'], version: 2, datacenter: place.code }),
    ],
    ['subnet.created', 'told', expect.objectContaining({ exclude: [], version: 1 })],
  ])
  const events = await own.platform.db
    .selectFrom('event')
    .select(['name', 'scope', 'data'])
    .where('name', 'like', 'subnet.%')
    .orderBy('id')
    .execute()
  expect(events.map((e) => [e.name, e.scope])).toEqual([
    ['subnet.created', 'network:read'],
    ['subnet.updated', 'network:read'],
    ['subnet.updated', 'network:read'],
    ['subnet.removed', 'network:read'],
  ])
})

import { expect, test } from 'vitest'
import { ask as control } from '../../control/ask.ts'
import { cluster, fleet, rack, until } from '../../testing/fleet.ts'
import { APPLY, as, type Ask } from '../../testing/kubernetes.ts'
import type { Simulator } from '../../start.ts'
import { handOn, type Hand } from '../hand.ts'
import { formatAddress, parseAddress, parseCidr, rangeText } from './ranges.ts'

const POOLS = '/apis/cilium.io/v2/ciliumloadbalancerippools'
const METALLB = '/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools'

interface Setup {
  simulator: Simulator
  ask: Ask
  hand: Hand
}

const setup = async (loadBalancer?: string): Promise<Setup> => {
  const simulator = await fleet({
    scenario: { ...rack(1), ...(loadBalancer !== undefined && { load_balancer: loadBalancer }) },
  })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const hand = handOn(simulator.world, 'blue-fox')!
  await until('the first Services', () => hand.show().services.length === 3)
  return { simulator, ask: await as(bundle, controlPlanes[0]!.plan.address), hand }
}

const apply = (ask: Ask, path: string, spec: object): ReturnType<Ask> => {
  const [, , group = '', version = ''] = path.split('/')
  const kind = path.includes('ippools') ? 'CiliumLoadBalancerIPPool' : 'IPAddressPool'
  return ask(
    'PATCH',
    `${path}?fieldManager=steelyard&force=true`,
    { apiVersion: `${group}/${version}`, kind, spec },
    APPLY,
  )
}

/** The addresses of each Service, by the name of the Service. */
const given = (shown: ReturnType<Hand['show']>): Record<string, string> =>
  Object.fromEntries(shown.services.map(({ name, addresses }) => [name, addresses.join()]))

test('IPv4 and IPv6 addresses are parsed, counted and formatted', () => {
  for (const text of [
    '203.0.113.7',
    '0.0.0.0',
    '2001:db8::1',
    '::',
    '2001:db8:0:1::ffff',
    '1:2:3:4:5:6:7:8',
  ])
    expect(formatAddress(parseAddress(text)!)).toBe(text)
  for (const text of ['203.0.113', '010.0.0.1', 'x', 'fe80::1%eth0', ''])
    expect(parseAddress(text)).toBe(null)
  expect(rangeText(parseCidr('203.0.113.64/26')!)).toBe('203.0.113.64 - 203.0.113.127')
  expect(rangeText(parseCidr('2001:db8::/126')!)).toBe('2001:db8:: - 2001:db8::3')
  expect(parseCidr('203.0.113.0/33')).toBe(null)
})

test("Cilium's kinds can be discovered, and their objects can be listed in pages", async () => {
  const { ask } = await setup()
  expect((await ask('GET', '/apis/cilium.io')).body).toMatchObject({
    kind: 'APIGroup',
    preferredVersion: { version: 'v2' },
    versions: [{ version: 'v2' }, { version: 'v2alpha1' }],
  })
  expect((await ask('GET', '/apis/metallb.io')).status).toBe(404)
  const names = async (version: string): Promise<string[]> =>
    ((await ask('GET', `/apis/cilium.io/${version}`)).body.resources as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => !name.includes('/'))
  expect(await names('v2')).toEqual(['ciliumloadbalancerippools'])
  expect(await names('v2alpha1')).toEqual([
    'ciliuml2announcementpolicies',
    'ciliumloadbalancerippools',
  ])
  const found: string[] = []
  const path = '/api/v1/services?fieldSelector=spec.type%3DLoadBalancer&limit=2'
  for (let next = ''; ;) {
    const { body } = await ask('GET', next === '' ? path : `${path}&continue=${next}`)
    const { items, metadata } = body as {
      items: { metadata: { name: string } }[]
      metadata: { continue?: string }
    }
    expect(items.length).toBeLessThanOrEqual(2)
    found.push(...items.map((item) => item.metadata.name))
    if (metadata.continue === undefined) break
    next = metadata.continue
  }
  expect(found).toEqual(['ssh', 'gateway', 'storefront'])
  expect((await ask('GET', '/api/v1/services?fieldSelector=spec.colour%3Dred')).status).toBe(400)
  expect((await ask('GET', '/api/v1/services?limit=2&continue=!!!')).status).toBe(400)
})

test('Services get addresses of a Cilium pool, keep them if the pool is disabled, and lose them if the pool is deleted', async () => {
  const { simulator, ask, hand } = await setup()
  const blocks = [
    { start: '203.0.113.10', stop: '203.0.113.11' },
    { start: '203.0.113.20', stop: '203.0.113.30' },
  ]
  const made = await apply(ask, `${POOLS}/subnet-1`, { blocks, allowFirstLastIPs: 'No' })
  expect(made).toMatchObject({ status: 201, body: { metadata: { generation: 1 } } })
  await until('every Service has one', () =>
    hand.show().services.every(({ addresses }) => addresses.length === 1),
  )
  expect(Object.values(given(hand.show())).toSorted()).toEqual([
    '203.0.113.10',
    '203.0.113.11',
    '203.0.113.20',
  ])
  expect((await ask('GET', `${POOLS}/subnet-1`)).body).toMatchObject({
    status: {
      conditions: [
        {
          type: 'cilium.io/PoolConflict',
          status: 'False',
          reason: 'resolved',
          observedGeneration: 1,
        },
        { type: 'cilium.io/IPsTotal', status: 'Unknown', message: '13', observedGeneration: 1 },
        { type: 'cilium.io/IPsAvailable', message: '10' },
        { type: 'cilium.io/IPsUsed', message: '3' },
      ],
    },
  })
  expect((await ask('GET', '/api/v1/namespaces/shop/services/storefront')).body).toMatchObject({
    status: {
      loadBalancer: { ingress: [{ ipMode: 'VIP' }] },
      conditions: [{ type: 'cilium.io/IPAMRequestSatisfied', status: 'True' }],
    },
  })
  const before = given(hand.show())
  const changed = await apply(ask, `${POOLS}/subnet-1`, {
    blocks,
    allowFirstLastIPs: 'No',
    disabled: true,
  })
  expect(changed.body).toMatchObject({
    metadata: { generation: 2 },
    status: { conditions: [{}, {}, {}, {}] },
  })
  await control(simulator.control, 'POST', '/clusters/blue-fox/services', {
    name: 'late',
    namespace: 'new',
  })
  await until('the late one is told that there is no pool', async () => {
    const { body } = await ask('GET', '/api/v1/namespaces/new/services/late')
    return JSON.stringify(body.status ?? {}).includes(
      'There are no enabled CiliumLoadBalancerIPPools',
    )
  })
  expect(given(hand.show())).toEqual({ ...before, late: '' })
  await until('the counts are of this generation', async () =>
    JSON.stringify((await ask('GET', `${POOLS}/subnet-1`)).body).includes(
      '"message":"13","observedGeneration":2',
    ),
  )
  expect((await ask('DELETE', `${POOLS}/subnet-1`)).status).toBe(200)
  await until('all are without', () =>
    hand.show().services.every(({ addresses }) => addresses.length === 0),
  )
})

test('the newer of two overlapping Cilium pools is in conflict until the older one is deleted', async () => {
  const { ask, hand } = await setup()
  await apply(ask, `${POOLS}/older`, {
    blocks: [{ cidr: '203.0.113.0/30' }],
    allowFirstLastIPs: 'No',
  })
  await until('it is full', () =>
    JSON.stringify(hand.show().pools[0]?.status ?? {}).includes('"cilium.io/IPsAvailable":"0"'),
  )
  await apply(ask, `${POOLS}/younger`, { blocks: [{ cidr: '203.0.113.0/29' }] })
  await until('the younger conflicts', () =>
    String(hand.show().pools[1]?.status['cilium.io/PoolConflict']).startsWith(
      "Pool conflicts since range '203.0.113.0 - 203.0.113.7'",
    ),
  )
  expect(hand.show().services.filter(({ addresses }) => addresses.length === 1)).toHaveLength(2)
  hand.remove('ciliumloadbalancerippools', 'older')
  await until('the younger takes over', () =>
    hand.show().services.every(({ addresses }) => addresses.length === 1),
  )
  expect(hand.show().pools[0]?.status).toMatchObject({
    'cilium.io/PoolConflict': 'False',
    'cilium.io/IPsTotal': '8',
    'cilium.io/IPsUsed': '3',
  })
})

test('a Service gets the address that it requests, or a condition with the reason why not', async () => {
  const { ask, hand } = await setup()
  for (const { namespace, name } of hand.show().services) hand.removeService(namespace, name)
  await apply(ask, `${POOLS}/one`, {
    blocks: [{ cidr: '203.0.113.0/28' }],
    serviceSelector: { matchExpressions: [{ key: 'tier', operator: 'In', values: ['edge'] }] },
  })
  hand.addService({
    namespace: 'default',
    name: 'a',
    labels: { tier: 'edge' },
    annotations: { 'lbipam.cilium.io/ips': '203.0.113.9' },
  })
  hand.addService({
    namespace: 'default',
    name: 'b',
    labels: { tier: 'edge' },
    annotations: { 'lbipam.cilium.io/ips': '203.0.113.9' },
  })
  hand.addService({ namespace: 'default', name: 'c' })
  await until('a has it', () => given(hand.show()).a === '203.0.113.9')
  const reason = async (name: string): Promise<string> =>
    JSON.stringify(
      (await ask('GET', `/api/v1/namespaces/default/services/${name}`)).body.status ?? {},
    )
  await until('c is told', async () => (await reason('c')).includes('no enabled'))
  expect(await reason('b')).toContain(
    "The IP '203.0.113.9' is already allocated to another service",
  )
  expect(given(hand.show())).toEqual({ a: '203.0.113.9', b: '', c: '' })
})

test('MetalLB assigns addresses, keeps them without autoAssign, and refuses overlapping pools', async () => {
  const { ask, hand } = await setup('metallb')
  expect((await ask('GET', '/apis/cilium.io')).status).toBe(404)
  expect(
    (
      await apply(ask, `${METALLB}/subnet-1`, {
        addresses: ['203.0.113.10-203.0.113.12', '203.0.113.32/30'],
        autoAssign: true,
      })
    ).status,
  ).toBe(201)
  await until('every Service has one', () =>
    hand.show().services.every(({ addresses }) => addresses.length === 1),
  )
  expect(hand.show().pools[0]?.status).toEqual({
    assignedIPv4: 3,
    assignedIPv6: 0,
    availableIPv4: 4,
    availableIPv6: 0,
  })
  expect((await ask('GET', '/api/v1/namespaces/shop/services/storefront')).body).toMatchObject({
    metadata: { annotations: { 'metallb.io/ip-allocated-from-pool': 'subnet-1' } },
  })
  const refused = await apply(ask, `${METALLB}/other`, { addresses: ['203.0.113.12-203.0.113.13'] })
  expect(refused).toMatchObject({
    status: 403,
    body: { message: expect.stringContaining('overlaps') },
  })
  expect((await apply(ask, `${METALLB}/other`, { addresses: ['nonsense'] })).status).toBe(403)
  expect(
    (await apply(ask, `${METALLB}/other`, { addresses: ['10.0.0.0/30'], colour: 'red' })).body
      .message,
  ).toContain('.spec.colour: field not declared in schema')
  await apply(ask, `${METALLB}/subnet-1`, {
    addresses: ['203.0.113.10-203.0.113.12', '203.0.113.32/30'],
    autoAssign: false,
  })
  hand.addService({ namespace: 'default', name: 'late' })
  const before = given(hand.show())
  await apply(ask, `${METALLB}/second`, { addresses: ['203.0.113.64/31'] })
  await until(
    'the late one has one of the second',
    () => given(hand.show()).late === '203.0.113.64',
  )
  expect(given(hand.show())).toEqual({ ...before, late: '203.0.113.64' })
  hand.remove('ipaddresspools', 'subnet-1')
  await until(
    'one of the others takes the last address',
    () => Object.values(given(hand.show())).filter((address) => address !== '').length === 2,
  )
})

test('pools can be edited and deleted, and the load balancer can be replaced, through the control socket', async () => {
  const { simulator, ask } = await setup()
  const call = (method: string, path: string, body?: object): Promise<unknown> =>
    control(simulator.control, method, `/clusters/blue-fox${path}`, body)
  await apply(ask, `${POOLS}/subnet-1`, {
    blocks: [{ start: '203.0.113.10', stop: '203.0.113.20' }],
  })
  await call('PATCH', '/objects/ciliumloadbalancerippools/subnet-1', {
    spec: { blocks: [{ cidr: '198.51.100.0/28' }] },
  })
  expect((await ask('GET', `${POOLS}/subnet-1`)).body).toMatchObject({
    metadata: { generation: 2 },
    spec: { blocks: [{ cidr: '198.51.100.0/28' }] },
  })
  expect(
    (
      await apply(ask, `${POOLS}/subnet-1`, {
        blocks: [{ start: '203.0.113.10', stop: '203.0.113.20' }],
      })
    ).body,
  ).toMatchObject({
    metadata: { generation: 3 },
  })
  await call('DELETE', '/objects/ciliumloadbalancerippools/subnet-1')
  expect((await ask('GET', `${POOLS}/subnet-1`)).status).toBe(404)
  await expect(call('DELETE', '/objects/ciliumloadbalancerippools/subnet-1')).rejects.toThrow(
    'not found',
  )
  await expect(call('DELETE', '/services/shop/nothing')).rejects.toThrow('not found')
  await expect(call('POST', '/services', { name: 'Bad Name' })).rejects.toThrow('name')
  expect(await call('PUT', '/load-balancer', { load_balancer: 'metallb' })).toMatchObject({
    loadBalancer: 'metallb',
    pools: [],
  })
  expect([
    (await ask('GET', '/apis/cilium.io')).status,
    (await ask('GET', '/apis/metallb.io')).status,
  ]).toEqual([404, 200])
  expect(await control(simulator.control, 'GET', '/clusters')).toMatchObject({
    clusters: [{ name: 'blue-fox', hasQuorum: true }],
  })
})

import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { clusterGet } from '#contract/clusters/clusters.ts'
import {
  type Offer,
  offerAccessAddressSet,
  offerCreate,
  offerDifference,
  offerGet,
  offerList,
  offerRecompute,
  offerToolGet,
  offerUpdate,
} from '#contract/marketplace/offers.ts'
import { startBackend } from '../../testing/backend.ts'
import { eur, gib, offerWorld, prove, setMemory } from './testing.ts'

const backend = await startBackend()
const world = await offerWorld(backend)
const operator = await backend.signIn({ role: 'operator' })
const update = (offer: Pick<Offer, 'id'>, body: object, ifMatch?: number) =>
  operator.call(
    offerUpdate,
    { params: { id: offer.id }, body },
    ifMatch === undefined ? {} : { ifMatch },
  )
const setAddress = (offer: Pick<Offer, 'id'>, address: string) =>
  operator.call(offerAccessAddressSet, { params: { id: offer.id }, body: { address } })
const audited = async (target: string) => {
  await backend.publish()
  const admin = await backend.signIn()
  return (await admin.call(auditList, { query: { target } })).answer!.items.map(
    (entry) => entry.action,
  )
}

test('an offer is made as a draft from what the servers of the cluster have', async () => {
  const cluster = await world.cluster([await world.server(128), await world.server(64)])
  const { status, answer } = await operator.call(offerCreate, {
    body: { cluster_id: cluster.id, price: eur('0.050') },
  })
  expect(status).toBe(201)
  expect(answer).toMatchObject({
    id: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
    cluster: { id: cluster.id, name: cluster.name },
    datacenter: { code: world.datacenter.code },
    status: 'draft',
    resources: {
      servers: 2,
      unknown_servers: 0,
      compute_units: 48,
      vcpu: 128,
      memory_bytes: 192 * gib,
      disk_bytes: 2e12,
    },
    price: { amount: '0.05', currency: 'EUR', basis: 'compute_unit' },
    access_address: null,
    proven_at: null,
    in_use: false,
    version: 1,
  })
  expect((await operator.call(offerGet, { params: { id: answer!.id } })).answer).toEqual(answer)
  expect((await operator.call(clusterGet, { params: { id: cluster.id } })).answer).toMatchObject({
    offerId: answer!.id,
    offer_detection: 'found',
    offer_looking_since: null,
  })
  expect(await audited(answer!.id)).toEqual(['offer.created'])
})

test('a cluster has one offer: a second one is refused, also if both are made at once', async () => {
  const { offer, cluster } = await world.offer(operator, { bare: true })
  expect(await operator.call(offerCreate, { body: { cluster_id: cluster.id } })).toMatchObject({
    status: 409,
    problem: { code: 'offer_exists', error: `${cluster.name} has the offer ${offer.id} already` },
  })
  const other = await world.cluster()
  const both = await Promise.all(
    [0, 1].map(() => operator.call(offerCreate, { body: { cluster_id: other.id } })),
  )
  expect(both.map((called) => called.status).toSorted((a, b) => a - b)).toEqual([201, 409])
})

test('an offer of a cluster that does not exist is refused', async () => {
  const gone = await world.cluster()
  await world.remove(gone)
  for (const cluster_id of [gone.id, '0198c0de-0000-7000-8000-000000000001'])
    expect((await operator.call(offerCreate, { body: { cluster_id } })).problem).toMatchObject({
      code: 'not_found',
    })
})

test.each([
  -1,
  0.1 + 0.2,
  1e300,
  '1e400',
  '-1',
  '0.30000000000000004',
  '1,5',
  '',
  '1000000000000',
  null,
])('a price of %j is refused, and nothing is changed', async (amount) => {
  const { offer } = await world.offer(operator, { bare: true, price: eur('3') })
  const refused = await update(offer, { price: { amount, currency: 'EUR', basis: 'cluster' } })
  expect(refused).toMatchObject({
    status: 422,
    problem: {
      code: 'invalid',
      fields: { 'price.amount': expect.stringContaining('decimal number') as string },
    },
  })
  expect(await world.look(operator, offer.id)).toEqual(offer)
})

test('prices keep their digits', async () => {
  const { offer } = await world.offer(operator, { bare: true })
  for (const [given, kept] of [
    ['0.1', '0.1'],
    ['999999999999.99999999', '999999999999.99999999'],
    ['007.500', '7.5'],
    ['0.00000001', '0.00000001'],
  ] as const)
    expect((await update(offer, { price: eur(given) })).answer!.price!.amount).toBe(kept)
})

test('updating the resources shows the difference and stores it', async () => {
  const server = await world.server(64)
  const cluster = await world.cluster([server])
  const { offer } = await world.offer(operator, { bare: true, cluster })
  const params = { id: offer.id }
  expect((await operator.call(offerRecompute, { params })).answer).toEqual({
    offer,
    before: offer.resources,
    after: offer.resources,
  })

  await setMemory(backend, server, 128)
  const before = { compute_units: 16, memory_bytes: 64 * gib }
  const after = { compute_units: 32, memory_bytes: 128 * gib }
  expect((await operator.call(offerDifference, { params })).answer).toMatchObject({ before, after })
  // A look changes nothing.
  expect(await world.look(operator, offer.id)).toEqual(offer)
  expect((await operator.call(offerRecompute, { params })).answer).toMatchObject({
    offer: { resources: after, version: 2 },
    before,
    after,
  })

  await setMemory(backend, server, null)
  expect((await operator.call(offerRecompute, { params })).answer!.offer.resources).toEqual({
    servers: 1,
    unknown_servers: 1,
    compute_units: null,
    vcpu: null,
    memory_bytes: null,
    disk_bytes: null,
  })
  expect(await audited(offer.id)).toEqual(['offer.recomputed', 'offer.recomputed', 'offer.created'])
})

test('a listed offer keeps its resources while the hardware of a server is unknown', async () => {
  const server = await world.server()
  const { offer } = await world.offer(operator, {
    bare: true,
    cluster: await world.cluster([server]),
    price: eur('1'),
  })
  const listed = (await update(offer, { status: 'listed' })).answer!
  await setMemory(backend, server, null)
  expect((await operator.call(offerRecompute, { params: { id: offer.id } })).problem).toMatchObject(
    {
      code: 'transition_refused',
      error: expect.stringMatching(
        /^The hardware of 1 server is unknown, and the offer is listed/,
      ) as string,
    },
  )
  expect(await world.look(operator, offer.id)).toEqual(listed)
})

test('an offer is listed once it has a price, then withdrawn, and is never a draft again', async () => {
  const { offer } = await world.offer(operator, { bare: true })
  expect((await update(offer, { status: 'listed' })).problem).toMatchObject({
    code: 'transition_refused',
    error: 'Set a price first',
  })
  expect((await update(offer, { status: 'listed', price: eur('1') })).answer).toMatchObject({
    status: 'listed',
    version: 2,
  })
  expect((await update(offer, { status: 'listed' })).answer).toMatchObject({ version: 2 })
  expect((await update(offer, { status: 'draft' })).problem).toMatchObject({
    code: 'transition_refused',
  })
  expect((await update(offer, { status: 'withdrawn' }, 1)).status).toBe(412)
  expect((await update(offer, { status: 'withdrawn' }, 2)).answer).toMatchObject({
    status: 'withdrawn',
    version: 3,
  })
})

test('the access address is set, and setting it again changes nothing', async () => {
  const { offer, cluster } = await world.offer(operator, { bare: true })
  const { address } = cluster.key
  const { version, offer_address_set: before } = (
    await operator.call(clusterGet, { params: { id: cluster.id } })
  ).answer!
  expect((await setAddress(offer, address)).answer).toMatchObject({
    access_address: address,
    in_use: false,
    version: 2,
  })
  expect((await setAddress(offer, address)).answer).toMatchObject({ version: 2 })
  expect(before).toBe(false)
  expect((await operator.call(clusterGet, { params: { id: cluster.id } })).answer).toMatchObject({
    offer_address_set: true,
    version: version + 1,
  })
  expect(await audited(offer.id)).toEqual(['offer.access_address_set', 'offer.created'])
})

test.each([
  [
    'a wrong checksum',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDc',
    'The checksum of this address is wrong',
  ],
  [
    'no checksum',
    '0xd1220a0cf47c7b9be7a2e6ba89f429762e7b9adb',
    'The checksum of this address is wrong',
  ],
  [
    'one digit too few',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aD',
    'An address is 0x and 40 hexadecimal digits',
  ],
  [
    'a line break',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb\nrm -rf ~',
    'An address is 0x and 40 hexadecimal digits',
  ],
  [
    'an escape sequence',
    '\u001b]0;x\u00070xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
    'An address is 0x and 40 hexadecimal digits',
  ],
])(
  'an access address with %s is refused, and nothing is changed',
  async (_name, address, error) => {
    const { offer } = await world.offer(operator, { bare: true })
    const refused = await setAddress(offer, address)
    expect(refused).toMatchObject({
      status: 422,
      problem: { code: 'invalid', fields: { address: expect.stringContaining(error) as string } },
    })
    expect(await world.look(operator, offer.id)).toEqual(offer)
  },
)

test('the address of another cluster or offer is refused, and the error names the cluster', async () => {
  const { offer, cluster } = await world.offer(operator, { bare: true })
  const other = await world.cluster()
  expect((await setAddress(offer, other.key.address)).problem).toMatchObject({
    code: 'conflict',
    error: `This is the address of the cluster ${other.name}, but the offer sells ${cluster.name}`,
    related: { kind: 'cluster', id: other.id, name: other.name },
  })
  const foreign = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  expect((await setAddress(offer, foreign)).status).toBe(200)
  const { offer: second } = await world.offer(operator, { bare: true })
  expect((await setAddress(second, foreign)).problem).toMatchObject({
    code: 'conflict',
    error: 'Another offer has this access address',
  })
})

test('another access address ends the use of the offer until its key is proved', async () => {
  const { offer, cluster } = await world.offer(operator)
  await prove(backend, offer.id, cluster.key)
  expect(await world.look(operator, offer.id)).toMatchObject({ in_use: true })
  expect(
    (await setAddress(offer, '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359')).answer,
  ).toMatchObject({ in_use: false, proven_at: null })
})

test('an offer that was withdrawn and listed again is in use only after another proof', async () => {
  const { offer, cluster } = await world.offer(operator, { price: eur('1') })
  await update(offer, { status: 'listed' })
  await prove(backend, offer.id, cluster.key)
  expect((await update(offer, { status: 'withdrawn' })).answer).toMatchObject({
    in_use: false,
    proven_at: null,
  })
  expect((await update(offer, { status: 'listed' })).answer).toMatchObject({ in_use: false })
  await prove(backend, offer.id, cluster.key)
  expect(await world.look(operator, offer.id)).toMatchObject({ in_use: true })
})

test('a removed cluster leaves its offer without a cluster, withdrawn if it was listed, and not in use', async () => {
  const { offer, cluster } = await world.offer(operator, { price: eur('1') })
  await update(offer, { status: 'listed' })
  await prove(backend, offer.id, cluster.key)
  await world.remove(cluster)
  expect(await world.look(operator, offer.id)).toMatchObject({
    cluster: null,
    status: 'withdrawn',
    in_use: false,
    proven_at: null,
  })
  expect((await operator.call(offerRecompute, { params: { id: offer.id } })).problem).toMatchObject(
    { code: 'transition_refused' },
  )
  expect(
    (await operator.call(offerDifference, { params: { id: offer.id } })).problem,
  ).toMatchObject({ code: 'transition_refused' })
  expect((await update(offer, { status: 'listed' })).problem).toMatchObject({
    code: 'transition_refused',
  })
  expect((await audited(offer.id))[0]).toBe('offer.detached')
})

test('offers are found by status, datacenter, cluster, id and access address', async () => {
  const own = await startBackend()
  const alone = await offerWorld(own)
  const by = await own.signIn({ role: 'operator' })
  const { offer, cluster } = await alone.offer(by, { price: eur('1') })
  await by.call(offerUpdate, { params: { id: offer.id }, body: { status: 'listed' } })
  await alone.offer(by, { bare: true })
  const found = async (query: object) =>
    (await by.call(offerList, { query })).answer!.items.map((o) => o.id)
  expect(await found({})).toHaveLength(2)
  for (const query of [
    { status: 'listed' },
    { cluster: cluster.name },
    { cluster: cluster.id },
    { q: offer.id.slice(0, 12) },
    { q: cluster.key.address },
  ])
    expect(await found(query)).toEqual([offer.id])
  expect(await found({ datacenter: alone.datacenter.code, status: 'withdrawn' })).toEqual([])
})

test('an id that is no offer id is not found, and the response does not repeat it', async () => {
  for (const id of [
    '0x',
    `0x${'9f'.repeat(31)}9`,
    `0x${'9F'.repeat(32)}`,
    '\u001b[2J',
    'tool%0a',
  ]) {
    const { status, text } = await operator.call(offerGet, { params: { id } })
    expect(status).toBe(404)
    expect(text).not.toContain('[2J')
  }
})

test('the tool for offers is steelyard in its own version unless the settings name another', async () => {
  expect((await operator.call(offerToolGet)).answer).toEqual({
    name: 'steelyard',
    version: '1.2.3',
    update_command: 'steelyard offer update --all',
    address_command:
      'steelyard offer set-access-address --offer-id {offerId} --address {chainAddress}',
  })
  const other = await startBackend({
    environment: {
      STEELYARD_OFFER_TOOL: 'spctl',
      STEELYARD_OFFER_TOOL_VERSION: '0.9.1',
      STEELYARD_OFFER_UPDATE_COMMAND: '{tool} offers refresh',
      STEELYARD_OFFER_ADDRESS_COMMAND: '{tool} offers set {offerId} {chainAddress} # {version}',
    },
  })
  expect((await (await other.signIn({ role: 'viewer' })).call(offerToolGet)).answer).toEqual({
    name: 'spctl',
    version: '0.9.1',
    update_command: 'spctl offers refresh',
    address_command: 'spctl offers set {offerId} {chainAddress} # 0.9.1',
  })
})

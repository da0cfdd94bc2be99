import { expect, test } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import {
  offerAccessAddressSet,
  offerCreate,
  offerDifference,
  offerGet,
  offerList,
  offerRecompute,
  type OfferResources,
  offerUpdate,
} from '#contract/marketplace/offers.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aCluster, anOffer, id, pageOf } from '../testing/things.ts'

const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const offer = anOffer()
const grown: OfferResources = {
  ...offer.resources,
  compute_units: 32,
  memory_bytes: 128 * 1024 ** 3,
}

async function signedIn() {
  const api = await startApi()
  api.on(clusterList, () => pageOf([aCluster()]))
  api.on(offerList, ({ query }) =>
    pageOf(query.cluster === undefined || query.cluster === 'web' ? [offer] : []),
  )
  api.on(offerGet, () => offer)
  return { api, cli: await startCli(api) }
}

test('offer create makes an offer of a cluster, with or without a price', async () => {
  const { api, cli } = await signedIn()
  api.on(offerCreate, () => offer)
  expect(await cli.run('offer create web')).toMatchObject({
    exit: 0,
    out: `The offer of web is ${offer.id}, a draft\n`,
  })
  await cli.run('offer create web --price 0.05 --currency eur --basis compute_unit')
  expect(api.callsOf(offerCreate).map((call) => call.body)).toEqual([
    { cluster_id: id(20), price: null },
    { cluster_id: id(20), price: { amount: '0.05', currency: 'EUR', basis: 'compute_unit' } },
  ])
})

test.each([
  ['offer create web --price 5', 'A price needs --price, --currency and --basis'],
  ['offer create web --price 1e400 --currency EUR --basis server', 'An amount is a decimal number'],
  ['offer create web --price=-1 --currency EUR --basis server', 'An amount is a decimal number'],
  [
    'offer create web --price 1 --currency EUR --basis month',
    '--basis is one of compute_unit, server, cluster',
  ],
  ['offer update', 'Name offers, or give --all'],
  ['offer update --all web', 'Name offers, or give --all'],
  ['offer update --all --price 5', '--all is only for resources'],
  ['offer update web --dry-run --status listed', '--dry-run is only for resources'],
  ['offer update web --price 1', 'A price needs --price, --currency and --basis'],
  [`offer set-access-address --offer-id ${offer.id}`, 'Give --offer-id and --address'],
  [
    `offer set-access-address --offer-id ${offer.id.slice(0, -1)} --address ${address}`,
    'is not the id of an offer',
  ],
  [
    `offer set-access-address --offer-id ${offer.id} --address ${address.slice(0, -1)}`,
    'An address is 0x and 40 hexadecimal digits',
  ],
  [`offer show 0x12`, 'is not the id of an offer'],
])('%s is refused before anything is changed', async (line, error) => {
  const { api, cli } = await signedIn()
  const { exit, out, err } = await cli.run(line)
  expect({ exit, out }).toEqual({ exit: 2, out: '' })
  expect(err).toContain(error)
  for (const call of [offerCreate, offerUpdate, offerRecompute, offerAccessAddressSet])
    expect(api.callsOf(call)).toEqual([])
})

test('an id or an address with line breaks and escape sequences is refused, and printed on one line without them', async () => {
  const { cli } = await signedIn()
  const { exit, err } = await cli.run([
    'offer',
    'set-access-address',
    '--offer-id',
    `${offer.id}\n\u001b[31mrm -rf ~`,
    '--address',
    address,
  ])
  expect(exit).toBe(2)
  expect(err).not.toContain('\u001b')
  expect(err.split('\n')[0]).toContain('rm -rf')
})

test('offer set-access-address sets the address and says when the offer is in use', async () => {
  const { api, cli } = await signedIn()
  api.on(offerAccessAddressSet, () => ({ ...offer, access_address: address }))
  const { exit, out } = await cli.run(
    `offer set-access-address --offer-id ${offer.id} --address ${address}`,
  )
  expect({ exit, out }).toEqual({
    exit: 0,
    out: `The access address of the offer of web is ${address} now\nThe offer is in use once software in the cluster has proved that it holds the key\n`,
  })
  expect(api.callsOf(offerAccessAddressSet)).toMatchObject([
    { params: { id: offer.id }, body: { address } },
  ])
  api.on(offerAccessAddressSet, () => {
    throw new Problem('invalid', 'The checksum of this address is wrong (EIP-55)')
  })
  expect(
    await cli.run(
      `offer set-access-address --offer-id ${offer.id} --address ${address.toLowerCase()}`,
    ),
  ).toMatchObject({
    exit: 2,
    err: expect.stringContaining('checksum') as string,
  })
})

test('offer update prints the difference of the resources, and --dry-run only looks', async () => {
  const { api, cli } = await signedIn()
  api.on(offerDifference, () => ({ before: offer.resources, after: grown }))
  api.on(offerRecompute, () => ({
    offer: { ...offer, resources: grown },
    before: offer.resources,
    after: grown,
  }))
  const looked = await cli.run('offer update web --dry-run')
  expect(looked).toMatchObject({
    exit: 0,
    out: expect.stringContaining('Compute units 16 → 32, Memory 64 GiB → 128 GiB') as string,
  })
  expect(api.callsOf(offerRecompute)).toEqual([])
  expect((await cli.run(`offer update ${offer.id}`)).out).toContain('Compute units 16 → 32')
  expect(api.callsOf(offerRecompute)).toHaveLength(1)
  const asJson = await cli.run(`offer update ${offer.id} -o json`)
  expect(JSON.parse(asJson.out)).toMatchObject({
    items: [{ offer: { id: offer.id, resources: grown }, before: offer.resources, after: grown }],
  })
})

test('an unknown amount is printed as unknown', async () => {
  const { api, cli } = await signedIn()
  const after: OfferResources = {
    servers: 1,
    unknown_servers: 1,
    compute_units: null,
    vcpu: null,
    memory_bytes: null,
    disk_bytes: null,
  }
  api.on(offerRecompute, () => ({
    offer: { ...offer, resources: after },
    before: offer.resources,
    after,
  }))
  expect((await cli.run('offer update web')).out).toContain('Compute units 16 → unknown')
  api.on(offerGet, () => ({
    ...offer,
    resources: after,
    price: { amount: '0.05', currency: 'EUR', basis: 'compute_unit' as const },
  }))
  const { out } = await cli.run('offer show web')
  expect(out).toMatch(/^Total +unknown$/m)
  expect(out).toMatch(/^Compute units +unknown$/m)
})

test('offer update --all updates every offer with a cluster, and names those that failed', async () => {
  const { api, cli } = await signedIn()
  const [second, gone] = [
    anOffer({ id: `0x${'8e'.repeat(32)}`, cluster: { id: id(21), name: 'db' } }),
    anOffer({ id: `0x${'7d'.repeat(32)}`, cluster: null }),
  ]
  api.on(offerList, () => pageOf([offer, second, gone]))
  api.on(offerRecompute, ({ params }) => {
    if (params.id === second.id)
      throw new Problem('conflict', 'The cluster of this offer has just changed. Try again')
    return { offer, before: offer.resources, after: offer.resources }
  })
  const { exit, out } = await cli.run('offer update --all')
  expect(exit).toBe(1)
  expect(out).toMatch(new RegExp(`^web +no change +${offer.id}$`, 'm'))
  expect(out).toMatch(
    new RegExp(`^db +The cluster of this offer has just changed\\. Try again +${second.id}$`, 'm'),
  )
  expect(out).not.toContain(gone.id)
  const { items } = JSON.parse((await cli.run('offer update --all --json')).out) as {
    items: object[]
  }
  expect(items).toMatchObject([
    { id: offer.id, before: offer.resources },
    { id: second.id, error: { code: 'conflict' } },
  ])
})

test('a price keeps its currency and basis when only the amount is given', async () => {
  const { api, cli } = await signedIn()
  const priced = anOffer({ price: { amount: '0.05', currency: 'EUR', basis: 'server' } })
  api.on(offerGet, () => priced)
  api.on(offerRecompute, () => ({
    offer: priced,
    before: priced.resources,
    after: priced.resources,
  }))
  api.on(offerUpdate, () => priced)
  expect((await cli.run('offer update web --price 0.06 --status listed')).exit).toBe(0)
  expect(api.callsOf(offerUpdate)[0]!.body).toEqual({
    price: { amount: '0.06', currency: 'EUR', basis: 'server' },
    status: 'listed',
  })
})

test('a price that was changed meanwhile is not overwritten', async () => {
  const { api, cli } = await signedIn()
  const priced = anOffer({
    price: { amount: '0.05', currency: 'EUR', basis: 'server' },
    version: 3,
  })
  const newer = { ...priced, price: { ...priced.price!, currency: 'USD' }, version: 5 }
  api.on(offerGet, () => priced)
  api.on(offerRecompute, () => ({
    offer: newer,
    before: priced.resources,
    after: priced.resources,
  }))
  api.on(offerUpdate, () => {
    throw new Problem('stale', 'This object has changed since you opened it.')
  })
  expect(await cli.run('offer update web --price 0.06')).toMatchObject({
    exit: 6,
    err: expect.stringContaining('has changed') as string,
  })
  await cli.run('offer update web --basis cluster --status withdrawn')
  expect(api.callsOf(offerUpdate).map(({ body, headers }) => [body, headers['if-match']])).toEqual([
    [{ price: { amount: '0.06', currency: 'USD', basis: 'server' } }, '"5"'],
    [{ price: { amount: '0.05', currency: 'EUR', basis: 'cluster' }, status: 'withdrawn' }, '"3"'],
  ])
})

test('of several offers that are updated, one that fails does not prevent the others', async () => {
  const { api, cli } = await signedIn()
  const second = anOffer({ id: `0x${'8e'.repeat(32)}`, cluster: { id: id(21), name: 'db' } })
  const of = (wanted: string) => (wanted === second.id ? second : offer)
  api.on(offerGet, ({ params }) => of(params.id))
  api.on(offerRecompute, ({ params }) => ({
    offer: of(params.id),
    before: offer.resources,
    after: offer.resources,
  }))
  api.on(offerUpdate, ({ params }) => {
    if (params.id === offer.id)
      throw new Problem('stale', 'This object has changed since you opened it.')
    return second
  })
  const change = '--price 0.06 --currency EUR --basis server'
  const { exit, out } = await cli.run(`offer update web ${second.id} ${change}`)
  expect(exit).toBe(1)
  expect(out).toMatch(new RegExp(`^web +This object has changed.*${offer.id}$`, 'm'))
  expect(out).toMatch(new RegExp(`^db +no change +${second.id}$`, 'm'))
  const { items } = JSON.parse(
    (await cli.run(`offer update web ${second.id} ${change} --json`)).out,
  ) as { items: object[] }
  expect(items).toMatchObject([
    { id: offer.id, cluster: 'web', error: { code: 'stale' } },
    { id: second.id, offer: { id: second.id } },
  ])
  const before = api.callsOf(offerRecompute).length
  expect((await cli.run(`offer update web nobody ${change}`)).exit).toBe(5)
  expect(api.callsOf(offerRecompute)).toHaveLength(before)
})

test('offer withdraw withdraws an offer, also one without a cluster', async () => {
  const { api, cli } = await signedIn()
  api.on(offerUpdate, () => ({ ...offer, status: 'withdrawn' as const, cluster: null }))
  expect(await cli.run(`offer withdraw ${offer.id}`)).toMatchObject({
    exit: 0,
    out: `The offer ${offer.id} is withdrawn\n`,
  })
  expect(api.callsOf(offerUpdate)[0]!.body).toEqual({ status: 'withdrawn' })
})

test('offer show prints price, total, resources and whether the offer is in use', async () => {
  const { api, cli } = await signedIn()
  const shown = anOffer({
    price: { amount: '0.05', currency: 'EUR', basis: 'compute_unit' },
    access_address: address,
    proven_at: '2026-11-20T08:00:00.000Z',
    in_use: true,
  })
  api.on(offerGet, () => shown)
  const { out } = await cli.run('offer show web')
  for (const line of [
    /^Price +0\.05 EUR per CU and hour$/m,
    /^Total +0\.80 EUR per hour$/m,
    /^Compute units +16$/m,
    /^Memory +64 GiB$/m,
    /^Access +in use, last proved /m,
  ])
    expect(out).toMatch(line)
  expect(await cli.run('offer show nobody')).toMatchObject({
    exit: 5,
    err: expect.stringContaining('There is no offer of a cluster nobody') as string,
  })
})

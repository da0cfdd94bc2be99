import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import {
  AccessAddress,
  addressCommand,
  canBecomeOffer,
  canHaveResources,
  canProve,
  changedResources,
  hourlyTotalOf,
  OfferId,
  type OfferStatus,
  offerStatuses,
  proofMessage,
  resourcesOf,
} from './offers.ts'

const gib = 1024 ** 3
const server = (cores: number, memoryGib: number, diskBytes: number) => ({
  processors: [{ cpu_cores: cores }],
  memory: [{ size: memoryGib * gib }],
  disks: [{ size: diskBytes }],
})
const offerId = `0x${'9f'.repeat(32)}`
const chainAddress = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const tool = {
  address_command:
    'steelyard offer set-access-address --offer-id {offerId} --address {chainAddress}',
}

test('the resources of an offer are the sums of its servers, with compute units counted per server', () => {
  // The first server has memory for 16 units, the second has cores for 32.
  expect(resourcesOf([server(32, 64, 1e12), server(32, 512, 2e12)])).toEqual({
    servers: 2,
    unknown_servers: 0,
    compute_units: 48,
    vcpu: 128,
    memory_bytes: 576 * gib,
    disk_bytes: 3e12,
  })
})

test('if the hardware of a server is unknown, the sums are unknown and never 0', () => {
  expect(resourcesOf([server(32, 64, 1e12), null])).toEqual({
    servers: 2,
    unknown_servers: 1,
    compute_units: null,
    vcpu: null,
    memory_bytes: null,
    disk_bytes: null,
  })
  expect(resourcesOf([{ ...server(8, 32, 0), disks: [] }])).toMatchObject({
    compute_units: 8,
    disk_bytes: null,
    unknown_servers: 0,
  })
})

test('the difference of resources names the amounts that changed', () => {
  const before = resourcesOf([server(32, 64, 1e12)])
  expect(changedResources(before, before)).toEqual([])
  expect(changedResources(before, resourcesOf([server(32, 128, 1e12)]))).toEqual([
    'compute_units',
    'memory_bytes',
  ])
  expect(changedResources(before, resourcesOf([null]))).toEqual([
    'unknown_servers',
    'compute_units',
    'vcpu',
    'memory_bytes',
    'disk_bytes',
  ])
})

const offer = {
  cluster: { id: '0198c0de-0000-7000-8000-000000000001', name: 'web' },
  price: { amount: '0.05', currency: 'EUR', basis: 'compute_unit' as const },
  resources: resourcesOf([server(32, 64, 1e12)]),
  access_address: chainAddress,
}

test('an offer is drafted, listed, withdrawn and listed again, and never becomes a draft again', () => {
  const allowed = offerStatuses.flatMap((from) =>
    offerStatuses
      .filter((to) => canBecomeOffer({ ...offer, status: from }, to).ok)
      .map((to) => `${from} ${to}`),
  )
  expect(allowed).toEqual([
    'draft listed',
    'draft withdrawn',
    'listed withdrawn',
    'withdrawn listed',
  ])
  expect(canBecomeOffer({ ...offer, status: 'listed' }, 'listed')).toEqual({
    ok: false,
    reason: 'The offer is listed already',
  })
})

test.each([
  ['without a cluster', { cluster: null }, /cluster of this offer was removed/],
  ['without a price', { price: null }, /^Set a price first$/],
  ['with unknown hardware', { resources: resourcesOf([null]) }, /hardware of 1 server is unknown/],
])('an offer %s cannot be listed, but can be withdrawn', (_name, more, reason) => {
  const draft = { ...offer, status: 'draft' as OfferStatus, ...more }
  expect(canBecomeOffer(draft, 'listed')).toMatchObject({
    ok: false,
    reason: expect.stringMatching(reason) as string,
  })
  expect(canBecomeOffer(draft, 'withdrawn').ok).toBe(true)
})

test('a listed offer never gets unknown resources, but a draft and a withdrawn one do', () => {
  const unknown = resourcesOf([server(32, 64, 1e12), null])
  expect(offerStatuses.filter((status) => canHaveResources({ status }, unknown).ok)).toEqual([
    'draft',
    'withdrawn',
  ])
  expect(canHaveResources({ status: 'listed' }, offer.resources).ok).toBe(true)
})

test('software can act only for an offer with a cluster and an access address that is not withdrawn', () => {
  expect(canProve({ ...offer, status: 'draft' }).ok).toBe(true)
  expect(canProve({ ...offer, status: 'withdrawn' }).ok).toBe(false)
  expect(canProve({ ...offer, status: 'listed', access_address: null }).ok).toBe(false)
  expect(canProve({ ...offer, status: 'listed', cluster: null }).ok).toBe(false)
})

test('the total of an hour is the price times the priced units', () => {
  expect(hourlyTotalOf(offer)).toBe('0.8')
  expect(hourlyTotalOf({ ...offer, price: null })).toBeNull()
  expect(hourlyTotalOf({ ...offer, resources: resourcesOf([null]) })).toBeNull()
})

const broken: readonly [string, { offerId: string | null; chainAddress: string | null }][] = [
  ['no offer', { offerId: null, chainAddress }],
  ['no address', { offerId, chainAddress: null }],
  ['an offer id that is one digit short', { offerId: offerId.slice(0, -1), chainAddress }],
  ['an address that is one digit short', { offerId, chainAddress: chainAddress.slice(0, -1) }],
  ['a line break after the address', { offerId, chainAddress: `${chainAddress}\n` }],
  ['a second command after the offer id', { offerId: `${offerId}\nrm -rf ~`, chainAddress }],
  ['an escape sequence', { offerId: `\u001b[8m${offerId}`, chainAddress }],
  ['a quote', { offerId, chainAddress: `${chainAddress}'` }],
]

test('the command for the access address contains both values in full', () => {
  expect(addressCommand(tool, { offerId, chainAddress })).toBe(
    `steelyard offer set-access-address --offer-id ${offerId} --address ${chainAddress}`,
  )
})

test.each(broken)('no command is made with %s', (_name, key) => {
  expect(addressCommand(tool, key)).toBeNull()
})

test.each(broken.slice(2))('the schemas refuse %s', (_name, key) => {
  expect(
    z.safeParse(OfferId, key.offerId).success &&
      z.safeParse(AccessAddress, key.chainAddress).success,
  ).toBe(false)
})

test('the signed message names the offer, the address and the nonce, each on its own line', () => {
  expect(proofMessage({ offerId, address: chainAddress, nonce: 'n' })).toBe(
    `Steelyard proof of possession\nOffer: ${offerId}\nAddress: ${chainAddress}\nNonce: n`,
  )
})

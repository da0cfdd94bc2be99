import { expect, test } from 'vitest'
import { recognise } from './recognise.ts'
import type { ServerRow } from '../store.ts'

const identity = {
  uuid: 'aaaaaaaa-0000-4000-8000-000000000001',
  serial: 'S1',
  manufacturer: 'Supermicro',
  product: 'AS-1115CS',
}
const server = (change: Partial<ServerRow>): ServerRow =>
  ({
    name: 'calm-oak-001',
    uuid: identity.uuid,
    serial: 'S1',
    address: '10.0.0.5',
    cluster_id: null,
    cluster_name: null,
    identity_mac: null,
    hardware: null,
    ...change,
  }) as ServerRow
const candidate = {
  address: '10.0.0.5',
  identity,
  macs: ['aa:00:00:00:00:01'],
  elsewhere: { address: '10.0.0.5', answers: false },
  addresses: ['10.0.0.5'],
}

test('an unknown machine is new', () => {
  expect(recognise([], candidate)).toEqual({ kind: 'new', identityMac: null, note: null })
})

test('a known machine is recognised at any of its addresses', () => {
  expect(recognise([server({})], candidate)).toMatchObject({
    kind: 'known',
    sentence: 'Registered already as calm-oak-001',
  })
  const elsewhere = { ...candidate, address: '10.0.1.5', addresses: ['10.0.0.5', '10.0.1.5'] }
  expect(recognise([server({})], elsewhere)).toMatchObject({
    kind: 'known',
    sentence: 'Registered already as calm-oak-001, which is reached at 10.0.0.5',
  })
})

test('a known machine that answers only at a new address counts as moved', () => {
  expect(
    recognise([server({})], { ...candidate, address: '10.0.0.9', addresses: ['10.0.0.9'] }),
  ).toMatchObject({
    kind: 'moved',
    sentence: 'calm-oak-001 has moved from 10.0.0.5 to 10.0.0.9',
  })
})

test('a known machine at a new address does not count as moved before its old address was contacted', () => {
  for (const address of [null, '10.0.0.7'])
    expect(
      recognise([server({})], {
        ...candidate,
        address: '10.0.0.9',
        addresses: ['10.0.0.9'],
        elsewhere: { address, answers: true },
      }),
    ).toEqual({
      kind: 'unasked',
    })
})

test('other hardware at a known address is not that server', () => {
  const found = recognise(
    [server({ uuid: 'bbbbbbbb-0000-4000-8000-000000000002', serial: 'S2' })],
    candidate,
  )
  expect(found).toMatchObject({
    kind: 'other',
    sentence: expect.stringContaining(
      'Other hardware answers at the address of calm-oak-001: AS-1115CS, UUID aaaaaaaa',
    ),
  })
})

test('a machine that says that it is a server that answers elsewhere only claims that', () => {
  expect(
    recognise([server({})], {
      ...candidate,
      address: '10.0.0.9',
      addresses: ['10.0.0.9'],
      elsewhere: { address: '10.0.0.5', answers: true },
    }),
  ).toMatchObject({ kind: 'claims', sentence: expect.stringContaining('Two machines') })
})

/** Hardware with one port. */
const portOf = (mac: string) => ({ interfaces: [{ id: 'eth0', hardware_addr: mac }] }) as never
const member = { cluster_id: 'c', cluster_name: 'web', name: 'tall-fern-375' } as const

test.each([
  ['the same serial number and the same ports', {}, portOf('aa:00:00:00:00:01')],
  ['the same serial number, and unknown ports', { macs: [] }, portOf('aa:00:00:00:00:02')],
  ['the same serial number, and a record without ports', {}, null],
])(
  'case 03: a machine elsewhere with the UUID of a member and %s claims to be it, and does not count as moved',
  (_what, seen, hardware) => {
    expect(
      recognise([server({ ...member, hardware })], {
        ...candidate,
        ...seen,
        address: '10.0.0.9',
        addresses: ['10.0.0.9'],
      }),
    ).toMatchObject({
      kind: 'claims',
      sentence: expect.stringContaining('which is in the cluster web'),
    })
  },
)

test.each([
  ['another serial number', { serial: 'OTHER1' }, null, 'serial S1', null],
  ['no serial number', { serial: '' }, null, 'serial S1', null],
  [
    'the same serial number and other ports',
    {},
    portOf('aa:00:00:00:00:02'),
    'other MAC addresses',
    'aa:00:00:00:00:01',
  ],
])(
  'case 03: a machine with the UUID of a member and %s is another server, which a user must look at',
  (_what, own, hardware, because, identityMac) => {
    expect(
      recognise([server({ ...member, hardware })], {
        ...candidate,
        identity: { ...identity, ...own },
        address: '10.0.0.9',
        addresses: ['10.0.0.9'],
      }),
    ).toEqual({
      kind: 'new',
      identityMac,
      note: expect.stringMatching(
        `^A second machine has the UUID of tall-fern-375, which is in the cluster web: .* answered at 10.0.0.9, tall-fern-375 has ${because}`,
      ),
    })
  },
)

test('two free boards with an honest UUID are two servers, and only the second one is in doubt', () => {
  expect(
    recognise([server({ serial: 'A-1' })], {
      ...candidate,
      identity: { ...identity, serial: 'A-2' },
      address: '10.0.0.9',
    }),
  ).toMatchObject({ kind: 'new', note: expect.stringContaining('calm-oak-001 has serial A-1') })
})

test.each([
  ['zeros', '00000000-0000-0000-0000-000000000000', 'REALSERIAL1', null],
  [
    'zeros and a default as serial number',
    '00000000-0000-0000-0000-000000000000',
    'To Be Filled By O.E.M.',
    'aa:00:00:00:00:01',
  ],
  [
    "the default of AMI's firmware",
    '03000200-0400-0500-0006-000700080009',
    'Default string',
    'aa:00:00:00:00:01',
  ],
  ['ones', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '0123456789', 'aa:00:00:00:00:01'],
  ['one byte sixteen times', 'fefefefe-fefe-fefe-fefe-fefefefefefe', 'R-9', null],
])(
  'case 27: a board with a UUID of %s is told apart from another one, without doubt about either',
  (_what, uuid, serial, identityMac) => {
    const board = { ...candidate, address: '10.0.0.9', identity: { ...identity, uuid, serial } }
    const other = server({
      uuid,
      serial: identityMac === null ? 'To Be Filled By O.E.M.' : serial,
      identity_mac: 'aa:00:00:00:00:02',
    })
    expect(recognise([other], board)).toEqual({ kind: 'new', identityMac, note: null })
    const same = server({ uuid, serial, identity_mac: identityMac, address: '10.0.0.9' })
    expect(recognise([other, same], board)).toMatchObject({ kind: 'known', server: same })
    // The address of the other one was given to this one.
    expect(recognise([other], { ...board, address: other.address })).toMatchObject({
      kind: 'other',
    })
  },
)

test('case 27: a board without anything of its own is not registered, and the sentence says why', () => {
  expect(
    recognise([], {
      ...candidate,
      macs: [],
      identity: { ...identity, uuid: '00000000-0000-0000-0000-000000000000', serial: 'None' },
    }),
  ).toMatchObject({
    kind: 'anonymous',
    sentence: expect.stringContaining('reports no MAC address'),
  })
})

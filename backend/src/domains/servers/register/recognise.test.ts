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
    ...change,
  }) as ServerRow
const candidate = {
  address: '10.0.0.5',
  identity,
  fingerprint: 'f',
  elsewhere: { address: '10.0.0.5', answers: false },
  addresses: ['10.0.0.5'],
}

test('an unknown machine is new', () => {
  expect(recognise([], candidate)).toEqual({ kind: 'new' })
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

test('other hardware at a known address raises an alarm', () => {
  const found = recognise(
    [server({ uuid: 'bbbbbbbb-0000-4000-8000-000000000002', serial: 'S2' })],
    candidate,
  )
  expect(found).toMatchObject({
    kind: 'alarm',
    sentence: expect.stringContaining(
      'Other hardware answers at the address of calm-oak-001: AS-1115CS, UUID aaaaaaaa',
    ),
  })
})

test('a known UUID with another serial number, or at two answering addresses, raises an alarm', () => {
  expect(recognise([server({ serial: 'S2' })], candidate)).toMatchObject({
    kind: 'alarm',
    sentence: expect.stringContaining('A second machine has the UUID of calm-oak-001'),
  })
  expect(
    recognise([server({})], {
      ...candidate,
      address: '10.0.0.9',
      addresses: ['10.0.0.9'],
      elsewhere: { address: '10.0.0.5', answers: true },
    }),
  ).toMatchObject({
    kind: 'alarm',
    sentence: expect.stringContaining('Two machines'),
  })
})

test('a machine of a cluster that answers in maintenance mode at another address raises an alarm and does not count as moved', () => {
  const found = recognise([server({ cluster_id: 'c', cluster_name: 'prod' })], {
    ...candidate,
    address: '10.0.0.9',
    addresses: ['10.0.0.9'],
  })
  expect(found).toMatchObject({
    kind: 'alarm',
    sentence: expect.stringContaining('which is in the cluster prod'),
  })
})

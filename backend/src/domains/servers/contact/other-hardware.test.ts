import { expect, test } from 'vitest'
import { answered, claimed, otherHardwareReason } from './other-hardware.ts'

const found = { uuid: 'u2', serial: 'S2', manufacturer: '', product: 'Box' }
const at = new Date('2026-11-27T00:00:00Z')
const member = {
  cluster_id: 'c',
  status: 'ready',
  identity_state: 'confirmed',
  reachable: true,
} as const
const note = expect.stringContaining('Box, UUID u2, serial S2')

test('a machine in maintenance at the address of a member adds only a note', () => {
  expect(answered(member, { found, at, isProven: false, isSilent: false })).toEqual({
    seen_uuid: 'u2',
    seen_serial: 'S2',
    identity_note: note,
  })
})

test('a member that is silent while another machine answers is unreachable, with that reason', () => {
  expect(answered(member, { found, at, isProven: false, isSilent: true })).toMatchObject({
    reachable: false,
    unreachable_since: at,
    reason: otherHardwareReason,
  })
  expect(answered(member, { found, at, isProven: false, isSilent: true })).not.toHaveProperty(
    'identity_state',
  )
})

test.each([
  ['that has a certificate of the cluster', member, true],
  [
    'at the address of a free server',
    { ...member, cluster_id: null, status: 'maintenance' },
    false,
  ],
  ['at the address of a joining server', { ...member, status: 'maintenance' }, false],
] as const)('other hardware %s takes the server out of use', (_what, row, isProven) => {
  expect(answered(row, { found, at, isProven, isSilent: false })).toMatchObject({
    identity_state: 'changed',
    identity_since: at,
    identity_note: note,
    reachable: false,
  })
})

test('a claim does not replace what is known of other hardware at the address', () => {
  expect(claimed(member, found, 'It says so')).toMatchObject({ identity_note: 'It says so' })
  expect(claimed({ identity_state: 'changed' }, found, 'It says so')).toEqual({})
})

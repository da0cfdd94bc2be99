import { expect, test } from 'vitest'
import type { Server } from '#contract/servers/servers.ts'
import { identityAlarm } from './identity-alarm.ts'

const identity: Server['identity'] = {
  state: 'changed',
  uuid: 'u1',
  serial: 's1',
  fingerprint: null,
  since: '2026-11-20T12:00:00Z',
  seen: { uuid: 'u2', serial: 's2' },
  note: 'Other.',
}
const server = (
  change: Partial<Server['identity']>,
  more: Partial<Pick<Server, 'status' | 'cluster'>> = {},
) => ({
  name: 'amber-falcon-204',
  status: 'maintenance' as const,
  cluster: null,
  ...more,
  identity: { ...identity, ...change },
})
const claims = (s: ReturnType<typeof server>) =>
  identityAlarm(s)?.claims.map(({ uuid, serial }) => `${uuid}/${serial}`)

test('a confirmed or removed server needs no action', () => {
  expect(identityAlarm(server({ state: 'confirmed', seen: null }))).toBeNull()
  expect(identityAlarm(server({}, { status: 'deleted' }))).toBeNull()
})

test('a server added by address is confirmed with the hardware that it reported', () => {
  expect(identityAlarm(server({ state: 'unconfirmed', note: null, seen: null }))).toMatchObject({
    tone: 'warn',
    title: 'This server has not been confirmed yet.',
    steps: [],
  })
  expect(claims(server({ state: 'announced', seen: null }))).toEqual(['u1/s1'])
})

test('if other hardware answers, a user can keep the known hardware or accept the other', () => {
  expect(identityAlarm(server({}))).toMatchObject({
    tone: 'danger',
    title: 'Other hardware answered here.',
    text: 'Other.',
  })
  expect(claims(server({}))).toEqual(['u1/s1', 'u2/s2'])
})

test("in a cluster, other hardware can't replace the known hardware", () => {
  const inCluster = server({}, { status: 'ready', cluster: { id: 'c', name: 'poz-01' } })
  expect(claims(inCluster)).toEqual(['u1/s1'])
  expect(identityAlarm(inCluster)?.steps.at(-1)).toContain('Replace the server in poz-01')
})

test('a board that differs only in its MAC addresses can be kept out, but not accepted', () => {
  expect(claims(server({ seen: { uuid: 'u1', serial: 's1' } }))).toEqual(['u1/s1'])
})

test('a machine that says that it is a member changes nothing, and the alarm can be ended', () => {
  const seen = { uuid: 'u1', serial: 's1' }
  const inCluster = { status: 'ready', cluster: { id: 'c', name: 'poz-01' } } as const
  const alarm = identityAlarm(server({ state: 'confirmed', seen }, inCluster))
  expect(alarm).toMatchObject({
    tone: 'warn',
    title: 'Another machine says that it is amber-falcon-204.',
    claims: [{ label: 'End the alarm', uuid: 'u1', serial: 's1' }],
  })
  expect(identityAlarm(server({ state: 'confirmed' }, inCluster))).toMatchObject({
    tone: 'warn',
    title: 'Another machine answers at the address of amber-falcon-204.',
    steps: [
      'Give the address back to amber-falcon-204, or switch the other machine off.',
      'Then end this alarm. It comes back if such a machine answers again.',
    ],
  })
})

test('if nothing is known about the answering hardware, the only choice is to keep the known one', () => {
  expect(identityAlarm(server({ seen: null }))?.title).toBe('Other hardware answered here.')
  expect(claims(server({ seen: null }))).toEqual(['u1/s1'])
})

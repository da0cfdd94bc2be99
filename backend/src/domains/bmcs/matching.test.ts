import { expect, test } from 'vitest'
import { uuidsOf } from '#redfish/identity.ts'
import type { MarkedServer } from '../servers/api.ts'
import { matchOf } from './matching.ts'

const uuid = '38947555-7742-3448-3784-823347823834'
const turned = '55759438-4277-4834-3784-823347823834'
const marks = { uuids: uuidsOf(uuid), serials: ['S1'], macs: ['12:44:6a:3b:04:11'] }
const server = (id: string, more: Partial<MarkedServer>): MarkedServer => ({
  id,
  name: id,
  bmc_id: null,
  uuids: [],
  serials: [],
  macs: [],
  ...more,
})

test('two of three marks are the server, in either byte order', () => {
  for (const text of [uuid, turned, uuid.toUpperCase()])
    expect(
      matchOf('b', marks, [server('a', { uuids: uuidsOf(text), serials: ['S1'] })]),
    ).toMatchObject({ kind: 'server', server: { id: 'a' } })
  expect(
    matchOf('b', marks, [server('a', { serials: ['s1'], macs: ['12:44:6A:3B:04:11'] })]),
  ).toMatchObject({ kind: 'server' })
})

test('one of three is a doubt that a user decides, and none is a new box', () => {
  expect(matchOf('b', marks, [server('a', { serials: ['S1'] })])).toMatchObject({
    kind: 'doubt',
    candidates: [{ id: 'a', agrees: ['serial'] }],
    reason: 'Only one mark agrees with a: decide whether it is that server or a new box',
  })
  expect(matchOf('b', marks, [])).toEqual({ kind: 'new' })
})

test('a server with another BMC, or two that agree, are doubts', () => {
  const twin = { uuids: uuidsOf(uuid), serials: ['S1'] }
  expect(matchOf('b', marks, [server('a', { ...twin, bmc_id: 'other' })])).toMatchObject({
    kind: 'doubt',
    reason: 'a has another BMC already: decide which of the two it is',
  })
  expect(matchOf('b', marks, [server('a', { ...twin, bmc_id: 'b' })])).toMatchObject({
    kind: 'server',
  })
  expect(matchOf('b', marks, [server('a', twin), server('c', twin)])).toMatchObject({
    kind: 'doubt',
    candidates: [{ id: 'a' }, { id: 'c' }],
  })
})

test('zeros, ones and other texts are no UUID', () => {
  for (const text of [null, '', '0'.repeat(32), 'f'.repeat(32), 'To be filled by O.E.M.'])
    expect(uuidsOf(text)).toEqual([])
  expect(uuidsOf(uuid)).toEqual([uuid, turned])
})

import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import type { Subnet } from '#contract/network/subnets.ts'
import {
  changesOf,
  commandOf,
  correctedOf,
  differences,
  Draft,
  draftOf,
  emptyDraft,
  merged,
  pieceText,
  readForm,
  spaceOf,
  type SubnetDraft,
  toExclude,
  toSend,
  withExclusion,
} from './subnet-form.ts'

const id = '00000000-0000-4000-8000-000000000001'
const good: SubnetDraft = {
  ...emptyDraft,
  name: 'poz-public-b',
  datacenter_id: id,
  cidr: '198.18.7.0/26',
  gateway: '198.18.7.1',
  vlan_id: '214',
  exclude: '198.18.7.2-198.18.7.9\n\n',
}
const stored = {
  id,
  name: 'poz-public-b',
  type: 'IPv4',
  cidr: '198.18.7.0/26',
  gateway: '198.18.7.1',
  vlan_id: 214,
  exclude: ['198.18.7.2-198.18.7.9'],
  first_and_last: false,
  purpose: 'workload',
  datacenter: { id, code: 'PL-POZ-1' },
  clusters: [],
  status: 'unassigned',
  reason: null,
  total: 53,
  used: 0,
  observed_at: null,
  version: 3,
  created_at: '2026-11-20T10:00:00Z',
  updated_at: '2026-11-20T10:00:00Z',
} satisfies Subnet

test('a valid form is sent in the format of the API', () => {
  expect(correctedOf(good)).toBe(null)
  expect(readForm(good)).toEqual({ ok: true, body: toSend(good) })
  expect(toSend(good)).toEqual({
    name: 'poz-public-b',
    datacenter_id: id,
    cidr: '198.18.7.0/26',
    gateway: '198.18.7.1',
    vlan_id: 214,
    exclude: ['198.18.7.2-198.18.7.9'],
    first_and_last: false,
    purpose: 'workload',
  })
})

const problemsOf = (draft: SubnetDraft) => {
  const read = readForm(draft)
  return read.ok ? {} : read.fields
}

test('all invalid fields are reported together, with the messages of the rules', () => {
  expect(
    problemsOf({
      ...emptyDraft,
      vlan_id: '5000',
      cidr: '10.0.0.0/24',
      gateway: '10.0.0.255',
      exclude: '10.0.0.1\nx',
    }),
  ).toEqual({
    name: 'Subnet name must be at least 1 character',
    datacenter_id: 'Choose a datacenter',
    vlan_id: 'VLAN ID must be a whole number from 1 to 4094',
    gateway: 'Gateway cannot be the network or broadcast address',
    exclude: 'Line 2: "x" is not an IP address, CIDR or range',
  })
  expect(problemsOf({ ...good, vlan_id: 'a' })).toEqual({
    vlan_id: 'VLAN ID must be a whole number from 1 to 4094',
  })
  expect(problemsOf({ ...good, cidr: '' })).toEqual({ cidr: 'CIDR is required' })
})

test('a CIDR with host bits is refused, and the network is suggested', () => {
  const typed = { ...good, cidr: '198.18.7.5/26', gateway: '' }
  expect(problemsOf(typed)).toEqual({
    cidr: '198.18.7.5/26 is not a network address. Did you mean 198.18.7.0/26?',
  })
  expect(correctedOf(typed)).toBe('198.18.7.0/26')
})

test('the server address in an error of the API can be added to the exclusions', () => {
  expect(
    toExclude('Contains 10.0.0.5, the address of server amber-falcon-204. Exclude it first'),
  ).toBe('10.0.0.5')
  expect(toExclude('Overlaps with subnet a (10.0.0.0/8) in PL-POZ-1')).toBe(null)
  expect([withExclusion('', '10.0.0.5'), withExclusion('10.0.0.2\n', '10.0.0.5')]).toEqual([
    '10.0.0.5',
    '10.0.0.2\n10.0.0.5',
  ])
})

test('the preview shows the usable addresses as ranges', () => {
  const space = spaceOf(good)!
  expect([space.type, space.total, space.pieces.map(pieceText), space.warnings]).toEqual([
    'IPv4',
    53n,
    ['198.18.7.10–198.18.7.62'],
    [],
  ])
  expect(
    spaceOf({ ...good, cidr: '2001:db8::/64', gateway: '', exclude: '', vlan_id: '1' })!.warnings,
  ).toHaveLength(2)
  expect(spaceOf({ ...good, gateway: '10.0.0.1' })).toBe(null)
})

test('only changed fields are sent', () => {
  expect(changesOf(toSend(draftOf(stored)), stored)).toEqual({})
  expect(
    changesOf(
      toSend({ ...draftOf(stored), vlan_id: '', exclude: '', first_and_last: true }),
      stored,
    ),
  ).toEqual({
    vlan_id: null,
    exclude: [],
    first_and_last: true,
  })
})

test('the form is shown as a CLI command', () => {
  expect(
    commandOf(
      { ...good, exclude: '198.18.7.2, 198.18.7.4', purpose: 'management', first_and_last: true },
      'PL-POZ-1',
      null,
    ),
  ).toBe(
    'steelyard subnet add poz-public-b --cidr 198.18.7.0/26 --datacenter PL-POZ-1 --gateway 198.18.7.1 --vlan 214 --exclude 198.18.7.2 --exclude 198.18.7.4 --first-and-last --purpose management',
  )
  expect(
    commandOf({ ...draftOf(stored), name: 'poz-c', gateway: '', exclude: '' }, 'PL-POZ-1', stored),
  ).toBe('steelyard subnet edit poz-public-b --name poz-c --no-gateway --no-exclusions')
})

test('if two users change different fields, both changes are kept', () => {
  const was = draftOf(stored)
  const theirs = { ...was, name: 'poz-theirs', vlan_id: '7' }
  const mine = { ...was, vlan_id: '8', gateway: '' }
  expect(differences(was, theirs, mine)).toEqual([
    {
      field: 'name',
      label: 'Name',
      was: 'poz-public-b',
      theirs: 'poz-theirs',
      mine: 'poz-public-b',
    },
    { field: 'vlan_id', label: 'VLAN ID', was: '214', theirs: '7', mine: '8' },
  ])
  expect(merged(was, theirs, mine)).toEqual({
    ...was,
    name: 'poz-theirs',
    vlan_id: '8',
    gateway: '',
  })
})

test('a stored draft that does not match the schema is not restored', () => {
  expect(z.safeParse(Draft, { ...good, base: 3 }).data).toEqual(good)
  expect(z.safeParse(Draft, { ...good, vlan_id: 7, base: null }).success).toBe(false)
})

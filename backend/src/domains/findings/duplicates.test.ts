import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { findingList } from '#contract/findings/findings.ts'
import type { HardwareLink } from '../../db/columns.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

const backend = await startBackend()
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const { db } = backend.platform
const { clock } = backend
const { findings } = backend.domains

const datacenter = async (city: string) =>
  db
    .insertInto('datacenter')
    .values({
      country_code: 'DE',
      city_code: city,
      city_name: city,
      index: 1,
      created_at: new Date(clock.now()),
      updated_at: new Date(clock.now()),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
const [fra, ber] = [(await datacenter('FRA')).id, (await datacenter('BER')).id]

interface Port {
  readonly name?: string
  readonly mac?: string
  readonly driver?: string
  readonly addresses?: readonly string[]
  readonly isVirtual?: boolean
}
/** The hardware that a machine reports; `hidden`: addresses that Talos counts to Kubernetes. */
const hardware = (ports: readonly Port[], hidden: readonly string[] = []) =>
  JSON.stringify({
    processors: [],
    memory: [],
    disks: [],
    interfaces: ports.flatMap(({ name: id = 'enp1s0', mac: hardware_addr, driver, isVirtual }) =>
      isVirtual === true || hardware_addr === undefined ? [] : [{ id, hardware_addr, driver }],
    ),
    addresses: ports
      .flatMap(({ addresses = [] }) => addresses.map((a) => a.split('/', 1)[0]!))
      .filter((address) => !hidden.includes(address)),
    links: ports.map(({ name = 'enp1s0', mac = null, addresses = [], isVirtual = false }) => ({
      name,
      up: true,
      physical: !isVirtual,
      hardware_addr: isVirtual ? null : mac,
      addresses,
    })) satisfies HardwareLink[],
    routes: [],
  })
const add = (
  name: string,
  ports: readonly Port[],
  { hidden = [], ...columns }: { hidden?: readonly string[]; [column: string]: unknown } = {},
) =>
  buildServer(backend, {
    name,
    reachable: true,
    datacenter_id: fra,
    hardware: hardware(ports, hidden),
    ...columns,
  })
/** What is found of servers whose names begin so, as `NAME KIND: SENTENCE`. */
const found = async (start: string) => {
  await findings.judge()
  const { answer } = await viewer.call(findingList, { query: { per_page: 100 } })
  return answer!.items
    .filter(({ object }) => object.name.startsWith(start))
    .map(({ object, kind, reason }) => `${object.name} ${kind}: ${reason}`)
    .toSorted()
}
const change = (name: string, columns: object) =>
  db.updateTable('server').set(columns).where('name', '=', name).execute()

const macAdvice =
  'In one network, switches send frames to one of them at a time. Give one of them another MAC, or remove a server that is recorded twice.'
const addressAdvice = 'Connections reach one of them at a time. Give one of them another address.'

test('servers with one MAC show each other, in any datacenter, until one of them has another', async () => {
  await add('mac-1', [{ mac: '94:6d:ae:00:00:01' }])
  await add('mac-2', [{ name: 'eno1', mac: '94:6d:ae:00:00:01' }], { datacenter_id: ber })
  expect(await found('mac-')).toEqual([
    `mac-1 server_mac_duplicate: Its MAC 94:6d:ae:00:00:01 of enp1s0 is also that of mac-2 (eno1) in DE-BER-1. ${macAdvice}`,
    `mac-2 server_mac_duplicate: Its MAC 94:6d:ae:00:00:01 of eno1 is also that of mac-1 (enp1s0) in DE-FRA-1. ${macAdvice}`,
  ])
  await change('mac-2', { hardware: hardware([{ mac: '94:6d:ae:00:00:02' }]) })
  expect(await found('mac-')).toEqual([])
})

test('servers with one address show each other; a removed server has none', async () => {
  await add('ip-1', [{ addresses: ['10.5.0.1/24'] }])
  await add('ip-2', [{ name: 'bond0', addresses: ['10.5.0.1/16'], isVirtual: true }])
  expect(await found('ip-')).toEqual([
    `ip-1 server_address_duplicate: Its address 10.5.0.1 of enp1s0 is also that of ip-2 (bond0). ${addressAdvice}`,
    `ip-2 server_address_duplicate: Its address 10.5.0.1 of bond0 is also that of ip-1 (enp1s0). ${addressAdvice}`,
  ])
  await change('ip-2', { status: 'deleted', removed_at: new Date(clock.now()) })
  expect(await found('ip-')).toEqual([])
})

test('the address that Steelyard dials is one server’s everywhere, other addresses in its datacenter', async () => {
  await add('dial-1', [{ addresses: ['10.6.0.1/24'] }], { address: '10.6.1.1' })
  await add('dial-2', [{ addresses: ['10.6.0.1/24'] }], { address: '10.6.1.2', datacenter_id: ber })
  expect(await found('dial-')).toEqual([])
  await change('dial-2', { address: '10.6.1.1' })
  expect(await found('dial-')).toEqual([
    `dial-1 server_address_duplicate: Its address 10.6.1.1 is also that of dial-2 in DE-BER-1. ${addressAdvice}`,
    `dial-2 server_address_duplicate: Its address 10.6.1.1 is also that of dial-1 in DE-FRA-1. ${addressAdvice}`,
  ])
})

test.each<[string, readonly Port[], Parameters<typeof add>[2]?]>([
  ['the MAC of a port that a bond of the same server has', [{ mac: '94:6d:ae:01:00:01' }]],
  ['a MAC of zeros', [{ mac: '00:00:00:00:00:00' }]],
  ['the MAC of a group', [{ mac: 'ff:ff:ff:ff:ff:ff' }]],
  ['the MAC of the USB link to its own BMC', [{ mac: '94:6d:ae:01:00:02', driver: 'cdc_ether' }]],
  ['an address of the loopback', [{ addresses: ['127.0.0.9/8', '::1/128'] }]],
  ['a link-local address', [{ addresses: ['169.254.1.1/16', 'fe80::1/64'] }]],
  ['a virtual address', [{ addresses: ['10.7.0.9/32', 'fd00::9/128'] }]],
  [
    'an address of pods',
    [{ name: 'cni0', addresses: ['10.244.0.1/24'], isVirtual: true }],
    { hidden: ['10.244.0.1'] },
  ],
  ['an address in no datacenter', [{ addresses: ['10.7.1.1/24'] }], { datacenter_id: null }],
])('%s is no duplicate', async (what, ports, columns) => {
  const start = `no-${what.replaceAll(/\W/g, '-')}-`
  await add(
    `${start}1`,
    [
      ...ports,
      ...ports.flatMap(({ mac }) =>
        mac === '94:6d:ae:01:00:01'
          ? [
              { name: 'enp2s0', mac },
              { name: 'bond0', mac, isVirtual: true },
            ]
          : [],
      ),
    ],
    columns,
  )
  if (!what.startsWith('the MAC of a port')) await add(`${start}2`, ports, columns)
  expect(await found(start)).toEqual([])
})

test('a MAC that was given locally may be in two datacenters, but not twice in one', async () => {
  await add('vm-1', [{ mac: '52:54:00:00:00:01' }])
  await add('vm-2', [{ mac: '52:54:00:00:00:01' }], { datacenter_id: ber })
  expect(await found('vm-')).toEqual([])
  await change('vm-2', { datacenter_id: fra })
  expect(await found('vm-')).toHaveLength(2)
})

test('what a silent server said of itself counts for a day', async () => {
  await add('old-1', [{ addresses: ['10.8.0.1/24'] }])
  await add('old-2', [{ addresses: ['10.8.0.1/24'] }])
  await change('old-2', { reachable: false, unreachable_since: new Date(clock.now()) })
  const both = () =>
    found('old-').then((all) => all.filter((one) => one.includes('server_address_duplicate')))
  expect(await both()).toHaveLength(2)
  clock.advance(24 * 3_600_000)
  expect(await both()).toEqual([])
})

test('a sentence names three servers and three values, and counts the rest', async () => {
  const macs = ['1', '2', '3', '4', '5'].map((n) => ({
    name: `enp${n}s0`,
    mac: `94:6d:ae:03:00:0${n}`,
  }))
  for (const n of [1, 2, 3, 4, 5]) await add(`many-${n}`, macs)
  const all = await found('many-')
  expect(all).toHaveLength(5)
  expect(all[0]).toContain(
    'Its MAC 94:6d:ae:03:00:01 of enp1s0 is also that of many-2 (enp1s0), many-3 (enp1s0), many-4 (enp1s0) and 1 more; MAC 94:6d:ae:03:00:02 ',
  )
  expect(all[0]).toContain('; 2 more MACs. In one network')
})

test('judging 300 servers with one MAC names three others in each sentence', async () => {
  await sql`insert into server (name, address, identity_state, identity_since, uuid, serial, created_at, updated_at, reachable, hardware)
    select 'flood-' || n, '10.9.' || n / 256 || '.' || n % 256, 'confirmed', now(), gen_random_uuid()::text, n::text, now(), now(), true,
      ${hardware([{ mac: '94:6d:ae:04:00:01' }])}::jsonb
    from generate_series(1, 300) as n`.execute(db)
  await findings.judge()
  const { answer } = await viewer.call(findingList, {
    query: { kind: 'server_mac_duplicate', q: 'flood-', per_page: 1 },
  })
  expect(answer!.total).toBe(300)
  expect(answer!.items[0]!.reason).toMatch(/ and 296 more\. /)
})

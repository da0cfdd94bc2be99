/**
 * Simulated servers boot with a token's kernel argument and announce themselves from their own
 * addresses, over real sockets in real time.
 */
import { describe, expect, test, vi } from 'vitest'
import { type Arrival, joinArgument, joinTokenRevoke } from '#contract/join-tokens.ts'
import {
  type Server,
  serverAdd,
  serverConfirm,
  serverEvents,
  serverRemove,
} from '#contract/servers/servers.ts'
import type { Simulator } from '#simulator/src/start.ts'
import { clearFaults } from '#simulator/src/machine/trouble.ts'
import { spread } from '../../../../tools/testing/length.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { type ClusterWorld, clusterWorld } from '../clusters/testing/world.ts'
import { patienceMs, wrongNameMs } from './arriving.ts'
import {
  again,
  type Announcement,
  announceTo,
  callAgain,
  identityOf,
  lookups,
  makeToken,
} from './testing.ts'

const world = await clusterWorld({ servers: 4, seed: 'joining' })
const { backend, simulator, datacenterId } = world
const until: ClusterWorld['until'] = (...asked) => world.until(...asked)
const { db } = backend.platform
const url = await backend.listen()
type Machine = Simulator['servers'][number]

const call = callAgain(backend, world.admin)
const make = (name: string, more: object = {}) => makeToken(call, name, more)
const lineOf = (token: string) => `talos.platform=metal console=tty0 ${joinArgument(url, token)}`
const boot = (
  token: string,
  more: Omit<Parameters<Simulator['boot']>[0], 'kernel_command_line'> = {},
) => simulator.boot({ kernel_command_line: lineOf(token), ...more })
const { arrivals, servers, serverOf, get, uses, audited } = lookups(backend, call)
const settled = (id: string, count: number): Promise<Arrival[]> =>
  until(
    () => arrivals(id),
    (all) => all.length >= count && all.every((a) => a.result !== 'waiting'),
  )
const announce = (...asked: Announcement) => announceTo(backend, ...asked)

test('four servers booted with the kernel argument are registered within 10 s, confirmed, in the right datacenter, with their hardware', async () => {
  const labels = { rack: '12' }
  const { id, token } = await make('rack-12', { datacenter_id: datacenterId, labels, max_uses: 4 })
  const machines = await boot(token, { count: 4 })
  const found = await until(
    () => Promise.all(machines.map(serverOf)),
    (all) => all.every((s) => s !== undefined),
  )
  for (const [i, server] of found.entries()) {
    const machine = machines[i]!
    expect(server).toMatchObject({
      status: 'maintenance',
      datacenter: { id: datacenterId },
      labels,
      nodeAddresses: [machine.plan.address],
      identity: {
        state: 'confirmed',
        ...identityOf(machine),
        note: 'Announced itself with the join token rack-12',
        fingerprint: expect.stringMatching(/=$/),
      },
      talos: { reachable: true, stage: 'maintenance' },
    })
    expect(server!.resources.processors.length).toBeGreaterThan(0)
    expect(server!.resources.disks.length).toBeGreaterThan(0)
    expect(server!.eligibility.filter((e) => !e.ok)).toEqual([])
    expect(machine.hostname).toMatch(/^sy-[0-9a-f]{20}$/)
  }
  expect(new Set(found.map((s) => s!.name)).size).toBe(4)
  expect(await uses(id)).toBe(4)
  const came = await settled(id, 4)
  expect(came.every((a) => a.result === 'joined' && a.reason === null)).toBe(true)
  expect(new Set(came.map((a) => a.server?.id))).toEqual(new Set(found.map((s) => s!.id)))
  for (const machine of machines)
    expect(came.find((a) => a.uuid === machine.disk.identity.uuid)).toMatchObject({
      address: machine.plan.address,
      mac: machine.managementLink.mac,
    })
  const entry = (await audited('server.added')).find((e) => e.target?.id === found[0]!.id)
  expect(entry).toMatchObject({
    actor: 'Steelyard',
    after: { join_token: 'rack-12', identity: { state: 'confirmed' } },
  })
  const { items } = (await call(serverEvents, { params: { id: found[0]!.id } })).answer!
  expect(items.map((e) => e.message)).toContain(
    'Registered: announced itself with the join token rack-12',
  )
})

longTest("a machine that can't be registered does not delay others", async () => {
  const { id, token } = await make('stumbles')
  const { servers: known } = backend.domains
  const machines = await boot(token, { count: 12 })
  const [bad] = machines.map((m) => m.disk.identity.uuid)
  const register = known.register.bind(known)
  const fault = vi.spyOn(known, 'register')
  fault.mockImplementation((tx, caller, found, ...more) =>
    found.identity.uuid === bad
      ? Promise.reject(new Error('as a fault would'))
      : register(tx, caller, found, ...more),
  )
  try {
    const rest = await until(
      () => arrivals(id),
      (all) =>
        all.length === 12 &&
        all.filter((a) => a.result === 'joined').length === 11 &&
        fault.mock.calls.filter(([, , f]) => f.identity.uuid === bad).length > 2,
    )
    expect(rest.find((a) => a.uuid === bad)!.result).toBe('waiting')
    // No run failed, since a failure would delay all arrivals of the same shard.
    const runs = await db
      .selectFrom('wake_up')
      .select('failures')
      .where('queue', '=', 'join')
      .execute()
    expect(runs.map((r) => r.failures)).toEqual(runs.map(() => 0))
  } finally {
    fault.mockRestore()
  }
  expect((await settled(id, 12)).every((a) => a.result === 'joined')).toBe(true)
})

test('a server that boots again is recognised without another use of the token or a second row, even with a used-up token', async () => {
  const { id, token } = await make('boots-again', { max_uses: 1 })
  const [machine] = (await boot(token)) as [Machine]
  const [first] = await settled(id, 1)
  const name = machine.hostname
  await again(machine)
  const seen = await until(
    () => arrivals(id),
    ([a]) => a!.result === 'joined' && a!.at > first!.at,
  )
  expect(seen).toMatchObject([
    {
      id: first!.id,
      server: first!.server,
      reason: `Registered already as ${first!.server!.name}`,
    },
  ])
  expect(machine.hostname).not.toBe(name)
  expect(await uses(id)).toBe(1)
  expect(await get(first!.server!.id)).toMatchObject({
    identity: { state: 'confirmed' },
    talos: { reachable: true },
  })
})

test('if a server returns at another address, its address is updated and a note is recorded', async () => {
  const { id, token } = await make('moves')
  const [machine] = (await boot(token)) as [Machine]
  const [first] = await settled(id, 1)
  const from = machine.plan.address
  const to = await simulator.move(machine)
  await again(machine)
  const server = await until(
    () => get(first!.server!.id),
    (s) => s.nodeAddresses.includes(to),
  )
  expect(server.identity).toMatchObject({
    state: 'confirmed',
    note: `${server.name} has moved from ${from} to ${to}`,
  })
  expect(await settled(id, 1)).toMatchObject([
    {
      id: first!.id,
      address: to,
      result: 'joined',
      reason: `${server.name} has moved from ${from} to ${to}`,
    },
  ])
  expect(await uses(id)).toBe(1)
  expect((await audited('server.moved')).some((e) => e.target?.id === server.id)).toBe(true)
})

longTest(
  'a machine without a serial number is registered with an empty serial number',
  async () => {
    const { id, token } = await make('no-serial')
    const [machine] = (await boot(token, { serial: '' })) as [Machine]
    expect(await settled(id, 1)).toMatchObject([
      { result: 'joined', serial: '', mac: machine.managementLink.mac },
    ])
    expect((await serverOf(machine))!.identity).toMatchObject({ state: 'confirmed', serial: '' })
    await again(machine)
    await until(
      () => arrivals(id),
      ([a]) => a!.reason?.startsWith('Registered already') === true,
    )
  },
)

longTest(
  'a removed server that announces itself again is a new server with a note about the removed one',
  async () => {
    const { id, token } = await make('removed')
    const [machine] = (await boot(token)) as [Machine]
    const [first] = await settled(id, 1)
    await call(serverRemove, { params: { id: first!.server!.id } })
    await again(machine)
    const server = await until(
      () => serverOf(machine),
      (s) => s !== undefined,
    )
    expect(server!.id).not.toBe(first!.server!.id)
    expect(server!.identity.note).toMatch(
      new RegExp(
        `^Announced itself with the join token removed\\. This machine was ${first!.server!.name}, which was removed on \\d{4}-\\d\\d-\\d\\d$`,
      ),
    )
    expect(await uses(id)).toBe(1)
  },
)

test('an announcement confirms a server that was added by address, but not a server that left a cluster', async () => {
  const { id, token } = await make('proof')
  const [one, two] = (await boot(token, { count: 2 })) as [Machine, Machine]
  await settled(id, 2)
  const [first, second] = [(await serverOf(one))!, (await serverOf(two))!]
  const doubt = (server: Server, note: string | null) =>
    db
      .updateTable('server')
      .set({ identity_state: 'unconfirmed', identity_note: note, version: server.version + 10 })
      .where('id', '=', server.id)
      .execute()
  await doubt(first, null)
  await doubt(second, 'Released from the cluster prod: confirm the hardware again')
  for (const machine of [one, two]) await again(machine)
  await until(
    () => get(first.id),
    (s) => s.identity.state === 'confirmed',
  )
  const before = Date.parse((await get(second.id)).created_at)
  await until(
    () => arrivals(id),
    (all) =>
      all.every((a) => a.result === 'joined' && Date.parse(a.at) > before && a.reason !== null),
  )
  expect((await get(second.id)).identity).toMatchObject({
    state: 'unconfirmed',
    note: 'Released from the cluster prod: confirm the hardware again',
  })
})

// Must run before the tests that advance the clock: certificates are backdated by five minutes
// only, and would not be valid yet.
test(
  'if a server of a cluster announces itself, it is recognised, and nothing changes',
  { timeout: 600_000 },
  async () => {
    const [node] = world.take(1) as [Server]
    const { operation, cluster } = await world.create([node])
    expect((await world.ended(operation.id)).status).toBe('done')
    const machine = world.machine(node)
    const { id, token } = await make('member')
    const before = await get(node.id)
    await announce(token, machine.plan.address, identityOf(machine))
    expect(await settled(id, 1)).toMatchObject([
      {
        result: 'joined',
        reason: `Recognised as ${node.name}, which is in the cluster ${cluster.name}`,
        server: { id: node.id },
      },
    ])
    expect(await get(node.id)).toMatchObject({
      status: 'ready',
      cluster: { id: cluster.id },
      identity: before.identity,
    })
    // An announcement in the server's name from another address fails and changes nothing at the
    // server.
    await announce(token, simulator.servers[3]!.plan.address, identityOf(machine))
    expect(
      (await settled(id, 1)).find((a) => a.address === simulator.servers[3]!.plan.address),
    ).toMatchObject({ result: 'failed' })
    expect(await get(node.id)).toMatchObject({
      status: 'ready',
      cluster: { id: cluster.id },
      identity: before.identity,
    })
  },
)

describe('false announcements', () => {
  const lies = [
    [
      'another UUID',
      { uuid: '11111111-2222-4333-8444-555555555555' },
      'The machine that answers at',
    ],
    ['another serial', { serial: 'LIE-1' }, 'The machine that answers at'],
    [
      'another MAC address',
      { mac: '02:ff:ff:ff:ff:ff' },
      'The announced MAC address 02:ff:ff:ff:ff:ff is on no interface',
    ],
  ] as const
  test.each(spread(lies, 2))(
    'a server that announces %s than its API reports is not registered, and the mismatch is recorded',
    async (_what, lie, reason) => {
      const { id, token } = await make(`lie-${Object.keys(lie)[0]!}`)
      const [machine] = (await boot(token, { announce: lie })) as [Machine]
      expect(await settled(id, 1)).toMatchObject([
        {
          result: 'failed',
          reason: expect.stringContaining(reason),
          server: null,
          address: machine.plan.address,
        },
      ])
      expect(await serverOf(machine)).toBeUndefined()
      expect((await audited('join.failed')).find((e) => e.target?.id === id)).toMatchObject({
        result: 'identity_changed',
        target: { name: `lie-${Object.keys(lie)[0]!}` },
      })
    },
  )

  test('knowing UUID and serial of an existing machine is not enough: the machine must show the host name', async () => {
    const { id, token } = await make('no-name')
    // This machine has been in maintenance for a while, without the one-time host name.
    const machine = simulator.servers[2]!
    const server = (await serverOf(machine))!
    const other = await make('other')
    const [booted] = (await boot(other.token)) as [Machine]
    await settled(other.id, 1)
    const began = backend.clock.now()
    for (const m of [machine, booted]) await announce(token, m.plan.address, identityOf(m))
    await until(
      async () => {
        backend.clock.advance(1_000)
        return arrivals(id)
      },
      (all) => all.length === 2 && all.every((a) => a.result !== 'waiting'),
    )
    expect(backend.clock.now() - began).toBeGreaterThanOrEqual(wrongNameMs)
    for (const arrival of await settled(id, 2))
      expect(arrival).toMatchObject({
        result: 'failed',
        reason: expect.stringContaining('not the assigned one'),
        server: null,
      })
    expect((await get(server.id)).identity.note).toBe(server.identity.note)
  })

  test("if a machine's API never answers, its arrival fails after five minutes; after another boot the machine can still join", async () => {
    const { id, token } = await make('silent')
    const [machine] = (await boot(token, { faults: [{ kind: 'refuse', port: 'apid' }] })) as [
      Machine,
    ]
    await until(
      () => arrivals(id),
      (all) => all.length === 1,
    )
    backend.clock.advance(patienceMs)
    const [arrival] = await settled(id, 1)
    expect(arrival).toMatchObject({ result: 'failed', server: null })
    expect(arrival!.reason).toBe(
      `Waited 5 minutes for its API at ${machine.plan.address}: connection refused`,
    )
    expect((await audited('join.failed')).find((e) => e.target?.id === id)).toMatchObject({
      result: 'server_unreachable',
    })
    await clearFaults(machine)
    await again(machine)
    await until(
      () => serverOf(machine),
      (s) => s !== undefined,
    )
    expect(await settled(id, 1)).toMatchObject([{ id: arrival!.id, result: 'joined' }])
    expect(await uses(id)).toBe(1)
  })

  test('a hanging machine does not delay others', async () => {
    const { id, token } = await make('hang')
    await boot(token, { count: 12, faults: [{ kind: 'hang', port: 'apid' }] })
    await until(
      () => arrivals(id),
      (all) => all.length === 12,
    )
    const good = await make('beside')
    const [machine] = (await boot(good.token)) as [Machine]
    await until(
      () => serverOf(machine),
      (s) => s !== undefined,
    )
    await call(joinTokenRevoke, { params: { id } })
    // A machine whose token was revoked while it waited is not admitted.
    for (const hanging of simulator.servers.filter((m) => m.kernelCommandLine.includes(token)))
      await clearFaults(hanging)
    for (const arrival of await settled(id, 12))
      expect(arrival).toMatchObject({
        result: 'refused',
        reason: expect.stringContaining('was revoked'),
        server: null,
      })
    const entries = (await audited('join.refused')).filter((e) => e.target?.id === id)
    expect(entries).toHaveLength(12)
    expect(entries[0]).toMatchObject({
      result: 'forbidden',
      after: { reason: expect.stringContaining('was revoked') },
    })
  })
})

describe('boards that share a UUID', () => {
  const uuids = [
    ['case 27: zeros', '00000000-0000-0000-0000-000000000000', ['Default string', 'REALSERIAL1']],
    ['defaults of AMI', '03000200-0400-0500-0006-000700080009', ['O.E.M.', 'O.E.M.']],
  ] as const
  test.each(spread(uuids, 1))(
    'two boards with %s are two confirmed servers, and are recognised by address',
    async (_what, uuid, serials) => {
      const { id, token } = await make(`shared-${uuid.slice(0, 8)}`)
      const booted = await Promise.all(serials.map((serial) => boot(token, { uuid, serial })))
      expect(await settled(id, 2)).toMatchObject([{ result: 'joined' }, { result: 'joined' }])
      expect(await uses(id)).toBe(2)
      const addresses = booted.flat().map((m) => m.plan.address)
      const { answer } = await call(serverAdd, { body: { addresses } })
      expect((await world.ended(answer!.operation.id)).status).toBe('done')
      const known = (await servers()).filter((s) => s.identity.uuid === uuid)
      expect(new Set(known.map((s) => s.nodeAddresses[0]))).toEqual(new Set(addresses))
      for (const { identity } of known) expect(identity.state).toBe('confirmed')
    },
  )

  test('of two boards with an honest UUID, the second one waits for a user, and the first one stays in use', async () => {
    const { id, token } = await make('two-serials')
    const uuid = '03000200-0400-0500-0006-00070008000a'
    await boot(token, { uuid, serial: 'A-1' })
    await settled(id, 1)
    await boot(token, { uuid, serial: 'A-2' })
    const second = (await settled(id, 2)).find((a) => a.serial === 'A-2')!
    expect(second).toMatchObject({
      result: 'joined',
      reason: expect.stringMatching(/^A second machine has the UUID of .* has serial A-1/),
    })
    expect((await get(second.server!.id)).identity.state).toBe('unconfirmed')
    expect((await servers()).find((s) => s.identity.serial === 'A-1')).toMatchObject({
      ineligible: null,
      identity: { state: 'confirmed', seen: null },
    })
  })
})

longTest(
  'sixty servers that boot concurrently are registered, each exactly once and with its own name',
  { timeout: 600_000 },
  async () => {
    const { id, token } = await make('sixty')
    const machines = await boot(token, { count: 60 })
    const came = await until(
      () => arrivals(id),
      (all) => all.filter((a) => a.result === 'joined').length === 60,
    )
    expect(came).toHaveLength(60)
    const uuids = new Set(machines.map((m) => m.disk.identity.uuid))
    const there = (await servers()).filter((s) => uuids.has(s.identity.uuid!))
    expect(there).toHaveLength(60)
    expect(new Set(there.map((s) => s.name)).size).toBe(60)
    expect(new Set(there.map((s) => s.identity.uuid)).size).toBe(60)
    expect(await uses(id)).toBe(60)
  },
)

test("a server that is added by address waits for a user's confirmation", async () => {
  const [machine] = await simulator.boot({ kernel_command_line: 'talos.platform=metal' })
  await until(
    async () => machine!.stage.stage,
    (stage) => stage === 'maintenance',
  )
  const { answer } = await call(serverAdd, { body: { addresses: [machine!.plan.address] } })
  await world.ended(answer!.operation.id)
  const server = (await serverOf(machine!))!
  expect(server.identity).toMatchObject({ state: 'unconfirmed', note: null })
  const confirmed = await call(serverConfirm, {
    params: { id: server.id },
    body: { uuid: server.identity.uuid!, serial: server.identity.serial! },
  })
  expect(confirmed.answer!.identity.state).toBe('confirmed')
})

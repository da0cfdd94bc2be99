import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { parseCidr } from '#contract/network/addresses.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import type { Simulator } from '#simulator/src/start.ts'
import { systemClock } from '../clock.ts'
import { budget } from './budget.ts'
import { type ContactParts, contacts, unproven, type Observation, type Watched } from './contact.ts'
import { dialPolicy } from './dial-policy.ts'
import { startFleet } from '../testing/fleet.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { fleet as makeFleet } from './fleet.ts'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startFleet({
    servers: 8,
    dataDir: temporaryFolder('contact'),
    seed: 'contact',
    speed: 100,
  })
})
afterAll(() => simulator.stop())

const policy = dialPolicy({
  networks: [parseCidr('127.20.0.0/16')!],
  own: () => [],
  simulate: true,
})
const stops: (() => Promise<void>)[] = []
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())))

const watched = (index: number, change: Partial<Watched> = {}, of = simulator): Watched => {
  const { plan, disk } = of.servers[index]!
  return {
    id: `0${index}000000-0000-4000-8000-000000000000`,
    name: plan.name,
    address: plan.address,
    uuid: disk.identity.uuid,
    serial: disk.identity.serial,
    clusterId: null,
    isMember: false,
    live: false,
    reachable: null,
    lastContactAt: null,
    fingerprint: null,
    hasHardware: false,
    stage: 'unknown',
    ...change,
  }
}

const away = new Error('The database is away')

/**
 * Contacts servers 200 times as often as the program does. Results are kept in memory instead of
 * the database.
 */
function keep(
  servers: Watched[],
  credentials: ContactParts['credentials'] = () => Promise.resolve(null),
  isAway: () => boolean = () => false,
  clock = systemClock,
  mustReadAgain: (batch: readonly Observation[]) => string[] = () => [],
  onEvent?: ContactParts['onEvent'],
) {
  const seen: Observation[] = []
  const stop = new AbortController()
  const errors: unknown[] = []
  let rosters = 0
  const running = contacts({
    fleet: makeFleet({ policy, budget: budget() }),
    clock,
    random: Math.random,
    roster: () => {
      rosters += 1
      // The same array means that nothing has changed.
      return Promise.resolve([...servers])
    },
    credentials,
    pack: ({ status, inventory, secureBoot }) => ({
      status,
      secureBoot,
      hardware: inventory.disks.map(({ id }) => id).join(' '),
    }),
    sink: (batch) => {
      seen.push(...batch)
      if (isAway()) return Promise.reject(away)
      for (const o of batch) {
        if (o.kind !== 'seen') continue
        const at = servers.findIndex((s) => s.id === o.serverId)
        servers[at] = {
          ...servers[at]!,
          hasHardware: true,
          fingerprint: o.fingerprint,
          reachable: true,
          lastContactAt: o.at,
          stage: o.status.stage,
        }
      }
      return Promise.resolve(batch.length === 0 ? [] : mustReadAgain(batch))
    },
    ...(onEvent && { onEvent }),
    onError: (error) => error !== away && errors.push(error),
    pace: 0.005,
  }).run(stop.signal)
  stops.push(async () => {
    stop.abort(new Error('the test has ended'))
    await running
    expect(errors).toEqual([])
  })
  const of = (server: Watched) => seen.filter((o) => o.serverId === server.id)
  return {
    seen,
    of,
    rosters: () => rosters,
    until: (condition: () => boolean, timeout = 30_000) =>
      expect.poll(condition, { timeout, interval: 20 }).toBe(true),
  }
}

test('the first contact reads the whole inventory, later contacts only the stage', async () => {
  const server = watched(0)
  const { of, until } = keep([server])
  await until(() => of(server).length >= 3)
  const [first, ...later] = of(server)
  expect(first).toMatchObject({
    kind: 'seen',
    status: { stage: 'maintenance' },
    reading: { status: { version: expect.stringMatching(/^v1\.1[34]\./) } },
  })
  for (const next of later.slice(0, 2))
    expect(next).toMatchObject({
      kind: 'seen',
      reading: null,
      fingerprint: (first as { fingerprint: string }).fingerprint,
    })
})

test('a disk that was plugged in is seen at a later full reading, without a change of the stage', async () => {
  const server = watched(1)
  const { disks } = simulator.servers[1]!.hardware
  const { of, until } = keep([server])
  const readings = () =>
    of(server).flatMap((o) => (o.kind === 'seen' && o.reading !== null ? [o.reading.hardware] : []))
  await until(() => readings().length === 1)
  expect(readings()[0]).not.toContain('sdz')
  disks.push({ ...disks[0]!, name: 'sdz', serial: 'new' })
  try {
    await until(() => readings().at(-1)!.includes('sdz'))
  } finally {
    disks.pop()
  }
})

test('a server whose reading is older than the recorded state is read again at the next contact', async () => {
  const server = watched(0)
  let outdated = 2
  const mustReadAgain = () => (outdated-- > 0 ? [server.id] : [])
  const { of, until } = keep([server], undefined, undefined, undefined, mustReadAgain)
  await until(() => of(server).length >= 6)
  expect(
    of(server)
      .slice(0, 6)
      .filter((o) => o.kind === 'seen' && o.reading !== null).length,
  ).toBeGreaterThanOrEqual(2)
  expect(of(server).at(5)).toMatchObject({ reading: null })
})

test('what an idle server tells of itself is read with its hardware', async () => {
  const server = watched(0)
  const told = new Set<string>()
  const { until } = keep([server], undefined, undefined, undefined, undefined, (id, event) => {
    told.add(`${id} ${event.kind}`)
  })
  await until(() => told.has(`${server.id} machine_status`))
  expect([...told].filter((one) => !one.startsWith(server.id))).toEqual([])
})

test('contact goes on with an idle server whose Talos does not tell its events in maintenance', async () => {
  const old = await startFleet({
    dataDir: temporaryFolder('contact-old'),
    scenario: {
      seed: 'contact-old',
      servers: 1,
      speed: 100,
      datacenters: ['PL-POZ-1'],
      talos: ['v1.12.11'],
    },
  })
  try {
    const server = watched(0, {}, old)
    const told: unknown[] = []
    const { of, until } = keep([server], undefined, undefined, undefined, undefined, (_id, event) =>
      told.push(event),
    )
    const readings = () => of(server).filter((o) => o.kind === 'seen' && o.reading !== null).length
    await until(() => readings() >= 2)
    expect(told).toEqual([])
  } finally {
    await Promise.all(stops.splice(0).map((stop) => stop()))
    await old.stop()
  }
})

test('contacts continue if the clock is set back a day', async () => {
  let shiftMs = 0
  const server = watched(0)
  const { of, until } = keep([server], undefined, undefined, {
    ...systemClock,
    now: () => Date.now() + shiftMs,
  })
  await until(() => of(server).length >= 2)
  shiftMs = -86_400_000
  const before = of(server).length
  await until(() => of(server).length >= before + 3)
  expect(of(server).at(-1)!.kind).toBe('seen')
})

test('three contacts in a row without an answer make a server unreachable, and one answer makes it reachable', async () => {
  const machine = simulator.servers[1]!
  const server = watched(1)
  const { of, until } = keep([server])
  await until(() => of(server).some((o) => o.kind === 'seen'))
  const from = of(server).length
  await addFault(machine, { kind: 'refuse' })
  await until(() => of(server).some((o) => o.kind === 'missed' && o.unreachable))
  const misses = of(server)
    .slice(from)
    .filter((o) => o.kind === 'missed')
  expect(misses.slice(0, 3)).toMatchObject([
    { unreachable: false },
    { unreachable: false },
    { unreachable: true, reason: 'connection refused' },
  ])
  await clearFaults(machine)
  await until(() => of(server).at(-1)!.kind === 'seen')
})

test('after a reboot with a new certificate the hardware is read again and recognised as the same', async () => {
  const machine = simulator.servers[2]!
  const server = watched(2)
  const { of, until } = keep([server])
  await until(() => of(server).some((o) => o.kind === 'seen'))
  const before = of(server).find((o) => o.kind === 'seen')!
  await machine.lifecycle.powerOff()
  machine.lifecycle.powerOn()
  await until(() =>
    of(server).some(
      (o) => o.kind === 'seen' && o.reading !== null && o.fingerprint !== before.fingerprint,
    ),
  )
  expect(of(server).every((o) => o.kind !== 'other')).toBe(true)
})

test('other hardware at the address is reported, and nothing but its identity is read', async () => {
  const machine = simulator.servers[3]!
  const server = watched(3)
  await addFault(machine, { kind: 'identity' })
  const { of, until } = keep([server])
  await until(() => of(server).length > 0)
  expect(of(server)[0]).toMatchObject({
    kind: 'other',
    found: { uuid: machine.disk.identity.uuid },
  })
  expect(server.uuid).not.toBe(machine.disk.identity.uuid)
})

test('a machine in maintenance at the address of a member is not believed, whatever it says', async () => {
  const member = { clusterId: '00000000-0000-4000-8000-00000000000d', isMember: true }
  const server = watched(4, { ...member, reachable: true })
  const { of, until } = keep([server])
  const disbelieved = () =>
    of(server).filter((o) => o.kind === 'missed' && o.reason === unproven && o.unreachable)
  await until(() => disbelieved().length > 0)
  expect(of(server).every((o) => o.kind === 'missed')).toBe(true)
})

test('if the record of a server changes during a contact, the result is reported for the old record, and the server is contacted again', async () => {
  const [was, is] = [watched(7, { clusterId: '00000000-0000-4000-8000-00000000000c' }), watched(7)]
  const asked = Promise.withResolvers<void>()
  const mayGoOn = Promise.withResolvers<null>()
  const servers = [was]
  const { of, rosters, until } = keep(servers, () => {
    asked.resolve()
    return mayGoOn.promise
  })
  await asked.promise
  // The server is released from its cluster during the contact.
  servers[0] = is
  const before = rosters()
  await until(() => rosters() > before + 1)
  mayGoOn.resolve(null)
  await until(() => of(was).length >= 2)
  expect(of(was).slice(0, 2)).toMatchObject([
    { kind: 'seen', clusterId: was.clusterId },
    { kind: 'seen', clusterId: null },
  ])
})

test('if an inventory could not be stored, the next contact reads it again', async () => {
  const fingerprint = await makeFleet({ policy, budget: budget() })
    .connection(watched(0))
    .maintenance((_, pin) => Promise.resolve(pin.fingerprint))
  const server = watched(0, { hasHardware: true, stage: 'maintenance', fingerprint })
  let isAway = true
  const { of, until } = keep([server], undefined, () => isAway)
  const isRead = (o: Observation) => o.kind === 'seen' && o.reading !== null
  await until(() => of(server).some(isRead))
  const from = of(server).length
  isAway = false
  await until(() => of(server).slice(from).some(isRead))
  // At most one contact precedes the full reading: the one that ran when the database failed. The
  // next scheduled full reading comes about four contacts later.
  expect(of(server).slice(from).findIndex(isRead)).toBeLessThanOrEqual(1)
})

test('a server whose hardware a user has confirmed after an alarm is contacted at once, and read again', async () => {
  const server = watched(1)
  const servers = [server]
  const { of, until } = keep(servers)
  await until(() => of(server).length >= 2)
  const from = of(server).length
  servers[0] = { ...servers[0]!, reachable: null }
  await until(() => of(server).length > from)
  // The next scheduled full reading comes about four contacts later.
  expect(of(server)[from]).toMatchObject({ kind: 'seen', reading: expect.anything() })
})

test('a machine’s known certificate is not accepted as proof of identity for the machine that replaces it', async () => {
  const fleet = makeFleet({ policy, budget: budget() })
  const server = watched(0)
  const ask = (one: Watched) =>
    fleet
      .connection(one)
      .maintenance((_, pin) => Promise.resolve(pin.fingerprint), { lane: 'contact' })
  const fingerprint = await ask(server)
  expect(await ask(server)).toBe(fingerprint)
  await expect(
    ask({ ...server, uuid: 'bbbbbbbb-0000-4000-8000-000000000000' }),
  ).rejects.toMatchObject({ code: 'identity_changed' })
})

test('an answer that takes 20 s is still reported', async () => {
  await addFault(simulator.servers[0]!, { kind: 'delay', ms: 20_000 })
  const server = watched(0)
  const { of, until } = keep([server])
  await until(() => of(server).length > 0)
  expect(of(server)[0]).toMatchObject({ kind: 'seen' })
  await clearFaults(simulator.servers[0]!)
})

test('a server that answers with garbage is reported as not speaking TLS', async () => {
  await addFault(simulator.servers[4]!, { kind: 'garbage' })
  const server = watched(4)
  const { of, until } = keep([server])
  await until(() => of(server).length > 0)
  expect(of(server)[0]).toMatchObject({
    kind: 'missed',
    reason: 'it answers without TLS',
  })
})

test('during an operation a silent server is noticed at its first missed contact, without more contacts to other servers', async () => {
  const machine = simulator.servers[5]!
  const silent = watched(5, { live: true })
  const other = watched(6)
  const { of, until } = keep([silent, other])
  await until(() => of(silent).some((o) => o.kind === 'seen'))
  await addFault(machine, { kind: 'hang' })
  const asked = of(other).length
  await until(() => of(silent).some((o) => o.kind === 'missed' && o.unreachable))
  expect(of(silent).findLast((o) => o.kind === 'missed')).toMatchObject({
    reason: 'did not answer within 3.5 s',
  })
  expect(of(other).length - asked).toBeGreaterThan(5)
})

test('hanging servers do not delay the others', async () => {
  const healthy = watched(7, { reachable: true, lastContactAt: Date.now() })
  // More servers than the budget has places, all at one address that accepts connections and stays
  // silent.
  const hanging = Array.from({ length: 200 }, (_, i) => ({
    ...watched(5),
    id: `${(i + 16).toString(16).padStart(2, '0')}000000-0000-4000-8000-00000000000${i % 10}`,
  }))
  const { of, until } = keep([...hanging, healthy])
  await until(() => of(healthy).length >= 2, 15_000)
  expect(of(healthy).map((o) => o.kind)).not.toContain('missed')
})

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Server } from '#contract/servers/server.ts'
import { operationGet } from '#contract/operations.ts'
import {
  serverAdd,
  serverCommands,
  serverConfirm,
  serverGet,
  serverList,
  serverRemove,
  serverTalosconfig,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { auditList } from '#contract/audit.ts'
import { overviewGet } from '#contract/overview.ts'
import { datacenterCreate, datacenterGet } from '#contract/datacenters.ts'
import type { Simulator } from '#simulator/src/start.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'
import { startFleet } from '../../testing/fleet.ts'
import { temporaryFolder } from '../../testing/folder.ts'

let backend: Backend
let operator: SignedIn
let fleet: Simulator
const addressOf = (index: number): string => fleet.servers[index]!.plan.address

beforeAll(async () => {
  fleet = await startFleet({
    servers: 6,
    dataDir: temporaryFolder('servers'),
    seed: 'servers',
    speed: 50,
  })
})
beforeEach(async () => {
  backend = await startBackend({
    environment: { STEELYARD_SIMULATE: '6', STEELYARD_DIAL_NETWORKS: '127.20.0.0/16' },
  })
  operator = await backend.signIn({ role: 'operator' })
})
afterAll(() => fleet.stop())

const add = async (body: { addresses: string[]; datacenter_id?: string } | { cidr: string }) => {
  const { answer, text } = await operator.call(serverAdd, { body })
  if (!answer) throw new Error(text)
  await backend.engine.settle()
  return (await operator.call(operationGet, { params: { id: answer.operation.id } })).answer!
}
const all = async () => (await operator.call(serverList)).answer!.items
/** Registers two servers. */
const addTwo = async () => {
  await add({ addresses: [addressOf(0), addressOf(1)] })
  return all()
}
const confirm = ({ id, identity: { uuid, serial } }: Server) =>
  operator.call(serverConfirm, { params: { id }, body: { uuid: uuid!, serial: serial! } })

test('adding servers by address reads their hardware and returns one result per address; a user must confirm the hardware', async () => {
  const operation = await add({ addresses: [addressOf(0), addressOf(1), '127.20.255.250'] })
  expect(operation.steps.map((s) => s.status)).toEqual(['done', 'done', 'failed'])
  expect(operation).toMatchObject({
    kind: 'serverAdd',
    status: 'failed',
    reason: '2 servers found, 1 failed',
  })
  expect(operation.steps[2]!.reason).toBe('No answer: connection refused')
  const servers = await all()
  expect(servers).toHaveLength(2)
  for (const server of servers) {
    const step = operation.steps.find((s) => s.node_id === server.id)!
    expect(step.reason).toContain(`Registered as ${server.name}`)
    const { identity } = fleet.server(server.nodeAddresses[0]!).disk
    expect(server).toMatchObject({
      status: 'maintenance',
      type: 'unknown',
      identity: {
        state: 'unconfirmed',
        uuid: identity.uuid,
        serial: identity.serial,
        fingerprint: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
      },
      talos: { version: 'v1.14.1', stage: 'maintenance', reachable: true },
      datacenter: null,
      cluster: null,
    })
    expect(server.name).toMatch(/^[a-z]+-[a-z]+-\d{3}$/)
    expect(server.resources.processors.length).toBeGreaterThan(0)
    expect(server.resources.memory[0]!.size).toBeGreaterThanOrEqual(1024 ** 3)
    expect(server.resources.interfaces.length).toBeGreaterThan(0)
    expect(server.eligibility.filter((e) => !e.ok).map((e) => e.check)).toContain('identity')
  }
})

test('a registration makes fifteen calls to the machine, and none of them fails', async () => {
  const log = fleet.servers[5]!.journal.logLines('machined')!
  const before = log.total
  await add({ addresses: [addressOf(5)] })
  const calls = log.since(before).filter((line) => line.includes('[/'))
  expect(calls.filter((line) => line.includes(' OK [/cosi.resource.State/'))).toHaveLength(15)
  expect(calls).toHaveLength(15)
})

test('adding the same servers again recognises them and creates no duplicates', async () => {
  await addTwo()
  const operation = await add({ addresses: [addressOf(0)] })
  expect(operation.steps[0]).toMatchObject({
    status: 'done',
    reason: expect.stringContaining('Registered already as'),
  })
  expect(await all()).toHaveLength(2)
})

test('when a whole network is scanned, addresses that do not answer are not failures', async () => {
  const operation = await add({ cidr: `${addressOf(0).replace(/\d+$/, '0')}/28` })
  expect(operation.status).toBe('done')
  expect(operation.steps).toHaveLength(14)
  expect(operation.steps.filter((s) => s.status === 'skipped').length).toBeGreaterThan(0)
})

test('a user can confirm the hardware that was shown, and confirming other hardware is refused', async () => {
  const [server] = await addTwo()
  const { uuid, serial } = server!.identity
  const params = { id: server!.id }
  const wrong = await operator.call(serverConfirm, {
    params,
    body: { uuid: uuid!, serial: 'another' },
  })
  expect(wrong).toMatchObject({ status: 409, problem: { code: 'identity_changed' } })
  const right = await operator.call(serverConfirm, {
    params,
    body: { uuid: uuid!.toUpperCase(), serial: serial! },
  })
  expect(right.answer).toMatchObject({
    identity: { state: 'confirmed' },
    version: server!.version + 1,
  })
  expect(right.answer!.eligibility.filter((e) => !e.ok)).toEqual([])
  expect(await confirm(server!)).toMatchObject({
    status: 409,
    problem: { error: 'The hardware is confirmed already' },
  })
})

test('a new name must follow the rules, and a name in use is refused with the same error as in the form', async () => {
  const [one, two] = await addTwo()
  const rename = (id: string, name: string, ifMatch?: number) =>
    operator.call(
      serverUpdate,
      { params: { id }, body: { name } },
      ifMatch === undefined ? {} : { ifMatch },
    )
  expect((await rename(one!.id, '  db-1  ')).answer).toMatchObject({ name: 'db-1' })
  expect(await rename(two!.id, 'db-1')).toMatchObject({
    status: 409,
    problem: {
      code: 'name_taken',
      error: 'Server name already exists. Please choose a different name.',
      fields: { name: 'Server name already exists. Please choose a different name.' },
    },
  })
  expect((await rename(one!.id, 'db-1')).status).toBe(200)
  expect(await rename(one!.id, 'a-name-that-is-26-letters-x')).toMatchObject({
    status: 422,
    problem: { fields: { name: 'Server name must be no more than 25 characters' } },
  })
  expect(await rename(one!.id, '')).toMatchObject({
    status: 422,
    problem: { fields: { name: 'Server name must be at least 1 character' } },
  })
  for (const name of ['Db', 'db--1', '-db', 'db-', 'db_1', 'ä', 'a b'])
    expect((await rename(one!.id, name)).status).toBe(422)
  expect(await rename(one!.id, 'db-2', 1)).toMatchObject({
    status: 412,
    problem: { code: 'stale' },
  })
  const unknown = await operator.call(serverUpdate, {
    params: { id: one!.id },
    body: { name: 'x', status: 'deleted' } as never,
  })
  expect(unknown.status).toBe(422)
})

test('of twenty concurrent renames to one name, exactly one succeeds', async () => {
  const servers = await addTwo()
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      operator.call(serverUpdate, {
        params: { id: servers[i % 2]!.id },
        body: { name: `race-${Math.floor(i / 4)}` },
      }),
    ),
  )
  const names = (await all()).map((s) => s.name)
  expect(new Set(names).size).toBe(names.length)
  expect(results.every((r) => r.status === 200 || r.problem?.code === 'name_taken')).toBe(true)
})

test('the list of servers can be searched, filtered, sorted and paged, and SQL injection has no effect', async () => {
  await confirm((await addTwo())[0]!)
  const servers = await all()
  const [one] = servers
  const names = async (query: object) =>
    (await operator.call(serverList, { query })).answer!.items.map((s) => s.name)
  for (const q of [
    one!.name,
    one!.id,
    one!.identity.serial!,
    one!.nodeAddresses[0]!,
    one!.name.toUpperCase(),
  ])
    expect(await names({ q })).toContain(one!.name)
  const mac = one!.resources.interfaces[0]!.hardware_addr!
  const [disk] = one!.resources.disks
  const matched = async (q: string) =>
    (await operator.call(serverList, { query: { q } })).answer!.items.find((s) => s.id === one!.id)
      ?.matched
  for (const q of [mac, mac.replaceAll(':', '-').toUpperCase(), mac.replaceAll(':', '')])
    expect(await matched(q)).toEqual({ what: 'mac', value: mac })
  expect(await matched(disk!.wwid!)).toEqual({ what: 'wwid', value: disk!.wwid })
  expect(await matched(disk!.model!)).toMatchObject({ what: 'model' })
  expect(await matched(one!.name)).toBeUndefined()
  for (const q of ["' OR 1=1 --", '%', '_%', '\\']) expect(await names({ q })).toEqual([])
  expect(await names({ sort: 'name' })).toEqual(servers.map((s) => s.name).toSorted())
  expect(await names({ sort: '-name' })).toEqual(
    servers
      .map((s) => s.name)
      .toSorted()
      .toReversed(),
  )
  expect(await names({ status: 'ready' })).toEqual([])
  expect(await names({ nodeType: 'unknown', reachable: 'true' })).toHaveLength(servers.length)
  expect(await names({ eligible: 'true' })).toHaveLength(1)
  const unconfirmed = servers.filter((s) => s.identity.state !== 'confirmed').map((s) => s.name)
  expect(unconfirmed.length).toBeGreaterThan(0)
  expect(new Set(await names({ confirmed: 'false' }))).toEqual(new Set(unconfirmed))
  expect(await names({ confirmed: 'true' })).toHaveLength(servers.length - unconfirmed.length)
  expect((await operator.call(overviewGet)).answer!.servers.unconfirmed).toBe(unconfirmed.length)
  const page = (await operator.call(serverList, { query: { per_page: 1, page: 2, sort: 'name' } }))
    .answer!
  expect(page).toMatchObject({ page: 2, per_page: 1, total: servers.length })
  expect(page.items[0]!.name).toBe(servers.map((s) => s.name).toSorted()[1])
  expect((await operator.call(serverList, { query: { page: 99 } })).answer).toMatchObject({
    items: [],
    total: servers.length,
  })
})

test('a server assigned to a datacenter is counted there, and the overview includes its capacity', async () => {
  const { answer: datacenter } = await operator.call(datacenterCreate, {
    body: { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' },
  })
  const [server] = await addTwo()
  await confirm(server!)
  const moved = await operator.call(serverUpdate, {
    params: { id: server!.id },
    body: { datacenter_id: datacenter!.id },
  })
  expect(moved.answer!.datacenter).toEqual({ id: datacenter!.id, code: 'PL-POZ-1' })
  const counted = (await operator.call(datacenterGet, { params: { id: datacenter!.id } })).answer!
  expect(counted.servers).toBe(1)
  expect(counted.compute_units.free).toBeGreaterThan(0)
  const overview = (await operator.call(overviewGet)).answer!
  expect(overview.servers).toMatchObject({ total: (await all()).length, ready: 0 })
  expect(overview.capacity.find((c) => c.datacenter?.id === datacenter!.id)).toMatchObject({
    servers: 1,
    compute_units: counted.compute_units,
  })
  const unknown = await operator.call(serverUpdate, {
    params: { id: server!.id },
    body: { datacenter_id: '00000000-0000-4000-8000-000000000000' },
  })
  expect(unknown.status).toBe(404)
})

test("commands that Talos doesn't allow in maintenance are refused with the reason", async () => {
  const [server] = await addTwo()
  const params = { id: server!.id }
  for (const operation of [serverCommands.serverReboot, serverTalosconfig]) {
    expect(await operator.call(operation, { params })).toMatchObject({
      status: 409,
      problem: {
        code: 'server_not_in_cluster',
        error: 'Talos allows this only once the server is in a cluster',
      },
    })
  }
})

test('a removed server is hidden by default; if its machine comes back, it is a new server with a note about the removed one', async () => {
  const server = (await addTwo()).at(-1)!
  const { status, answer } = await operator.call(serverRemove, { params: { id: server.id } })
  expect(status).toBe(202)
  const done = answer!.operation
  expect(done).toMatchObject({
    kind: 'serverRemove',
    status: 'done',
    target: { kind: 'server', id: server.id },
    steps: [{ status: 'done', attempt: 1 }],
  })
  expect((await operator.call(operationGet, { params: { id: done.id } })).answer).toEqual(done)
  expect((await all()).map((s) => s.id)).not.toContain(server.id)
  const removed = (await operator.call(serverList, { query: { status: 'deleted' } })).answer!.items
  expect(removed.map((s) => s.id)).toEqual([server.id])
  expect((await operator.call(serverGet, { params: { id: server.id } })).answer!.status).toBe(
    'deleted',
  )
  expect(await operator.call(serverRemove, { params: { id: server.id } })).toMatchObject({
    status: 409,
    problem: { error: 'The server was removed already' },
  })
  const operation = await add({ addresses: [server.nodeAddresses[0]!] })
  const again = (await operator.call(serverGet, { params: { id: operation.steps[0]!.node_id! } }))
    .answer!
  expect(again.id).not.toBe(server.id)
  expect(again.identity.note).toContain(`This machine was ${server.name}`)
})

test('unknown ids return 404, and all changes are in the audit log', async () => {
  const [server] = await addTwo()
  const params = { id: server!.id }
  await confirm(server!)
  await operator.call(serverUpdate, { params, body: { name: 'renamed' } })
  await operator.call(serverRemove, { params })
  for (const id of ['00000000-0000-4000-8000-000000000000', 'no-uuid'])
    expect((await operator.call(serverGet, { params: { id } })).status).toBe(404)
  await backend.publish()
  const admin = await backend.signIn({ role: 'admin' })
  const actions = new Set(
    (await admin.call(auditList, { query: { per_page: 200 } })).answer!.items.map((e) => e.action),
  )
  for (const action of [
    'server.add_requested',
    'server.added',
    'server.confirmed',
    'server.renamed',
    'server.removed',
  ])
    expect(actions).toContain(action)
})

import { afterEach, expect, test } from 'vitest'
import { bmcAdd, bmcConfirm, bmcGet, bmcList, bmcRemove, bmcUpdate } from '#contract/bmcs/bmcs.ts'
import {
  bmcCredentialCreate,
  bmcCredentialRemove,
  bmcCredentialUpdate,
} from '#contract/bmcs/credentials.ts'
import { serverIdentify, serverPower } from '#contract/bmcs/power.ts'
import type { Input } from '#contract/operation.ts'
import { operationGet } from '#contract/operations.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { two } from '#redfish/testing/certificates.ts'
import { account, closeAll, system, type TestBmc, testBmc } from '#redfish/testing/server.ts'
import { inTransaction } from '../../db/db.ts'
import { system as caller } from '../../http/caller.ts'
import { startBackend } from '../../testing/backend.ts'
import type { Candidate } from '../servers/api.ts'

afterEach(closeAll)
const backend = await startBackend({ environment: { STEELYARD_SIMULATE: '1' } })
const admin = await backend.signIn({ lasts: true })
const operator = await backend.signIn({ role: 'operator', lasts: true })
const { signal } = new AbortController()
let made = 0
/** Where the system has only 127.0.0.1, these addresses are missing, as for simulated servers. */
const newBmc = (): Promise<TestBmc> =>
  testBmc({ address: `127.21.0.${++made}`, port: 8443 }).then((bmc) => {
    const path = '/redfish/v1/Systems/1'
    const digits = String(made).padStart(12, '0')
    bmc.documents.set(path, {
      ...system,
      UUID: `38947555-7742-3448-3784-${digits}`,
      SerialNumber: `SERIAL-${made}`,
    })
    bmc.documents.set(`${path}/EthernetInterfaces/1`, {
      Id: '1',
      MACAddress: `12:44:6a:3b:04:${made.toString(16).padStart(2, '0')}`,
    })
    return bmc
  })

const credential = (
  await admin.call(bmcCredentialCreate, {
    body: { name: 'racks', ...account },
  })
).answer!

const addAll = async (bmcs: readonly TestBmc[]) => {
  const { answer, problem } = await admin.call(bmcAdd, {
    body: {
      addresses: bmcs.map(({ place }) => place.address),
      port: 8443,
      credential_id: credential.id,
    },
  })
  expect(problem).toBeUndefined()
  await backend.engine.run(180_000)
  const { answer: ended } = await admin.call(operationGet, { params: { id: answer!.operation.id } })
  const { items } = (await admin.call(bmcList)).answer!
  return {
    operation: ended!,
    rows: bmcs.map(({ place }) => items.find((one) => one.address === place.address)!),
  }
}
const confirmed = async (bmc: TestBmc) => {
  const { rows } = await addAll([bmc])
  const { id, certificate } = rows[0]!
  const { problem } = await admin.call(bmcConfirm, {
    params: { id },
    body: { fingerprint: certificate!.fingerprint },
  })
  expect(problem).toBeUndefined()
  await backend.domains.bmcs.ask(id, signal)
  return (await admin.call(bmcGet, { params: { id } })).answer!
}
const ended = async (id: string) => {
  await backend.engine.run(180_000)
  return (await admin.call(operationGet, { params: { id } })).answer!
}
const secretsIn = ({ seen }: TestBmc): number =>
  seen.filter(({ headers, body }) => body.includes(account.password) || headers.authorization)
    .length

test('a BMC is added, confirmed, becomes a box that has not booted yet, and is switched', async () => {
  const bmc = await newBmc()
  const { operation, rows } = await addAll([bmc])
  expect(operation).toMatchObject({ status: 'done', reason: '1 BMC found' })
  const [row] = rows
  expect(row).toMatchObject({
    status: 'unconfirmed',
    fingerprint: null,
    certificate: { fingerprint: bmc.place.fingerprint, subject: 'bmc-one' },
    server: null,
    power: { state: 'unknown', seen_at: null },
  })
  expect(secretsIn(bmc)).toBe(0)
  expect(bmc.seen.map(({ path }) => path)).toEqual(['/redfish/v1/'])

  const wrong = await admin.call(bmcConfirm, {
    params: { id: row!.id },
    body: { fingerprint: 'AA:BB' },
  })
  expect(wrong.problem).toMatchObject({ code: 'bmc_changed' })
  await admin.call(bmcConfirm, {
    params: { id: row!.id },
    body: { fingerprint: bmc.place.fingerprint },
  })
  await backend.domains.bmcs.ask(row!.id, signal)
  const known = (await admin.call(bmcGet, { params: { id: row!.id } })).answer!
  expect(known).toMatchObject({
    status: 'ready',
    reason: null,
    firmware: '1.45',
    power: { state: 'off', seen_at: expect.any(String) as string, wanted: null },
    identity: { serial: 'SERIAL-1', macs: ['12:44:6a:3b:04:01'] },
    capabilities: { led: true },
  })
  const server = (await admin.call(serverGet, { params: { id: known.server!.id } })).answer!
  expect(server).toMatchObject({
    status: 'maintenance',
    nodeAddresses: [],
    talos: { stage: 'not_booted', reachable: null },
    power: { state: 'off', bmc_id: known.id },
    hardware: { maker: 'Contoso', model: '3500' },
    ineligible: 'The server has not booted yet: boot a prepared image on it',
  })

  const { answer, problem } = await operator.call(serverPower, {
    params: { id: server.id },
    body: { to: 'on', seen: 'off' },
  })
  expect(problem).toBeUndefined()
  expect(await ended(answer!.operation.id)).toMatchObject({ status: 'done' })
  const { items } = (await admin.call(serverList, { query: { power: 'on' } })).answer!
  expect(items.map(({ id }) => id)).toEqual([server.id])
  const resets = bmc.seen.filter(({ path }) => path.endsWith('.Reset'))
  expect(resets.map(({ body }) => body)).toEqual(['{"ResetType":"On"}'])
  expect(bmc.sessions.size).toBe(1)

  const stale = await operator.call(serverPower, {
    params: { id: server.id },
    body: { to: 'on', seen: 'off' },
  })
  expect(stale.problem).toMatchObject({
    code: 'power_changed',
    error: `The power of ${server.name} is on now, not off`,
  })
  expect(
    (await operator.call(serverIdentify, { params: { id: server.id }, body: { lit: true } }))
      .answer,
  ).toEqual({ lit: true })

  const cycle = await operator.call(serverPower, {
    params: { id: server.id },
    body: { to: 'cycle', kind: 'hard', seen: 'on' },
  })
  expect(await ended(cycle.answer!.operation.id)).toMatchObject({ status: 'done' })
  expect(bmc.seen.filter(({ path }) => path.endsWith('.Reset')).map(({ body }) => body)).toEqual([
    '{"ResetType":"On"}',
    '{"ResetType":"ForceOff"}',
    '{"ResetType":"On"}',
  ])

  expect((await admin.call(bmcRemove, { params: { id: known.id } })).status).toBe(204)
  expect((await admin.call(serverGet, { params: { id: server.id } })).answer).toMatchObject({
    status: 'deleted',
  })
})

test('nothing is done if the power has changed since it was seen', async () => {
  const bmc = await newBmc()
  const { server } = await confirmed(bmc)
  const { answer } = await operator.call(serverPower, {
    params: { id: server!.id },
    body: { to: 'on', seen: 'off' },
  })
  bmc.documents.set('/redfish/v1/Systems/1', { ...system, PowerState: 'On' })
  await backend.engine.run(180_000)
  expect(await ended(answer!.operation.id)).toMatchObject({ status: 'done' })
  const next = await operator.call(serverPower, {
    params: { id: server!.id },
    body: { to: 'off', kind: 'hard', seen: 'on' },
  })
  bmc.documents.set('/redfish/v1/Systems/1', { ...system, PowerState: null })
  expect(await ended(next.answer!.operation.id)).toMatchObject({
    status: 'failed',
    reason: 'Its power is unknown now, not on as it was seen: nothing was done',
  })
  expect(bmc.seen.filter(({ path }) => path.endsWith('.Reset'))).toEqual([])
})

test('a machine that agrees with a box in two of three marks becomes the same row', async () => {
  const bmc = await newBmc()
  const { server, identity } = await confirmed(bmc)
  const [a, b, c, ...rest] = identity.uuid!.split('-')
  const turned = (text: string) => text.match(/../g)!.toReversed().join('')
  // As a BIOS update writes it: the first three fields in the other byte order.
  const uuid = [turned(a!), turned(b!), turned(c!), ...rest].join('-')
  const machine = (serial: string, address: string) =>
    ({
      address,
      elsewhere: { address: null, answers: false },
      identity: { uuid, serial, manufacturer: 'Contoso', product: '3500' },
      pin: { sha256: '', fingerprint: 'f' },
      reading: {
        status: { stage: 'maintenance', unmet: [], version: 'v1.13.9' },
        inventory: {
          node_addresses: [address],
          processors: [],
          memory: [],
          disks: [],
          interfaces: [],
          links: [],
          linkAddresses: {},
          routes: [],
          truncated: [],
        },
        secureBoot: false,
      },
    }) as unknown as Candidate
  const register = (one: Candidate) =>
    inTransaction(backend.platform.db, (tx) =>
      backend.domains.servers.register(tx, caller, one, { datacenterId: null, token: 'rack' }),
    )
  const other = await register(machine('ANOTHER', '10.0.7.1'))
  expect(other).toMatchObject({ kind: 'new' })
  const booted = await register(machine(identity.serial!, '10.0.7.2'))
  expect(booted).toMatchObject({ server: { id: server!.id } })
  expect((await admin.call(serverGet, { params: { id: server!.id } })).answer).toMatchObject({
    name: server!.name,
    nodeAddresses: ['10.0.7.2'],
    talos: { stage: 'maintenance', reachable: true },
    identity: { state: 'confirmed', uuid },
    power: { bmc_id: expect.any(String) as string },
  })
})

test('a changed certificate is an alarm, and the password is sent 0 times', async () => {
  const bmc = await newBmc()
  const { id, server } = await confirmed(bmc)
  await bmc.close()
  const other = await testBmc({ ...bmc.place, certificate: two })
  await backend.domains.bmcs.ask(id, signal)
  await backend.domains.bmcs.ask(id, signal)
  expect((await admin.call(bmcGet, { params: { id } })).answer).toMatchObject({
    status: 'changed',
    reason: expect.stringContaining('another certificate') as string,
  })
  const refused = await operator.call(serverPower, {
    params: { id: server!.id },
    body: { to: 'on', seen: 'off' },
  })
  expect(refused.problem).toMatchObject({ code: 'bmc_not_ready' })
  expect(other.seen).toEqual([])
  // A user may confirm the new certificate, which is shown.
  const { problem } = await admin.call(bmcConfirm, {
    params: { id },
    body: { fingerprint: other.place.fingerprint },
  })
  expect(problem).toBeUndefined()
  await backend.domains.bmcs.ask(id, signal)
  expect((await admin.call(bmcGet, { params: { id } })).answer).toMatchObject({
    status: 'ready',
    fingerprint: other.place.fingerprint,
    server: { id: server!.id },
  })
})

test('a refused password is tried once, until somebody changes something', async () => {
  const bmc = await newBmc()
  await admin.call(bmcCredentialUpdate, {
    params: { id: credential.id },
    body: { password: 'wrong horse' },
  })
  const row = await confirmed(bmc)
  expect(row).toMatchObject({ status: 'denied', server: null })
  const tries = () => bmc.seen.filter(({ body }) => body.includes('horse')).length
  expect(tries()).toBe(1)
  await backend.domains.bmcs.ask(row.id, signal)
  await backend.domains.bmcs.ask(row.id, signal)
  expect(tries()).toBe(1)
  await admin.call(bmcCredentialUpdate, {
    params: { id: credential.id },
    body: { password: account.password },
  })
  await backend.domains.bmcs.ask(row.id, signal)
  expect((await admin.call(bmcGet, { params: { id: row.id } })).answer).toMatchObject({
    status: 'ready',
  })
  expect(tries()).toBe(2)
  const used = await admin.call(bmcCredentialRemove, { params: { id: credential.id } })
  expect(used.problem).toMatchObject({ code: 'bmc_credential_in_use' })
})

test('addresses outside of the networks of BMCs are refused, and only admins add', async () => {
  const refused = async (body: Partial<Input<typeof bmcAdd>['body']>) =>
    (await admin.call(bmcAdd, { body })).problem
  expect(await refused({ addresses: ['10.9.0.1'] })).toMatchObject({
    code: 'dial_refused',
    error: expect.stringContaining('STEELYARD_BMC_NETWORKS (it is empty)') as string,
  })
  for (const address of ['127.0.0.1', '169.254.169.254', 'bmc.example.com', '::ffff:127.21.0.1'])
    expect(await refused({ addresses: [address] })).toMatchObject({ code: 'dial_refused' })
  expect(await refused({ cidr: '10.0.0.0/21' })).toMatchObject({ code: 'dial_refused' })
  expect(await refused({ addresses: ['127.21.0.9'], port: 8080 as 443 })).toMatchObject({
    code: 'invalid',
  })
  expect(await refused({ csv: 'address,unit\n127.21.0.9,99\n' })).toMatchObject({ code: 'invalid' })
  const body = { addresses: ['127.21.0.9'], port: 8443 as const }
  expect((await operator.call(bmcAdd, { body })).status).toBe(403)
  expect((await operator.call(bmcUpdate, { params: { id: credential.id }, body: {} })).status).toBe(
    403,
  )
})

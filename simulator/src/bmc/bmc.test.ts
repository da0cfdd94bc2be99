import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { ask } from '../control/ask.ts'
import type { Machine } from '../machine/machine.ts'
import type { Simulator } from '../start.ts'
import { cluster, dataFolder, fleet, rack, until } from '../testing/fleet.ts'
import { BMC_PORT } from './bmc.ts'
import { FACTORY_ACCOUNT } from './kept.ts'

/** A document whose shape the test knows. */
interface Body {
  [name: string]: Body
}
interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Body
  fingerprint: string
}
interface Options {
  method?: string
  body?: unknown
  headers?: Record<string, string>
  /** Null: without authentication. */
  auth?: string | null
  agent?: Agent
}

const BASIC = `${FACTORY_ACCOUNT.userName}:${FACTORY_ACCOUNT.password}`

/** One request to the BMC of a machine, over HTTPS. */
const call = (machine: Machine, path: string, options: Options = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', body, headers = {}, auth = BASIC } = options
    const sent = request(
      {
        host: machine.plan.bmc.address,
        port: BMC_PORT,
        path,
        method,
        agent: options.agent ?? false,
        rejectUnauthorized: false,
        headers: {
          ...(auth !== null && { authorization: `Basic ${Buffer.from(auth).toString('base64')}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
      },
      (response) => {
        const { fingerprint256: fingerprint } = (response.socket as TLSSocket).getPeerCertificate()
        const answer = async (): Promise<Answer> => {
          const content = await text(response)
          const isJson = response.headers['content-type']?.startsWith('application/json')
          return {
            status: response.statusCode!,
            headers: response.headers,
            body: (isJson ? JSON.parse(content) : { text: content }) as Body,
            fingerprint,
          }
        }
        answer().then(resolve, reject)
      },
    )
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

const SYSTEM = '/redfish/v1/Systems/system'
const reset = (machine: Machine, type: string, system = SYSTEM) =>
  call(machine, `${system}/Actions/ComputerSystem.Reset`, {
    method: 'POST',
    body: { ResetType: type },
  })
const fault = (simulator: Simulator, name: string, body: object) =>
  ask(simulator.control, 'POST', `/servers/${name}/bmc/fault`, body)
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const keyOf = ({ body }: Answer): string =>
  textOf(body.error!['@Message.ExtendedInfo']![0]!.MessageId).split('.').at(-1)!

/** Every document that links lead to from the root. */
const crawl = async (machine: Machine) => {
  const agent = new Agent({ keepAlive: true })
  const found = new Map<string, Body>()
  const left = ['/redfish/v1/']
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (found.has(path) || path.includes('#')) continue
    const { status, body } = await call(machine, path, { agent })
    expect([path, status]).toEqual([path, 200])
    expect(body['@odata.id']).toBe(path)
    found.set(path, body)
    JSON.stringify(body, (key, value: unknown) => {
      if (key === '@odata.id' && typeof value === 'string') left.push(value)
      return value
    })
  }
  agent.destroy()
  return found
}

test('a BMC switches the simulated machine that it manages, off, on and gracefully', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const [machine, other] = simulator.servers
  expect((await call(machine!, SYSTEM)).body).toMatchObject({
    PowerState: 'On',
    UUID: machine!.disk.identity.uuid,
    SerialNumber: machine!.disk.identity.serial,
    BootProgress: { LastState: 'OSRunning' },
  })
  expect((await reset(machine!, 'ForceOff')).status).toBe(204)
  expect((await call(machine!, SYSTEM)).body.PowerState).toBe('PoweringOff')
  await until('the machine is off', () => !machine!.isOn)
  expect((await call(machine!, SYSTEM)).body.PowerState).toBe('Off')
  expect(other!.isOn).toBe(true)
  const before = machine!.disk.state.counters.boots
  await reset(machine!, 'On')
  await until('it is back', () => machine!.stage.stage === 'maintenance')
  expect(machine!.disk.state.counters.boots).toBe(before + 1)
  await reset(machine!, 'PowerCycle')
  await until('it was cycled', () => machine!.disk.state.counters.boots === before + 2)
  await until('it is back', () => machine!.stage.stage === 'maintenance')
  await reset(machine!, 'GracefulRestart')
  await until('it was restarted', () => machine!.disk.state.counters.boots === before + 3)
  await until('it is back', () => machine!.stage.stage === 'maintenance')
  await reset(machine!, 'GracefulShutdown')
  await until('Talos has shut down', () => !machine!.isOn)
  const { body: entries } = await call(machine!, `${SYSTEM}/LogServices/SEL/Entries`)
  expect(JSON.stringify(entries)).toContain('The system was powered off.')
  expect((await reset(machine!, 'Nmi')).status).toBe(400)
  expect(keyOf(await reset(machine!, 'Nmi'))).toBe('ActionParameterValueNotInList')
})

test('a graceful shutdown by the BMC stops the Talos of a cluster in order', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  await reset(machine!, 'GracefulShutdown')
  const { power } = simulator.bmcs.of(machine!)!
  await until(
    'Talos shuts down, and the power is on',
    () => machine!.stage.stage === 'shutting down' && power.state === 'On',
  )
  await until('the machine is off', () => !machine!.isOn)
  await reset(machine!, 'On')
  await until('Talos runs', () => machine!.stage.stage === 'running' && machine!.stage.ready)
  expect(machine!.disk.state.counters).toMatchObject({ reboots: 0, installs: 1 })
})

test('every document that links lead to exists, in the older and the newer model', async () => {
  const simulator = await fleet({
    scenario: rack(2, { 2: { bmc: { personality: 'no-sessions' } } }),
  })
  const [plain, old] = simulator.servers
  const found = await crawl(plain!)
  const types = new Set([...found.values()].map((body) => textOf(body['@odata.type'])))
  for (const type of ['Power', 'Thermal', 'PowerSupply', 'Fan', 'Sensor', 'Drive', 'Memory'])
    expect([...types].some((one) => one.startsWith(`#${type}.`))).toBe(true)
  const drives = [...found.values()].filter((body) =>
    textOf(body['@odata.type']).startsWith('#Drive.'),
  )
  expect(drives.map(({ SerialNumber: serial }) => serial)).toEqual(
    expect.arrayContaining(plain!.hardware.disks.map(({ serial }) => serial)),
  )
  const macs = [...found.values()].map((body) => body.MACAddress)
  for (const { mac } of plain!.hardware.links) expect(macs).toContain(mac.toUpperCase())
  const others = [...(await crawl(old!)).keys()]
  expect(others.filter((path) => /Session|Subsystem|Sensors/.test(path))).toEqual([])
  expect(others).toContain('/redfish/v1/Chassis/1/Power')
  const { body } = await call(plain!, '/redfish/v1/Chassis/chassis?$expand=.($levels=2)')
  expect(body.Sensors!.Members![0]!.Reading).toBeTypeOf('number')
})

test('at most eight sessions are open, a token works until its session ends, and passwords lock the account', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const sessions = '/redfish/v1/SessionService/Sessions'
  const signIn = (password: string = FACTORY_ACCOUNT.password) =>
    call(machine!, sessions, {
      method: 'POST',
      auth: null,
      body: { UserName: FACTORY_ACCOUNT.userName, Password: password },
    })
  const opened = []
  for (let at = 0; at < 8; at++) opened.push(await signIn())
  expect(opened.map(({ status }) => status)).toEqual(Array(8).fill(201))
  const full = await signIn()
  expect([full.status, keyOf(full)]).toEqual([503, 'SessionLimitExceeded'])
  const token = { 'x-auth-token': String(opened[0]!.headers['x-auth-token']) }
  expect((await call(machine!, SYSTEM, { auth: null, headers: token })).status).toBe(200)
  const location = String(opened[0]!.headers.location)
  const end = await call(machine!, location, { method: 'DELETE', auth: null, headers: token })
  expect(end.status).toBe(204)
  expect((await call(machine!, SYSTEM, { auth: null, headers: token })).status).toBe(401)
  expect((await call(machine!, '/redfish/v1/', { auth: null })).status).toBe(200)
  expect((await call(machine!, SYSTEM, { auth: null })).status).toBe(401)
  for (let at = 0; at < 5; at++) expect((await signIn('wrong')).status).toBe(401)
  expect((await signIn()).status).toBe(401)
  expect(simulator.bmcs.of(machine!)!.counters).toMatchObject({
    sessionsOpened: 8,
    refusedPasswords: 6,
  })
})

test('a change with an older entity tag is refused, and an override counts for one boot', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const before = await call(machine!, SYSTEM)
  const change = (body: object, headers: Record<string, string> = {}) =>
    call(machine!, SYSTEM, { method: 'PATCH', body, headers })
  const match = { 'if-match': String(before.headers.etag) }
  const lit = await change({ LocationIndicatorActive: true }, match)
  expect([lit.status, lit.body.LocationIndicatorActive]).toEqual([200, true])
  expect((await change({ LocationIndicatorActive: false }, match)).status).toBe(412)
  expect(keyOf(await change({ PowerState: 'Off' }))).toBe('PropertyNotWritable')
  expect(keyOf(await change({ LocationIndicatorActive: 'yes' }))).toBe('PropertyValueTypeError')
  const Boot = { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Pxe' }
  expect((await change({ Boot })).body.Boot).toMatchObject(Boot)
  await reset(machine!, 'ForceRestart')
  await until('the override was used', () => {
    const { boot } = simulator.bmcs.of(machine!)!.kept.state
    return boot.enabled === 'Disabled'
  })
})

test('an image is inserted once, shown, and ejected', async () => {
  const simulator = await fleet({
    scenario: rack(2, { 2: { bmc: { personality: 'no-sessions' } } }),
  })
  const [plain, stubborn] = simulator.servers
  const slot = (manager: string) => `/redfish/v1/Managers/${manager}/VirtualMedia/CD1`
  const act = (machine: Machine, manager: string, action: string, body: object) =>
    call(machine, `${slot(manager)}/Actions/VirtualMedia.${action}`, { method: 'POST', body })
  const Image = 'http://127.0.0.1:8480/m/abc/talos.iso'
  const whole = { Image, Inserted: true, WriteProtected: true }
  expect((await act(plain!, 'bmc', 'InsertMedia', whole)).status).toBe(204)
  expect((await act(plain!, 'bmc', 'InsertMedia', { Image })).status).toBe(409)
  expect((await call(plain!, slot('bmc'))).body).toMatchObject({
    Inserted: true,
    Image,
    ConnectedVia: 'URI',
  })
  await act(plain!, 'bmc', 'EjectMedia', {})
  expect((await call(plain!, slot('bmc'))).body).toMatchObject({ Inserted: false, ImageName: null })
  const refused = await act(stubborn!, '1', 'InsertMedia', whole)
  expect([refused.status, keyOf(refused)]).toEqual([400, 'ActionParameterUnknown'])
  expect((await act(stubborn!, '1', 'InsertMedia', { Image })).status).toBe(204)
  await act(stubborn!, '1', 'EjectMedia', {})
  expect((await call(stubborn!, slot('1'))).body).toMatchObject({
    Inserted: false,
    ConnectedVia: 'NotConnected',
    ImageName: 'talos.iso',
  })
})

test('a BMC like iDRAC10 refuses to switch on for a minute after off, and answers with a task', async () => {
  const simulator = await fleet({
    scenario: rack(1, { 1: { bmc: { personality: 'late-on' } } }),
    speed: 200,
  })
  const [machine] = simulator.servers
  const path = '/redfish/v1/Systems/System.Embedded.1'
  const off = await reset(machine!, 'ForceOff', path)
  expect(off.status).toBe(202)
  await until('the machine is off', () => !machine!.isOn)
  simulator.clock.setSpeed(1)
  const refused = await reset(machine!, 'On', path)
  expect([refused.status, keyOf(refused)]).toEqual([409, 'ResourceInUse'])
  expect((await call(machine!, String(off.headers.location))).body.TaskState).toBe('Completed')
  simulator.clock.setSpeed(2_000)
  await until(
    'it may be switched on',
    async () => (await reset(machine!, 'On', path)).status === 202,
  )
  await until('the machine is on', () => machine!.isOn)
})

test('a bare box is off, and nothing starts on it when it is switched on', async () => {
  const simulator = await fleet({ scenario: { servers: 2, bare: 1, datacenters: ['PL-POZ-1'] } })
  const [, box] = simulator.servers
  expect((await call(box!, SYSTEM)).body).toMatchObject({
    PowerState: 'Off',
    BootProgress: { LastState: 'None' },
  })
  await reset(box!, 'On')
  await until('the box is on', () => box!.isOn)
  expect((await call(box!, SYSTEM)).body.BootProgress!.LastState).toBe(
    'SystemHardwareInitializationComplete',
  )
  expect(box!.mode).toBe('off')
  await reset(box!, 'GracefulShutdown')
  await until('the box is off', () => !box!.isOn)
})

test('faults of the service and of the hardware are set and cleared by the control socket', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const clear = () => ask(simulator.control, 'DELETE', '/servers/poz-01/bmc/fault')
  const { fingerprint } = await call(machine!, '/redfish/v1/')
  expect(await ask(simulator.control, 'GET', '/bmcs')).toMatchObject({
    bmcs: [{ address: machine!.plan.bmc.address, fingerprint, ...FACTORY_ACCOUNT }],
  })
  await fault(simulator, 'poz-01', { kind: 'certificate' })
  const { fingerprint: changed } = await call(machine!, '/redfish/v1/')
  expect(changed).not.toBe(fingerprint)
  const expectations: [object, (answer: Answer) => unknown, unknown][] = [
    [
      { kind: 'unavailable' },
      ({ status, headers }) => [status, headers['retry-after']],
      [503, '30'],
    ],
    [
      { kind: 'redirect' },
      ({ headers }) => headers.location,
      'http://169.254.169.254/latest/meta-data/',
    ],
    [{ kind: 'html' }, ({ headers }) => headers['content-type'], 'text/html'],
    [{ kind: 'locked' }, ({ status }) => status, 401],
    [{ kind: 'null-power' }, ({ body }) => body.PowerState, null],
    [{ kind: 'fan-stopped', number: 2 }, ({ body }) => body.Status!.Health, 'Critical'],
  ]
  for (const [which, seen, wanted] of expectations) {
    await fault(simulator, 'poz-01', which)
    expect([which, seen(await call(machine!, SYSTEM))]).toEqual([which, wanted])
    await clear()
  }
  await fault(simulator, 'poz-01', { kind: 'uuid-order' })
  const { uuid } = machine!.disk.identity
  const { UUID: other } = (await call(machine!, SYSTEM)).body
  expect(other).not.toBe(uuid)
  expect(textOf(other).slice(18)).toBe(uuid.slice(18))
  await clear()
  await fault(simulator, 'poz-01', { kind: 'supply-without-input', number: 1 })
  const { body: power } = await call(machine!, '/redfish/v1/Chassis/chassis/Power')
  expect(power.PowerSupplies).toMatchObject([
    { Status: { Health: 'Critical' } },
    { Status: { Health: 'OK' } },
  ])
  await expect(fault(simulator, 'poz-01', { kind: 'explode' })).rejects.toThrow('kind')
  await expect(
    ask(simulator.control, 'PUT', '/servers/poz-01/bmc', { personality: 'nobody' }),
  ).rejects.toThrow('personality')
})

test('the state of a BMC survives a restart of the simulator, its sessions do not', async () => {
  const dataDir = dataFolder()
  const scenario = rack(1)
  const first = await fleet({ dataDir, scenario })
  const [machine] = first.servers
  const { fingerprint } = await call(machine!, '/redfish/v1/')
  const { headers } = await call(machine!, '/redfish/v1/SessionService/Sessions', {
    method: 'POST',
    auth: null,
    body: { UserName: FACTORY_ACCOUNT.userName, Password: FACTORY_ACCOUNT.password },
  })
  await call(machine!, SYSTEM, { method: 'PATCH', body: { AssetTag: 'A-17' } })
  await first.stop()
  const second = await fleet({ dataDir, scenario })
  const [again] = second.servers
  const answer = await call(again!, SYSTEM)
  expect([answer.fingerprint, answer.body.AssetTag]).toEqual([fingerprint, 'A-17'])
  const token = { 'x-auth-token': String(headers['x-auth-token']) }
  expect((await call(again!, SYSTEM, { auth: null, headers: token })).status).toBe(401)
})

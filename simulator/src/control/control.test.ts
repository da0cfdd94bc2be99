import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { readCertificate } from '#talos/client/connect.ts'
import { faultSchema } from '../fleet/faults.ts'
import { cluster, dataFolder, fleet, partOfNetwork, rack, until } from '../testing/fleet.ts'
import { ask } from './ask.ts'

const MAIN = resolve(import.meta.dirname, '../main.ts')
const run = promisify(execFile)

interface Shown {
  uuid: string
  name: string
  address: string
  power: string
  stage: string
  fingerprint: string | null
  datacenter: { code: string; latitude: number }
}

test('the control socket shows servers and counters, switches power, and sets the speed', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { servers } = (await ask(simulator.control, 'GET', '/servers')) as { servers: Shown[] }
  expect(servers.map(({ name, power, stage }) => [name, power, stage])).toEqual([
    ['poz-01', 'on', 'maintenance'],
    ['poz-02', 'on', 'maintenance'],
  ])
  const { servers: addresses } = (await ask(simulator.control, 'GET', '/addresses')) as {
    servers: object[]
  }
  expect(servers).toMatchObject(addresses)
  expect(addresses[0]).toMatchObject({
    name: 'poz-01',
    power: 'on',
    booted: false,
    datacenter: { code: 'PL-POZ-1' },
  })
  expect(servers[0]!.fingerprint).toBe(
    (await readCertificate({ host: servers[0]!.address })).fingerprint,
  )
  expect(servers[0]!.datacenter).toMatchObject({ code: 'PL-POZ-1', latitude: 52.406374 })
  expect(
    await ask(simulator.control, 'POST', `/servers/${servers[0]!.uuid}/power-off`),
  ).toMatchObject({ power: 'off', fingerprint: null })
  await expect(readCertificate({ host: servers[0]!.address })).rejects.toMatchObject({
    kind: 'unreachable',
  })
  await ask(simulator.control, 'POST', `/servers/${servers[0]!.uuid}/power-on`)
  await until('it is back', () => simulator.servers[0]!.stage.stage === 'maintenance')
  await ask(simulator.control, 'PUT', '/speed', { speed: 20 })
  expect(simulator.clock.speed).toBe(20)
  expect(await ask(simulator.control, 'GET', '/datacenters')).toMatchObject({
    datacenters: [{ code: 'PL-POZ-1', city: 'Poznań' }],
  })
  expect((await stat(simulator.control)).mode & 0o077).toBe(0)
})

test('faults are set, shown and cleared, and invalid faults are refused', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  expect(
    await ask(simulator.control, 'POST', '/servers/poz-01/fault', { kind: 'hang' }),
  ).toMatchObject({ faults: [{ kind: 'hang' }] })
  await expect(
    readCertificate({ host: simulator.servers[0]!.plan.address }, { timeoutMs: 200 }),
  ).rejects.toMatchObject({ kind: 'timeout' })
  expect(await ask(simulator.control, 'DELETE', '/servers/poz-01/fault')).toMatchObject({
    faults: [],
  })
  await expect(
    ask(simulator.control, 'POST', '/servers/poz-01/fault', { kind: 'explode' }),
  ).rejects.toThrow('kind')
  await expect(ask(simulator.control, 'POST', '/servers/nobody/power-on')).rejects.toThrow(
    'There is no simulated server nobody',
  )
  await expect(ask(simulator.control, 'PUT', '/speed', { speed: -1 })).rejects.toThrow('speed')
  await expect(ask(simulator.control, 'GET', '/nothing')).rejects.toThrow('There is no such call')
  await expect(ask('/nowhere.sock', 'GET', '/servers')).rejects.toThrow(
    'No simulator answers at /nowhere.sock',
  )
})

test('faults of the image factory are set, shown and cleared', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  expect(await ask(simulator.control, 'GET', '/factory')).toEqual({
    simulated: true,
    url: simulator.factory.url,
    fault: null,
    calls: 0,
    schematics: 0,
  })
  expect(
    await ask(simulator.control, 'POST', '/factory/fault', { kind: 'refuse', status: 429 }),
  ).toMatchObject({ fault: { kind: 'refuse', status: 429 } })
  expect((await fetch(`${simulator.factory.url}/versions`)).status).toBe(429)
  expect(await ask(simulator.control, 'DELETE', '/factory/fault')).toMatchObject({
    fault: null,
    calls: 1,
  })
  expect((await fetch(`${simulator.factory.url}/versions`)).status).toBe(200)
  await expect(ask(simulator.control, 'POST', '/factory/fault', { kind: 'burn' })).rejects.toThrow(
    'kind',
  )
})

test('counters show how many etcd clusters were created for a cluster', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  await cluster(simulator, 1, 0)
  expect(await ask(simulator.control, 'GET', '/counters')).toMatchObject({
    servers: [{ name: 'poz-01', installs: 1, applies: 1, bootstraps: 1 }],
    clusters: [{ name: 'blue-fox', etcdMade: 1, bootstrapCalls: 1, members: 1 }],
  })
})

const start = async (
  dataDir: string,
  offset: number,
): Promise<{ child: ChildProcess; line: string }> => {
  const child = spawn(
    process.execPath,
    [MAIN, '--servers', '2', '--data', dataDir, '--speed', '50', '--subnet-offset', String(offset)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  return { child, line }
}

test('the program reports that it is ready, runs commands, and continues with its state after it was killed', async () => {
  const dataDir = dataFolder()
  const offset = await partOfNetwork
  const { child, line } = await start(dataDir, offset)
  expect(line).toMatch(
    /^Simulator is ready: 2 servers, control socket \S+, image factory http:\/\/127\.0\.0\.1:\d+\n$/,
  )
  expect(line).toContain(`control socket ${join(dataDir, 'control.sock')},`)
  const { stdout } = await run(process.execPath, [MAIN, 'power-off', 'poz-02', '--data', dataDir])
  expect(stdout).toContain('off')
  await expect(
    run(process.execPath, [
      MAIN,
      '--servers',
      '2',
      '--data',
      dataDir,
      '--subnet-offset',
      String(offset),
    ]),
  ).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Another simulator uses this folder'),
  })
  const announcing = 'talos.platform=metal talos.config=http://127.0.0.1:9/join/x?uuid=${uuid}'
  const { stdout: booted } = await run(process.execPath, [
    MAIN,
    '--boot-with',
    announcing,
    '--count',
    '2',
    '--never-answer',
    '--data',
    dataDir,
  ])
  expect(booted).toMatch(/boot-001 .*\nboot-002 /)
  // Without --datacenter, the simulator's own choice of a datacenter isn't shown.
  expect(booted).not.toContain('POZ')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const again = await start(dataDir, offset)
  const { servers } = (await ask(join(dataDir, 'control.sock'), 'GET', '/servers')) as {
    servers: Shown[]
  }
  expect(servers.map(({ name, power }) => `${name} ${power}`)).toEqual([
    'poz-01 on',
    'poz-02 off',
    'boot-001 on',
    'boot-002 on',
  ])
  again.child.kill('SIGTERM')
  expect(await once(again.child, 'exit')).toEqual([0, null])
})

test('the program prints help and refuses unknown options', async () => {
  const { stdout } = await run(process.execPath, [MAIN, '--help'])
  expect(stdout).toContain('--scenario FILE')
  const faults = /fault NAME KIND([\s\S]*?)clear-faults/.exec(stdout)![1]!
  const kinds = faultSchema.def.options.flatMap((o) => [...o.shape.kind._zod.values].map(String))
  expect(kinds).toContain('vanish')
  expect(kinds.filter((kind) => !new RegExp(`[ (]${kind}[ ,]`).test(faults))).toEqual([])
  await expect(run(process.execPath, [MAIN, 'dance'])).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no command "dance"'),
  })
  await expect(run(process.execPath, [MAIN, '--servers', 'many'])).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('takes a number'),
  })
  await expect(
    run(process.execPath, [MAIN, 'servers', '--data', dataFolder()]),
  ).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No simulator answers'),
  })
})

/**
 * Others' programs for Redfish judge and use the simulated BMCs: DMTF's validators, `sushy`, and
 * DMTF's tools. They come from PyPI in the versions below.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FACTORY_ACCOUNT } from '#simulator/src/bmc/kept.ts'
import {
  PERSONALITIES,
  PERSONALITY_NAMES,
  type PersonalityName,
} from '#simulator/src/bmc/personality.ts'
import { type Simulator, startSimulator } from '#simulator/src/start.ts'
import { freeBlock } from '../../tools/testing/free-block.ts'
import { python, runBeside } from '../../tools/testing/programs.ts'

const packages = [
  'redfish_protocol_validator==1.3.2',
  'redfish_service_validator==3.1.8',
  'redfish_utilities==3.5.2',
  'redfishtool==1.1.8',
  'sushy==5.14.0',
]
const { userName, password } = FACTORY_ACCOUNT
const folder = mkdtempSync(join(tmpdir(), 'sy-redfish-'))
let simulator: Simulator
let programs: string

beforeAll(async () => {
  programs = python('redfish', packages)
  simulator = await startSimulator({
    dataDir: join(folder, 'simulator'),
    speed: 50,
    subnetOffset: await freeBlock(1),
    scenario: {
      servers: PERSONALITY_NAMES.length,
      datacenters: ['PL-POZ-1'],
      special: Object.fromEntries(
        PERSONALITY_NAMES.map((personality, at) => [at + 1, { bmc: { personality } }]),
      ),
    },
  })
}, 600_000)
afterAll(async () => {
  await simulator.stop()
  rmSync(folder, { recursive: true, force: true })
})

const withSessions = PERSONALITY_NAMES.filter((name) => PERSONALITIES[name].hasSessions)
const machineOf = (personality: PersonalityName) =>
  simulator.servers[PERSONALITY_NAMES.indexOf(personality)]!
const hostOf = (personality: PersonalityName): string => {
  const { address, port } = simulator.bmcs.of(machineOf(personality))!
  return `${address}:${port.port}`
}

/** Runs a program. Fails with its output if its exit code isn't 0. */
const outputOf = async (program: string, args: readonly string[]): Promise<string> => {
  const { code, output } = await runBeside(join(programs, program), args, {
    cwd: folder,
    // A bundle of authorities would be asked although the checks are switched off.
    env: { REQUESTS_CA_BUNDLE: '', CURL_CA_BUNDLE: '' },
  })
  expect({ program, code, output: code === 0 ? '' : output.slice(-8_000) }).toEqual({
    program,
    code: 0,
    output: '',
  })
  return output
}

test.each(withSessions)(
  'the protocol validator of DMTF finds nothing wrong with the personality %s',
  async (personality) => {
    const output = await outputOf('rf_protocol_validator', [
      '--rhost',
      `https://${hostOf(personality)}`,
      '--user',
      userName,
      '--password',
      password,
      '--no-cert-check',
      '--avoid-http-redirect',
      '--report-type',
      'tsv',
      '--report-dir',
      join(folder, personality),
    ])
    const [, passed, failed] = /PASS: (\d+), WARN: \d+, FAIL: (\d+)/.exec(output)!.map(Number)
    expect(failed).toBe(0)
    expect(passed).toBeGreaterThan(330)
  },
)

const schemas = process.env['REDFISH_SCHEMAS']
// A BMC without sessions lacks a link that the schema of the service root requires.
test.runIf(schemas !== undefined).each(withSessions)(
  'the service validator of DMTF finds nothing wrong with the personality %s',
  async (personality) => {
    const output = await outputOf('rf_service_validator', [
      '--rhost',
      `https://${hostOf(personality)}`,
      '--user',
      userName,
      '--password',
      password,
      '--authtype',
      'Basic',
      '--nooemcheck',
      '--skipschema',
      '--schema_directory',
      schemas!,
      '--logdir',
      join(folder, `${personality}-service`),
    ])
    // The last table: passed, warned, failed, not tested.
    const [, passed, failed] = /\| +(\d+) +\| +\d+ +\| +(\d+) +\| +\d+ +\|/
      .exec(output)!
      .map(Number)
    expect(failed).toBe(0)
    expect(passed).toBeGreaterThan(1_000)
  },
)

test.each(PERSONALITY_NAMES)(
  'sushy switches the machine, and inserts an image, with the personality %s',
  async (personality) => {
    const machine = machineOf(personality)
    const boots = machine.disk.state.counters.boots
    const output = await outputOf('python', [
      join(import.meta.dirname, 'sushy-client.py'),
      `https://${hostOf(personality)}`,
      userName,
      password,
      PERSONALITIES[personality].hasSessions ? 'session' : 'basic',
    ])
    const seen: unknown = JSON.parse(
      output
        .trim()
        .split('\n')
        .findLast((line) => line.startsWith('{'))!,
    )
    const { links, disks, memory } = machine.hardware
    expect(seen).toEqual({
      first: 'On',
      uuid: machine.disk.identity.uuid,
      override: ['Pxe', 'Once'],
      off: 'Off',
      on: 'On',
      processors: machine.hardware.sockets.reduce(
        (sum, { processor }) => sum + processor.threads,
        0,
      ),
      memory: memory.reduce((sum, { module }) => sum + (module?.sizeMib ?? 0), 0) / 1024,
      macs: links.map(({ mac }) => mac.toUpperCase()).toSorted(),
      disks: disks.length,
      inserted: [true, 'http://127.0.0.1:1/talos.iso'],
      ejected: false,
    })
    expect(machine.isOn).toBe(true)
    expect(machine.disk.state.counters.boots).toBe(boots + 1)
  },
)

test.each(withSessions)(
  'the tools of DMTF read sensors, set an override and switch off, with the personality %s',
  async (personality) => {
    const machine = machineOf(personality)
    const at = ['-r', `https://${hostOf(personality)}`, '-u', userName, '-p', password]
    const sensors = await outputOf('rf_sensor_list.py', at)
    for (const name of ['Inlet', 'Fan 6', 'Power supply 2', 'P12V', 'Total power'])
      expect(sensors).toContain(name)
    await outputOf('rf_boot_override.py', [...at, '-t', 'Cd', '-m', 'UEFI'])
    expect(simulator.bmcs.of(machine)!.kept.state.boot).toMatchObject({
      enabled: 'Once',
      target: 'Cd',
    })
    await outputOf('rf_power_reset.py', [...at, '-t', 'ForceOff'])
    await expect.poll(() => machine.isOn).toBe(false)
  },
)

test('redfishtool shuts down by Basic authentication', async () => {
  const machine = machineOf('no-sessions')
  await expect.poll(() => machine.stage.stage).toBe('maintenance')
  await outputOf('redfishtool', [
    '-r',
    hostOf('no-sessions'),
    '-u',
    userName,
    '-p',
    password,
    '-S',
    'Always',
    '-A',
    'Basic',
    'Systems',
    '-F',
    'reset',
    'GracefulShutdown',
  ])
  await expect.poll(() => machine.isOn).toBe(false)
})

/**
 * A cluster by files alone, with the command line as it is downloaded: created with 3 + 2 servers,
 * grown to 3 + 3 and upgraded, while the command line and Steelyard are killed with −9.
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { appliedList } from '#contract/apply/applied.ts'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { type Operation, operationList } from '#contract/operations.ts'
import { patchList } from '#contract/patches.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import type { Server } from '#contract/servers/servers.ts'
import type { Caller } from '../../tools/api-client.ts'
import { freePort } from '../../tools/processes.ts'
import { home, type Program } from './processes.ts'
import { openSite, patiently, type Site, signIn } from './testing/world.ts'

const limit = 600_000
const patient = { timeout: 240_000, interval: 100 }
const names = ['cp-1', 'cp-2', 'cp-3', 'w-1', 'w-2', 'w-3']

let site: Site
let program: Program
let call: Caller
let nodes: Server[]
let code: string
let token: string
const port = String(await freePort())

beforeAll(async () => {
  site = await openSite({ servers: 6, seed: 'apply', talos: ['v1.13.9'] })
  program = await site.start({ PORT: port })
  call = await signIn(program.url)
  nodes = await site.take(call, 6)
  code = (await call(datacenterList, { query: {} })).items.find(
    (d) => d.id === site.datacenterId,
  )!.code
  const made = await call(apiTokenCreate, {
    body: {
      name: 'pipeline',
      scopes: [
        'clusters:read',
        'clusters:write',
        'servers:read',
        'servers:write',
        'network:read',
        'datacenters:read',
      ],
    },
  })
  token = made.token
}, limit)
afterAll(() => site.stop())

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Starts a command as a pipeline does: with an API token and without a terminal. */
function begin(line: string) {
  const child = spawn(
    process.execPath,
    [join(home, 'cli/dist/steelyard.mjs'), ...line.split(' ')],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        XDG_CONFIG_HOME: join(site.folder, 'nothing'),
        STEELYARD_URL: program.url,
        STEELYARD_TOKEN: token,
      },
    },
  )
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    err += more
  })
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const ended = Promise.all([closed, text(child.stdout)]).then(([code, out]): Ran => ({
    code,
    out,
    err,
  }))
  return { ended, told: () => err, kill: () => child.kill('SIGKILL') }
}
const steelyard = (line: string): Promise<Ran> => begin(line).ended

const patchOf = (server: string) =>
  `kind: patch\nserver: ${server}\nname: sysctls\nbody: |\n  machine:\n    sysctls:\n      vm.swappiness: "30"\n`

/** The file of the cluster with its first `workers` workers. */
function file(workers: number, versions: string, patched: readonly string[] = []): string {
  const path = join(site.folder, `fleet-${workers}-${patched.length}.yaml`)
  const used = names.slice(0, 3 + workers)
  const members = used.map(
    (name) =>
      `  - { server: ${name}, role: ${name.startsWith('w') ? 'worker' : 'control_plane'} }\n`,
  )
  const servers = names.map(
    (name, i) => `kind: server\nuuid: ${nodes[i]!.identity.uuid}\nname: ${name}\n---\n`,
  )
  const patches = patched.map((server) => `---\n${patchOf(server)}`)
  writeFileSync(
    path,
    `${servers.join('')}kind: cluster\nname: fleet\ndatacenter: ${code}\nlocked: true\n${versions}servers:\n${members.join('')}${patches.join('')}`,
  )
  return path
}
const first = 'talos_version: v1.13.9\nkubernetes_version: 1.36.3\n'
const newest = 'talos_version: v1.14.1\nkubernetes_version: 1.37.2\n'

const operations = async (): Promise<Operation[]> =>
  (
    await patiently(() =>
      call(operationList, { query: { per_page: operationList.list.mostPerPage } }),
    )
  ).items.filter((o) => o.target.name === 'fleet')
const kindsOf = (all: readonly Operation[]) => all.map((o) => o.kind).toSorted()

/** Waits until an operation of the kind runs and has done `steps` of its steps. */
const untilRunning = (kind: Operation['kind'], steps: number): Promise<void> =>
  expect
    .poll(async () => {
      const found = (await operations()).find((o) => o.kind === kind && o.ended_at === null)
      return found?.steps.filter((s) => s.status === 'done').length ?? -1
    }, patient)
    .toBeGreaterThanOrEqual(steps)

const fleet = async () => {
  const found = (await patiently(() => call(clusterList, { query: {} }))).items.find(
    (c) => c.name === 'fleet',
  )
  return call(clusterGet, { params: { id: found!.id } })
}

test(
  'a file creates a cluster of 3 + 2: the plan comes first, a dry run changes nothing, and a killed apply is repeated',
  { timeout: limit },
  async () => {
    const path = file(2, first)
    const before = await site.simulator.counters()
    const planned = await steelyard(`diff -f ${path}`)
    expect(planned.code).toBe(1)
    expect(planned.out).toContain('+ cluster fleet')
    const dry = await steelyard(`apply -f ${path} --dry-run`)
    expect(dry.code).toBe(0)
    expect(dry.out).toContain('+ cluster fleet')
    expect((await steelyard(`apply -f ${path}`)).code).toBe(2)
    expect(await operations()).toEqual([])
    expect((await call(clusterList, { query: {} })).items).toEqual([])
    expect(await site.simulator.counters()).toEqual(before)

    const killed = begin(`apply -f ${path} --yes --wait`)
    await untilRunning('clusterCreate', 5)
    killed.kill()
    expect((await killed.ended).code).toBeNull()
    const again = await steelyard(`apply -f ${path} --yes --wait`)
    expect(`${again.code} ${again.err}`).toMatch(/^0 /)
    expect(again.err).toContain('Create cluster fleet: done')
    expect(await fleet()).toMatchObject({
      status: 'ready',
      control_planes: 3,
      workers: 2,
      talos_version: 'v1.13.9',
      kubernetes_version: '1.36.3',
      files: { set: 'default' },
    })
    expect((await steelyard(`diff -f ${path}`)).code).toBe(0)
  },
)

test(
  'the same command grows it to 3 + 3, upgrades Talos and Kubernetes and gives it a patch, although it and Steelyard are killed',
  { timeout: limit },
  async () => {
    const path = file(3, newest, names)
    const before = await operations()
    const planned = await steelyard(`diff -f ${path}`)
    expect(planned.code).toBe(1)
    for (const line of [
      'w-3: none → worker',
      'talos_version: 1.13.9 → 1.14.1',
      'kubernetes_version: 1.36.3 → 1.37.2',
    ])
      expect(planned.out).toContain(line)
    expect((await steelyard(`apply -f ${path} --dry-run`)).code).toBe(0)
    expect(kindsOf(await operations())).toEqual(kindsOf(before))

    const command = `apply -f ${path} --yes --wait`
    const killed = begin(command)
    await untilRunning('clusterGrow', 2)
    killed.kill()
    await killed.ended

    // The second run follows the addition that goes on, and sees Steelyard end in the upgrade.
    const second = begin(command)
    await untilRunning('clusterUpgradeTalos', 8)
    await program.kill()
    await expect.poll(second.told, patient).toContain('Trying again')
    program = await site.start({ PORT: port })
    call = await signIn(program.url)
    await expect.poll(second.told, patient).toContain('Steelyard answers again')
    await untilRunning('clusterUpgradeKubernetes', 2)
    second.kill()
    await second.ended

    const third = await steelyard(command)
    expect(`${third.code} ${third.out}${third.err}`).toMatch(/^0 /)
    expect(await fleet()).toMatchObject({
      status: 'ready',
      control_planes: 3,
      workers: 3,
      talos_version: 'v1.14.1',
      kubernetes_version: '1.37.2',
    })
    const last = await steelyard(`diff -f ${path}`)
    expect(`${last.code} ${last.out}`).toMatch(/^0 0 to create, 0 to change, 0 to remove, /)

    // Each change was made once, and no machine was installed, reset or bootstrapped twice.
    const all = await operations()
    expect(kindsOf(all)).toEqual([
      'clusterConfigure',
      'clusterCreate',
      'clusterGrow',
      'clusterUpgradeKubernetes',
      'clusterUpgradeTalos',
    ])
    expect(all.map((o) => o.status)).toEqual(all.map(() => 'done'))
    const counters = await site.simulator.counters()
    expect(counters.servers.map((s) => [s.installs, s.resets])).toEqual(names.map(() => [1, 0]))
    expect(counters.clusters).toMatchObject([
      { name: 'fleet', etcdMade: 1, quorumLosses: 0, mostUnready: 1 },
    ])
  },
)

test(
  'what a file no longer names is pruned by a change of the cluster, because apply has created it',
  { timeout: limit },
  async () => {
    const patches = async () =>
      (await Promise.all(nodes.map((n) => call(patchList, { params: { id: n.id } })))).flatMap(
        ({ items }) => items.filter((p) => !p.read_only).map((p) => p.name),
      )
    expect(await patches()).toHaveLength(6)
    expect(
      (await call(appliedList, { query: {} })).items.filter((a) => a.kind === 'patch'),
    ).toHaveLength(6)
    const ran = await steelyard(`apply -f ${file(3, newest)} --prune --yes --wait`)
    expect(`${ran.code} ${ran.err}`).toMatch(/^0 /)
    expect(await patches()).toEqual([])
    expect(kindsOf(await operations()).filter((k) => k === 'clusterConfigure')).toHaveLength(2)
  },
)

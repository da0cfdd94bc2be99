/**
 * A cluster is created, grown from 3 + 2 to 3 + 3 servers and upgraded by `steelyard apply` alone.
 * Program and command line are killed in the middle with −9; the same command continues.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { operationList } from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'
import type { Caller } from '../../tools/api-client.ts'
import { freePort } from '../../tools/processes.ts'
import { admin, outsideEnvironment, type Program } from './processes.ts'
import { openSite, patiently, type Site, signIn } from './testing/world.ts'

const withinMs = 10 * 60_000

let site: Site
let program: Program
let call: Caller
let nodes: Server[]
let port: string
const children = new Set<ChildProcess>()

beforeAll(async () => {
  site = await openSite({ servers: 6, seed: 'apply', talos: ['v1.12.11'] })
  port = String(await freePort())
  program = await site.start({ PORT: port })
  call = await signIn(program.url)
  nodes = await site.take(call, 6)
  const login = run('login', admin.email, '--password-stdin')
  login.child.stdin.end(`${admin.password}\n`)
  expect(await login.ended).toMatchObject({ code: 0 })
}, withinMs)
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await site.stop()
})

/** Starts the command line from its sources, which need no build. */
function run(...args: string[]) {
  const child = spawn(process.execPath, ['cli/src/main.ts', ...args], {
    env: {
      ...outsideEnvironment(),
      XDG_CONFIG_HOME: site.folder,
      STEELYARD_URL: `http://127.0.0.1:${port}`,
    },
  })
  children.add(child)
  const code = new Promise<number | null>((resolve) =>
    child.once('exit', (status) => {
      children.delete(child)
      resolve(status)
    }),
  )
  const ended = Promise.all([code, text(child.stdout), text(child.stderr)]).then(
    ([status, out, err]) => ({ code: status, out, err }),
  )
  return { child, ended }
}

/** A file with three control planes and some workers. */
function fileOf(workers: number, talos: string, kubernetes: string): string {
  const members = nodes
    .slice(0, 3 + workers)
    .map(({ name }, i) => `  - {server: ${name}, role: ${i < 3 ? 'control_plane' : 'worker'}}`)
  const file = join(site.folder, 'web.yaml')
  const versions = `talos_version: ${talos}\nkubernetes_version: ${kubernetes}`
  writeFileSync(
    file,
    `kind: cluster\nname: web\ndatacenter: PL-POZ-1\n${versions}\nservers:\n${members.join('\n')}\n`,
  )
  return file
}
const speed = (factor: number) => site.simulator.ask('PUT', '/speed', { speed: factor })
const apply = (file: string, ...more: string[]) => run('apply', '-f', file, '--yes', ...more)
const succeeds = async ({ ended }: ReturnType<typeof run>): Promise<string> => {
  const ran = await ended
  expect(`${ran.code}\n${ran.out}${ran.err}`).toMatch(/^0\n/)
  return ran.out
}

test(
  'a cluster of 3 + 2 is grown to 3 + 3 and upgraded by apply alone, although everything is killed in between',
  { timeout: withinMs },
  async () => {
    await succeeds(apply(fileOf(2, 'v1.12.11', '1.35.4'), '--wait'))
    const { items } = await call(clusterList, { query: {} })
    const { id } = items[0]!
    const file = fileOf(3, 'v1.13.9', '1.36.2')

    const shown = await run('diff', '-f', file).ended
    expect(shown.code).toBe(1)
    for (const line of [
      `${nodes[5]!.name}: none → worker`,
      'talos_version: 1.12.11 → 1.13.9',
      'kubernetes_version: 1.35.4 → 1.36.2',
    ])
      expect(shown.out).toContain(line)

    const first = apply(file, '--wait')
    const open = async (kind: string) =>
      (
        await patiently(() => call(operationList, { query: { target: id, status: 'open' } }))
      ).items.find((o) => o.kind === kind && o.steps.some((s) => s.status === 'done'))
    await expect
      .poll(() => open('clusterUpgradeTalos'), { timeout: withinMs, interval: 100 })
      .toBeDefined()
    // Slow enough that the upgrade still runs when the program is back.
    await speed(2)
    first.child.kill('SIGKILL')
    await program.kill()
    await first.ended
    program = await site.start({ PORT: port })
    call = await signIn(program.url)

    const busy = await succeeds(apply(file))
    expect(busy).toMatch(
      /cluster web waits: Upgrade Talos of web is \w+: \d+ of \d+ steps are done/,
    )
    await speed(200)
    await succeeds(apply(file, '--wait'))
    expect(await call(clusterGet, { params: { id } })).toMatchObject({
      talos_version: 'v1.13.9',
      kubernetes_version: '1.36.2',
      control_planes: 3,
      workers: 3,
    })
    expect(await succeeds(apply(file))).toContain('0 to change, 0 to remove, 1 unchanged')

    const { servers, clusters } = await site.simulator.counters()
    expect(servers.map(({ installs, resets }) => [installs, resets])).toEqual(
      servers.map(() => [1, 0]),
    )
    expect(clusters).toMatchObject([{ etcdMade: 1, quorumLosses: 0, budgetBreaches: 0 }])
  },
)

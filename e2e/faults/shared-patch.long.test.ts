/**
 * A shared patch with the command line as it is downloaded, in a pipeline: by one file with its
 * cluster, taken back by one command, and by two commands.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { datacenterList } from '#contract/datacenters.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import type { Server } from '#contract/servers/servers.ts'
import { sharedPatchList } from '#contract/shared-patches/shared-patches.ts'
import type { Caller } from '../../tools/api-client.ts'
import { home, type Program } from './processes.ts'
import { openSite, type Site, signIn } from './testing/world.ts'

const limit = 600_000
const names = ['cp-1', 'w-1', 'w-2']

let site: Site
let program: Program
let call: Caller
let nodes: Server[]
let code: string
let token: string

beforeAll(async () => {
  site = await openSite({ servers: 3, seed: 'shared-patch', talos: ['v1.13.9'] })
  program = await site.start()
  call = await signIn(program.url)
  nodes = await site.take(call, 3)
  code = (await call(datacenterList, { query: {} })).items.find(
    (d) => d.id === site.datacenterId,
  )!.code
  const scopes = [
    'clusters:read',
    'clusters:write',
    'servers:read',
    'servers:write',
    'network:read',
    'datacenters:read',
  ] as const
  token = (await call(apiTokenCreate, { body: { name: 'pipeline', scopes: [...scopes] } })).token
}, limit)
afterAll(() => site.stop())

/** Runs a command with an API token and without a terminal. */
const steelyard = (line: string): Promise<{ code: number; out: string; err: string }> =>
  new Promise((resolve) => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      XDG_CONFIG_HOME: join(site.folder, 'nothing'),
      STEELYARD_URL: program.url,
      STEELYARD_TOKEN: token,
    }
    const words = [join(home, 'cli/dist/steelyard.mjs'), ...line.split(' ')]
    const child = execFile(process.execPath, words, { env }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    )
  })

const vlan =
  'apiVersion: v1alpha1\nkind: VLANConfig\nname: vlan120\nvlanID: 120\nparent: {{link}}\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: {{link}}\n'
const serversOf = async () =>
  (await call(sharedPatchList, { query: {} })).items.map(({ name, servers }) => ({
    name,
    ...servers,
  }))

test(
  'one file labels servers, creates their cluster and rolls a VLAN out to them, and one command takes it back',
  { timeout: limit },
  async () => {
    const path = join(site.folder, 'fleet.yaml')
    const servers = names.map(
      (name, i) =>
        `kind: server\nuuid: ${nodes[i]!.identity.uuid}\nname: ${name}\nlabels: { net: storage }\n---\n`,
    )
    const members = names.map(
      (name, i) => `  - { server: ${name}, role: ${i === 0 ? 'control_plane' : 'worker'} }\n`,
    )
    writeFileSync(
      path,
      `${servers.join('')}kind: cluster\nname: fleet\ndatacenter: ${code}\ntalos_version: v1.13.9\nkubernetes_version: 1.36.3\nlabels: { team: edge }\nservers:\n${members.join('')}---\nkind: shared-patch\nname: vlan-storage\ntargets: { labels: [net=storage] }\nroll_out: true\ncanary: w-2\nbody: |\n${vlan.replaceAll(/^(?=.)/gm, '  ')}`,
    )
    const made = await steelyard(`apply -f ${path} --yes --wait`)
    expect(`${made.code} ${made.err}`).toMatch(/^0 /)
    expect(await serversOf()).toEqual([{ name: 'vlan-storage', targets: 3, current: 3, behind: 0 }])
    expect((await steelyard(`diff -f ${path}`)).code).toBe(0)
    const undone = await steelyard('shared-patch undo vlan-storage --yes --wait')
    expect(`${undone.code} ${undone.err}`).toMatch(/^0 /)
    expect(await serversOf()).toMatchObject([{ current: 0, behind: 3 }])
    expect((await steelyard('shared-patch delete vlan-storage --yes')).code).toBe(0)
  },
)

test('two commands save a VLAN and roll it out, canary first', { timeout: limit }, async () => {
  const path = join(site.folder, 'vlan.yaml')
  writeFileSync(path, vlan)
  const saved = await steelyard(
    `shared-patch save vlan --file ${path} -l net=storage --role worker`,
  )
  expect(saved).toMatchObject({
    code: 0,
    out: 'vlan is saved for 2 servers. Roll it out: steelyard shared-patch roll-out vlan\n',
  })
  const rolled = await steelyard('shared-patch roll-out vlan --canary w-2 --yes --wait')
  expect(`${rolled.code} ${rolled.err}`).toMatch(/^0 /)
  expect(await serversOf()).toEqual([{ name: 'vlan', targets: 2, current: 2, behind: 0 }])
})

/** Clusters from templates: the built command line, the program and simulated servers. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterCreate, clusterList } from '#contract/clusters/clusters.ts'
import { rackCreate, serverPlace } from '#contract/racks/racks.ts'
import { serverList, serverUpdate } from '#contract/servers/servers.ts'
import { templateList, templatePlan } from '#contract/templates/templates.ts'
import { admin, type Installation, startInstallation, until } from '../installation.ts'

const names = Array.from({ length: 10 }, (_, i) => `edge-${String(i + 1).padStart(2, '0')}`)

let installation: Installation
let folder: string
let site: { id: string; code: string }
const racks = ['R1', 'R2', 'R3', 'R4', 'R5']

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steelyard-e2e-templates-'))
  // More than the clusters need: some run an older Talos than the newest, and one waits to be
  // confirmed.
  installation = await startInstallation({ servers: 44, speed: 20 })
  const { call } = installation
  const { items } = await call(serverList, { query: { per_page: 1000 } })
  site = items.find((s) => s.datacenter !== null)!.datacenter!
  for (const { id, datacenter } of items)
    if (datacenter?.id !== site.id)
      await call(serverUpdate, { params: { id }, body: { datacenter_id: site.id } })
  const ids: string[] = []
  for (const name of racks)
    ids.push((await call(rackCreate, { body: { datacenter_id: site.id, name } })).id)
  for (const [i, { id }] of items.entries()) {
    const unit = 1 + Math.floor(i / racks.length)
    await call(serverPlace, { params: { id }, body: { rack_id: ids[i % racks.length]!, unit } })
  }
  await steelyard(`login ${admin.email} --password-stdin`, `${admin.password}\n`)
}, 240_000)
afterAll(async () => {
  await installation?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function steelyard(line: string, input = '') {
  const env = { ...process.env, XDG_CONFIG_HOME: folder, STEELYARD_URL: installation.url }
  const child = spawn(process.execPath, ['cli/dist/steelyard.mjs', ...line.split(' ')], { env })
  child.stdin.end(input)
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}

/**
 * In how many racks the servers stand that the template takes: those of the plan with the most
 * workers. Which of the servers are free after the first test differs from run to run.
 */
async function racksThatFit(name: string): Promise<number> {
  const { call } = installation
  const { items } = await call(templateList, {})
  const template_id = items.find((one) => one.name === name)!.id
  for (let workers = 40; workers >= 5; workers--) {
    const { clusters } = await call(templatePlan, {
      body: { template_id, datacenter_id: site.id, workers, clusters: [{ name: 'any' }] },
    })
    if (clusters) return new Set(clusters[0]!.servers.map(({ rack }) => rack)).size
  }
  throw new Error(`${site.code} has fewer than five servers that fit`)
}

test('one file with a template and ten names makes ten ready clusters, and a second run changes nothing', async () => {
  const file = join(folder, 'edge.yaml')
  writeFileSync(
    file,
    `kind: template
name: edge
control_planes: { count: 1 }
labels: { shop: edge }
---
kind: clusters
template: edge
datacenter: ${site.code}
names: [${names.join(', ')}]
`,
  )
  const applied = await steelyard(`apply -f ${file} --yes --wait`)
  expect(`${applied.code}\n${applied.out}${applied.err}`).toMatch(/^0\n/)
  for (const name of names)
    expect(applied.out).toContain(`+ cluster ${name} (1 server from the template edge)\n`)
  expect(applied.out).toMatch(/Talos on \/dev\/\S+ \(.+\): .+/)

  const edge = () =>
    installation.call(clusterList, {
      query: { label: 'shop=edge', sort: 'name', per_page: 100 },
    })
  const { items } = await edge()
  expect(items.map(({ name, status }) => [name, status])).toEqual(
    names.map((name) => [name, 'ready']),
  )
  expect(new Set(items.flatMap((c) => c.servers.map((s) => s.node_id))).size).toBe(10)

  const again = await steelyard(`apply -f ${file}`)
  expect(again).toMatchObject({
    code: 0,
    out: '0 to create, 0 to change, 0 to remove, 11 unchanged\n',
  })
  expect((await edge()).total).toBe(10)
}, 600_000)

test('"3 + 5 like shop-01, spread over racks" by the command line, after shop-01 by the API', async () => {
  const { call } = installation
  const { clusters } = await call(templatePlan, {
    body: {
      template: { name: 'shop', control_planes: { count: 3 }, workers: { count: 5 } },
      datacenter_id: site.id,
      clusters: [{ name: 'shop-01' }],
    },
  })
  await call(clusterCreate, { body: clusters![0]!.body })
  const shop = async (name: string) =>
    (await call(clusterList, { query: { q: name, per_page: 100 } })).items[0]
  await until('shop-01 is ready', async () => (await shop('shop-01'))?.status === 'ready', 240_000)

  const saved = await steelyard('template save shop --like shop-01')
  expect(saved).toMatchObject({ code: 0 })
  const mostRacks = await racksThatFit('shop')
  const made = await steelyard(
    `cluster create shop-02 --template shop --datacenter ${site.code} --yes --wait`,
  )
  expect(`${made.code}\n${made.out}${made.err}`).toMatch(/^0\n/)
  expect(made.out).toContain('+ cluster shop-02 (8 servers from the template shop)\n')

  const second = (await shop('shop-02'))!
  expect(second).toMatchObject({ status: 'ready', control_planes: 3, workers: 5 })
  const { items } = await call(serverList, { query: { per_page: 1000 } })
  const rackOf = (id: string) => items.find((s) => s.id === id)!.placement!.rack.name
  const racksOf = (role: string) =>
    second.servers.filter((s) => s.role === role).map((s) => rackOf(s.node_id))
  expect(new Set(racksOf('control_plane')).size).toBe(3)
  expect(new Set([...racksOf('control_plane'), ...racksOf('worker')]).size).toBe(mostRacks)
  for (const { name, node_id, role } of second.servers) {
    const [, reasons] = new RegExp(`${name}, ${role.replace('_', ' ')}: (.+)`).exec(made.out)!
    expect(reasons).toMatch(/\d+ cores, at least \d+; \d+ GiB, at least \d+; /)
    expect(reasons).toMatch(new RegExp(`(alone in )?rack ${rackOf(node_id)}\\b`))
  }
}, 600_000)

/**
 * Files against real programs: the export of a furnished installation makes an empty one the same.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterCreate } from '#contract/clusters/clusters.ts'
import { datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import { imageCreate } from '#contract/images.ts'
import { joinTokenCreate } from '#contract/join-tokens.ts'
import { clusterSubnets, clusterSubnetsAssign, subnetCreate } from '#contract/network/subnets.ts'
import { patchCreate } from '#contract/patches.ts'
import { serverList, serverUpdate } from '#contract/servers/servers.ts'
import {
  admin,
  type Installation,
  startInstallation,
  twoAlike,
  until,
  untilReady,
} from '../installation.ts'

let furnished: Installation
let empty: Installation
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steelyard-e2e-apply-'))
  ;[furnished, empty] = await Promise.all([
    startInstallation({ servers: 6, speed: 20 }),
    startInstallation({ servers: 6, speed: 20 }),
  ])
  await furnish(furnished)
}, 240_000)
afterAll(async () => {
  await Promise.all([furnished?.stop(), empty?.stop()])
  rmSync(folder, { recursive: true, force: true })
})

/** Creates one object of each kind through the API, and a cluster with a subnet. */
async function furnish({ call }: Installation): Promise<void> {
  const { items } = await call(serverList, { query: {} })
  const [cp, worker] = twoAlike(items)
  const site = cp.datacenter!
  await call(datacenterCreate, {
    body: {
      country_code: 'DE',
      city_code: 'BER',
      city_name: 'Berlin',
      tier: 2,
      certifications: ['ISO 27001'],
    },
  })
  const token = await call(joinTokenCreate, {
    body: { name: 'rack-3', datacenter_id: site.id, lifetime_hours: 48, max_uses: 10 },
  })
  await call(imageCreate, {
    body: {
      talos_version: cp.talos.version!,
      extensions: ['siderolabs/gvisor'],
      token_id: token.id,
    },
  })
  const subnet = await call(subnetCreate, {
    body: {
      name: 'edge-pool',
      datacenter_id: site.id,
      cidr: '198.18.7.0/26',
      gateway: '198.18.7.1',
      exclude: ['198.18.7.4/30', '198.18.7.9'],
    },
  })
  for (const [server, name] of [
    [cp, 'cp-1'],
    [worker, 'w-1'],
  ] as const)
    await call(serverUpdate, { params: { id: server.id }, body: { name } })
  await call(patchCreate, {
    params: { id: worker.id },
    body: {
      name: 'sysctls',
      weight: 600,
      labels: { team: 'edge' },
      body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n',
    },
  })
  const { cluster } = await call(clusterCreate, {
    body: {
      name: 'web',
      datacenter_id: site.id,
      talos_version: cp.talos.version!,
      servers: [
        { node_id: cp.id, role: 'control_plane' },
        { node_id: worker.id, role: 'worker' },
      ],
    },
  })
  await untilReady({ call }, cluster.id)
  await call(clusterSubnetsAssign, {
    params: { id: cluster.id },
    body: { subnet_ids: [subnet.id] },
  })
  await until('the subnet is active', async () =>
    (await call(clusterSubnets, { params: { id: cluster.id } })).items.every(
      (s) => s.status === 'active',
    ),
  )
}

interface Ran {
  code: number | null
  out: string
  err: string
}
async function steelyard(installation: Installation, line: string, input = ''): Promise<Ran> {
  const env = { ...process.env, XDG_CONFIG_HOME: folder, STEELYARD_URL: installation.url }
  const child = spawn(process.execPath, ['cli/dist/steelyard.mjs', ...line.split(' ')], { env })
  child.stdin.end(input)
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}
const summaryOf = ({ out }: Ran) => /^\d+ to create.*$/m.exec(out)?.[0]

test('an export, applied to an empty installation, creates everything, and the next plan is empty', async () => {
  for (const installation of [furnished, empty])
    expect(
      (
        await steelyard(
          installation,
          `login ${admin.email} --password-stdin`,
          `${admin.password}\n`,
        )
      ).code,
    ).toBe(0)
  const exported = await steelyard(furnished, 'export')
  expect(exported).toMatchObject({ code: 0, err: '' })
  const file = join(folder, 'racks.yaml')
  writeFileSync(file, exported.out)

  expect(summaryOf(await steelyard(furnished, `diff -f ${file}`))).toMatch(
    /^0 to create, 0 to change, 0 to remove, \d+ unchanged$/,
  )
  const planned = await steelyard(empty, `diff -f ${file}`)
  expect(planned.code).toBe(1)
  for (const line of [
    '+ datacenter DE-BER-1',
    '+ join-token rack-3',
    '+ subnet edge-pool',
    '+ patch sysctls of w-1',
    '+ cluster web',
  ])
    expect(planned.out).toContain(line)
  expect(planned.out).toMatch(/^\+ image Talos /m)

  const applied = await steelyard(empty, `apply -f ${file} --yes --wait`)
  expect(`${applied.code}\n${applied.out}${applied.err}`).toMatch(/^0\n/)
  expect(summaryOf(await steelyard(empty, `apply -f ${file}`))).toMatch(
    /^0 to create, 0 to change, 0 to remove, \d+ unchanged$/,
  )
  expect((await steelyard(empty, `diff -f ${file}`)).code).toBe(0)
  expect((await steelyard(empty, 'export')).out).toBe(exported.out)
}, 240_000)

test('prune removes what the files no longer contain, and leaves what the demo has made', async () => {
  const file = join(folder, 'racks.yaml')
  const { out } = await steelyard(empty, 'export --kind datacenter')
  writeFileSync(
    file,
    out
      .split('---\n')
      .filter((document) => !document.includes('DE-BER-1'))
      .join('---\n'),
  )
  const before = (await empty.call(datacenterList, { query: {} })).total
  const pruned = await steelyard(empty, `apply -f ${file} --prune --prune-cluster web --yes`)
  expect(`${pruned.code}\n${pruned.out}${pruned.err}`).toMatch(/^0\n/)
  expect((await empty.call(datacenterList, { query: {} })).total).toBe(before - 1)
  const left = await steelyard(empty, 'export --kind cluster,subnet,patch,image,join-token')
  expect(left.out).toBe('')
}, 120_000)

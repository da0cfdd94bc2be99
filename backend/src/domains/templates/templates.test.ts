/** Templates: saving them, and clusters that are made from them on simulated machines. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import { snapshotScheduleGet } from '#contract/clusters/changes/snapshots.ts'
import { clusterCreate, clusterGet, clusterPreview } from '#contract/clusters/clusters.ts'
import { subnetGet } from '#contract/network/subnets.ts'
import { operationCancel } from '#contract/operations.ts'
import { patchCreate } from '#contract/patches.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import type { Scope } from '#contract/permissions.ts'
import { rackCreate, serverPlace } from '#contract/racks/racks.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import {
  clusterTemplate,
  templateCreate,
  templateGet,
  templateList,
  templatePlan,
  templateRemove,
  templateUpdate,
} from '#contract/templates/templates.ts'
import { schematicId } from '#talos/schematic/schematic.ts'
import { addSubnet } from '../subnets/testing.ts'
import { begins, inAnHour } from '../clusters/testing/scheduled.ts'
import { clusterWorld } from '../clusters/testing/world.ts'

const world = await clusterWorld({ servers: 9, seed: 'templates' })
const { admin, backend } = world
const { datacenter } = world.nodes[0]!
const datacenter_id = datacenter!.id
const sysctls = { name: 'sysctls', body: 'machine:\n  sysctls:\n    vm.swappiness: "1"\n' }
const plan = async (body: object) => {
  const { answer } = await admin.call(templatePlan, {
    body: { datacenter_id, clusters: [{ name: 'shop-01' }], ...body },
  })
  return answer!
}
const window = { days: ['sat' as const], from: '02:30', minutes: 240, time_zone: 'UTC' }
const withGvisor = schematicId({ officialExtensions: ['siderolabs/gvisor'] })
const small = { name: 'small', control_planes: { count: 1 } }

const token = async (name: string, scopes: Scope[]) => {
  const { answer } = await admin.call(apiTokenCreate, { body: { name, scopes } })
  return { headers: { authorization: `Bearer ${answer!.token}` } }
}
const lacks = (scope: string) => ({
  status: 403,
  problem: { error: `The API token does not include ${scope}` },
})

test('an API token sees no servers and subnets in plans that it may not read', async () => {
  const wish = { datacenter_id, clusters: [{ name: 'shop-01' }], template: small }
  const asked = async (name: string, scopes: Scope[], more: object = {}) =>
    backend.call(
      templatePlan,
      { body: { ...wish, template: { ...small, ...more } } },
      await token(name, scopes),
    )
  expect(await asked('none', ['clusters:write'])).toMatchObject(lacks('servers:read'))
  const scopes: Scope[] = ['clusters:write', 'servers:read']
  expect(await asked('plain', scopes)).toMatchObject({ status: 200 })
  expect(await asked('subnets', scopes, { subnets: [{}] })).toMatchObject(lacks('network:read'))
})

test('a template is saved, replaced, listed and removed, and the audit log says so', async () => {
  const made = await admin.call(templateCreate, { body: { name: 'shop', workers: { count: 5 } } })
  expect(made).toMatchObject({
    status: 201,
    answer: {
      name: 'shop',
      revision: 1,
      control_planes: { count: 3, needs: { disks: [] }, install_disk: { prefer: 'smallest' } },
      workers: { count: 5 },
      spread_over_racks: true,
    },
  })
  const { id, version } = made.answer!
  const params = { id }
  expect(await admin.call(templateCreate, { body: { name: 'shop' } })).toMatchObject({
    status: 409,
    problem: { code: 'name_taken', fields: { name: expect.any(String) as string } },
  })
  const changed = await admin.call(
    templateUpdate,
    { params, body: { name: 'shop', talos_version: 'v1.12.0', labels: { shop: 'yes' } } },
    { ifMatch: version },
  )
  expect(changed.answer).toMatchObject({
    revision: 2,
    labels: { shop: 'yes' },
    workers: { count: 0 },
  })
  const stale = await admin.call(
    templateUpdate,
    { params, body: { name: 'shop' } },
    { ifMatch: version },
  )
  expect(stale.problem).toMatchObject({ code: 'stale' })
  const viewer = await backend.signIn({ role: 'viewer' })
  expect((await viewer.call(templateList)).answer!.items.map((t) => t.name)).toEqual(['shop'])
  expect((await viewer.call(templateRemove, { params })).status).toBe(403)
  expect((await admin.call(templateRemove, { params })).status).toBe(204)
  expect((await admin.call(templateGet, { params })).status).toBe(404)
  await backend.publish()
  const audit = (await admin.call(auditList, { query: { target: id } })).answer!
  expect(audit.items.map((entry) => entry.action).toSorted()).toEqual([
    'template.created',
    'template.removed',
    'template.updated',
  ])
})

test.each([
  ['a key', 'machine:\n  ca:\n    key: LS0tLS1CRUdJTiBFRDI1NTE5IFBSSVZBVEUgS0VZLS0tLS0K\n', /./],
  [
    'a password',
    'machine:\n  registries:\n    config:\n      r.example:\n        auth:\n          password: hush\n',
    /holds a secret/,
  ],
  ['a variable that may be one', 'machine:\n  env:\n    TOKEN: hush\n', /holds a secret/],
  ['bad YAML', 'machine: [', /^Line/],
])('a patch with %s is refused', async (_what, body, sentence) => {
  const refused = await admin.call(templateCreate, {
    body: { name: 'keys', workers: { count: 1, patch: { name: 'secret', body } } },
  })
  expect(refused).toMatchObject({
    status: 422,
    problem: { fields: { 'workers.patch.body': expect.stringMatching(sentence) as string } },
  })
  expect(refused.text).not.toContain('hush')
})

test('a comment is no secret', async () => {
  const body = `# calm\n${sysctls.body}`
  const made = await admin.call(templateCreate, {
    body: { name: 'calm', workers: { patch: { ...sysctls, body } } },
  })
  expect(made.answer!.workers.patch!.body).toBe(body)
  await admin.call(templateRemove, { params: { id: made.answer!.id } })
})

test('a template whose versions are gone is refused with the nearest ones, which can be taken instead', async () => {
  const template = { ...small, talos_version: 'v1.2.3', kubernetes_version: '1.25.0' }
  const gone = await plan({ template })
  expect(gone).toMatchObject({
    clusters: null,
    nearest: { talos_version: expect.stringMatching(/^v1\.1\d/) as string },
  })
  const { talos_version, kubernetes_version } = gone.nearest!
  expect(gone.refusals).toEqual([
    `The versions of the template can't be had any more: Talos v1.2.3 is not supported; choose ${gone.refusals[0]!.split('choose ')[1]!.split('. The')[0]!}. The nearest are Talos ${talos_version} and Kubernetes ${kubernetes_version}`,
  ])
  const taken = await plan({ template: { ...small }, talos_version: 'v1.13.9' })
  expect(taken.refusals).toEqual([])
  const kubernetes = await plan({
    template: { ...small, talos_version: 'v1.13.9', kubernetes_version: '1.20.1' },
  })
  expect(kubernetes.nearest).toMatchObject({
    talos_version: 'v1.13.9',
    kubernetes_version: expect.stringMatching(/^1\.31\./) as string,
  })
  expect(kubernetes.refusals[0]).toMatch(/not 1\.20\.1\. The nearest are Talos v1\.13\.9/)
})

test('names that are taken or given twice, and too few servers, are refused together', async () => {
  const refused = await plan({
    template: { ...small, talos_version: 'v1.13.9' },
    clusters: [{ name: 'twice' }, { name: 'twice' }],
    control_planes: 7,
  })
  expect(refused.refusals).toEqual([
    'twice is named twice',
    expect.stringMatching(/^Too few servers for 14 control planes: 9 servers suit/),
  ])
})

test('a store and an image that are gone, and subnets that are used up, are refused by name', async () => {
  const template = {
    ...small,
    talos_version: 'v1.13.9',
    subnets: [{ type: 'IPv6' as const, addresses: 30 }],
    snapshots: { store: 'nowhere', every_hours: 6 as const },
    extensions: ['siderolabs/nonsense'],
  }
  const refused = await plan({ template })
  expect(refused.clusters).toBeNull()
  expect(refused.refusals).toEqual([
    'Too few subnets: 1 is asked for, and the datacenter has no further free workload subnet of type IPv6 with at least 30 addresses',
    'There is no store nowhere, to which the snapshots of the template go: add a store of this name, or change the template',
    expect.stringMatching(
      /^The image of the template can't be had: The image factory has no extension siderolabs\/nonsense for Talos v1\.1/,
    ),
  ])
})

test('a cluster is made from a template, and another one like it on other servers', async () => {
  const racks: string[] = []
  for (const name of ['R1', 'R2', 'R3'])
    racks.push((await admin.call(rackCreate, { body: { datacenter_id, name } })).answer!.id)
  for (const [i, node] of world.nodes.entries()) {
    const body = { rack_id: racks[i % 3]!, unit: 1 + Math.floor(i / 3) }
    expect((await admin.call(serverPlace, { params: { id: node.id }, body })).status).toBe(200)
  }
  const [quarantined] = world.nodes
  await admin.call(serverUpdate, {
    params: { id: quarantined!.id },
    body: { quarantine: { reason: 'Its fan hums' } },
  })
  const saved = await admin.call(templateCreate, {
    body: {
      name: 'shop',
      talos_version: 'v1.13.9',
      kubernetes_version: '1.36.3',
      control_planes: { count: 3 },
      workers: { count: 1, patch: sysctls },
      subnets: [{ type: 'IPv4', addresses: 10 }],
      extensions: ['siderolabs/gvisor'],
      labels: { shop: 'edge' },
      maintenance_window: window,
      snapshots: { store: 'offsite', every_hours: 6 },
    },
  })
  const folder = path.join(backend.config.dataFolder, 'stores', 'a')
  mkdirSync(folder, { recursive: true })
  const offsite = await admin.call(storeCreate, {
    body: { name: 'offsite', kind: 'folder', folder },
  })
  expect(offsite.problem).toBeUndefined()
  const subnet = await addSubnet(admin, datacenter_id, 'edge-net', '203.0.113.0/28')
  const planned = await plan({ template_id: saved.answer!.id })
  expect(planned.refusals).toEqual([])
  const [first] = planned.clusters!
  expect(first!.servers.map((s) => s.role)).toEqual([
    ...Array<string>(3).fill('control_plane'),
    'worker',
  ])
  expect(new Set(first!.servers.slice(0, 3).map((s) => s.rack)).size).toBe(3)
  expect(planned.left).toEqual([
    expect.objectContaining({ reason: 'suitable, not needed', count: 4 }),
    {
      reason: 'in quarantine',
      count: 1,
      servers: [{ id: quarantined!.id, name: quarantined!.name }],
    },
  ])
  for (const { install_disk } of first!.servers) expect(install_disk.wiped).toBe(true)
  expect(first!.body.confirmed_disks).toHaveLength(4)

  // A disk of the plan that holds something by now is not wiped.
  const spoiled = first!.body.servers[3]!
  await backend.platform.db
    .updateTable('server')
    .set((eb) => ({
      hardware: eb
        .cast(
          eb.fn('regexp_replace', [
            eb.cast(eb.ref('hardware'), 'text'),
            eb.val('"content": "empty"'),
            eb.val('"content": "ext4"'),
            eb.val('g'),
          ]),
          'jsonb',
        )
        .$castTo<never>(),
    }))
    .where('id', '=', spoiled.node_id)
    .execute()
  const refused = await admin.call(clusterCreate, { body: first!.body })
  expect(refused.problem).toMatchObject({
    code: 'disk_not_confirmed',
    error: expect.stringMatching(/was confirmed as "empty", which has changed since/) as string,
  })

  const without = [spoiled.node_id]
  const again = (await plan({ template_id: saved.answer!.id, without })).clusters![0]!
  expect(again.servers.map((s) => s.node_id)).not.toContain(spoiled.node_id)
  expect(again.subnets).toEqual([{ id: subnet.id, name: 'edge-net', cidr: '203.0.113.0/28' }])
  const gone = await admin.call(clusterCreate, {
    body: { ...again.body, subnet_ids: [subnet.id, datacenter_id] },
  })
  expect(gone.problem).toMatchObject({
    code: 'not_found',
    fields: { 'subnet_ids.1': 'There is no such subnet' },
  })
  expect((await admin.call(subnetGet, { params: { id: subnet.id } })).answer!.clusters).toEqual([])
  const preview = (await admin.call(clusterPreview, { body: again.body })).answer!
  expect(preview.checks.filter((check) => !check.ok)).toEqual([])
  expect(preview.steps.at(-1)!.title).toBe('Add edge-net to the load balancer')
  for (const { config } of preview.servers) expect(config).toContain(`/${withGvisor}:v1.13.9`)

  const created = await admin.call(clusterCreate, { body: again.body })
  expect(created.problem).toBeUndefined()
  const { id } = created.answer!.cluster
  // Everything is there before the first server is installed.
  expect(created.answer!.cluster).toMatchObject({
    maintenance_window: window,
    labels: { shop: 'edge' },
    subnets: [{ name: 'edge-net' }],
  })
  expect((await admin.call(subnetGet, { params: { id: subnet.id } })).answer).toMatchObject({
    status: 'applying',
    reason: 'The load balancer gets it once the cluster is ready',
  })
  const schedule = await admin.call(snapshotScheduleGet, { params: { id } })
  expect(schedule.answer!.schedule).toMatchObject({
    store: { id: offsite.answer!.id },
    every_hours: 6,
  })
  const other = await admin.call(clusterPreview, {
    body: { ...again.body, name: 'shop-09', subnet_ids: [subnet.id] },
  })
  expect(other.answer!.checks).toContainEqual({
    check: 'subnets',
    ok: false,
    message: expect.stringMatching(/^edge-net was assigned to shop-01 by /) as string,
  })
  expect(await world.ended(created.answer!.operation.id)).toMatchObject({ status: 'done' })
  for (const { node_id } of again.body.servers)
    expect(world.machine({ id: node_id }).schematic).toBe(withGvisor)
  await world.until(
    async () => (await admin.call(subnetGet, { params: { id: subnet.id } })).answer!,
    ({ status, reason }) => status === 'active' && reason === null,
  )
  const taken = await plan({ template_id: saved.answer!.id, without })
  expect(taken.refusals[0]).toMatch(/^shop-01: Cluster name already exists/)

  for (const { node_id, role } of again.body.servers)
    if (role === 'control_plane')
      await admin.call(patchCreate, { params: { id: node_id }, body: { ...sysctls, name: 'calm' } })
  const few = await token('like', ['clusters:read'])
  expect(await backend.call(clusterTemplate, { params: { id } }, few)).toMatchObject(
    lacks('servers:read'),
  )
  const like = await admin.call(clusterTemplate, { params: { id } })
  expect(like.answer).toMatchObject({
    template: {
      name: 'shop-01',
      talos_version: 'v1.13.9',
      kubernetes_version: '1.36.3',
      control_planes: { count: 3, patch: { name: 'calm' } },
      workers: { count: 1, patch: { name: 'sysctls' } },
      extensions: ['siderolabs/gvisor'],
      maintenance_window: window,
      subnets: [{ type: 'IPv4', addresses: subnet.total! }],
    },
    left_out: [],
  })
  const { needs } = like.answer!.template.workers
  expect(needs.cores).toBeGreaterThan(0)
  const second = await plan({
    template: { ...like.answer!.template, subnets: [], control_planes: { count: 1 } },
    clusters: [{ name: 'shop-02' }],
    workers: 1,
    without,
  })
  expect(second.refusals).toEqual([])
  const members = new Set(
    (await admin.call(clusterGet, { params: { id } })).answer!.servers.map((s) => s.node_id),
  )
  expect(second.clusters![0]!.servers.filter((s) => members.has(s.node_id))).toEqual([])

  // A server that joins later is installed with what all others have, as contacts have read it.
  const worker = again.servers.find(({ role }) => role === 'worker')!
  await world.until(
    () => world.server(worker.node_id),
    ({ talos }) => talos.schematic === withGvisor,
  )
  const joining = second.clusters![0]!.servers[1]!
  const change = {
    kind: 'grow' as const,
    servers: [{ node_id: joining.node_id, role: 'worker' as const }],
  }
  const planOf = async () =>
    (await admin.call(clusterPlan, { params: { id }, body: { change } })).answer!
  await world.simulator.factory.fault({ kind: 'down' })
  const silent = await planOf()
  expect(silent.checks.filter(({ check, ok }) => check === 'image' || !ok)).toEqual([])
  expect(silent.warnings).toContainEqual(
    expect.stringMatching(`^It is not known whether ${joining.name} has the extensions that `),
  )
  await world.simulator.factory.fault(null)
  const grown = await planOf()
  expect(grown.checks).toContainEqual({
    check: 'image',
    ok: true,
    message: `${joining.name} is installed with siderolabs/gvisor, which ${worker.name} has`,
  })
  expect(grown.warnings).toEqual([])
  const stale = await admin.call(clusterChange, {
    params: { id },
    body: { change, seen: silent.seen },
  })
  expect(stale.problem).toMatchObject({ code: 'stale' })
  // Scheduled, it doesn't join without: nobody would see the other plan.
  const scheduled = await admin.call(clusterChange, {
    params: { id },
    body: { change, start: inAnHour() },
  })
  const later = scheduled.answer!.operation.id
  await world.simulator.factory.fault({ kind: 'down' })
  await begins(world, id, later)
  const waiting = await world.until(
    () => world.operation(later),
    ({ reason }) => /^Waits, at most until \d\d:\d\d UTC: The image factory/.test(reason ?? ''),
  )
  expect(waiting.status).toBe('pending')
  await admin.call(operationCancel, { params: { id: later } })
  expect(await world.ended(later)).toMatchObject({ status: 'cancelled' })
  await world.simulator.factory.fault(null)
  const joined = await admin.call(clusterChange, {
    params: { id },
    body: { change, seen: grown.seen },
  })
  expect(await world.ended(joined.answer!.operation.id)).toMatchObject({ status: 'done' })
  expect(world.machine({ id: joining.node_id }).schematic).toBe(withGvisor)
})

/** Templates: saving them, and clusters that are made from them on simulated machines. */
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { patchCreate } from '#contract/patches.ts'
import { rackCreate, serverPlace } from '#contract/racks/racks.ts'
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
const small = { name: 'small', control_planes: { count: 1 } }

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
    },
  })
  const planned = await plan({ template_id: saved.answer!.id })
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
  const created = await admin.call(clusterCreate, { body: again.body })
  expect(created.problem).toBeUndefined()
  expect(await world.ended(created.answer!.operation.id)).toMatchObject({ status: 'done' })
  const { id } = created.answer!.cluster
  const taken = await plan({ template_id: saved.answer!.id, without })
  expect(taken.refusals[0]).toMatch(/^shop-01: Cluster name already exists/)

  for (const { node_id, role } of again.body.servers)
    if (role === 'control_plane')
      await admin.call(patchCreate, { params: { id: node_id }, body: { ...sysctls, name: 'calm' } })
  const like = await admin.call(clusterTemplate, { params: { id } })
  expect(like.answer).toMatchObject({
    template: {
      name: 'shop-01',
      talos_version: 'v1.13.9',
      kubernetes_version: '1.36.3',
      control_planes: { count: 3, patch: { name: 'calm' } },
      workers: { count: 1, patch: { name: 'sysctls' } },
      extensions: [],
    },
    left_out: [],
  })
  const { needs } = like.answer!.template.workers
  expect(needs.cores).toBeGreaterThan(0)
  const second = await plan({
    template: { ...like.answer!.template, control_planes: { count: 1 } },
    clusters: [{ name: 'shop-02' }],
    workers: 1,
    without,
  })
  expect(second.refusals).toEqual([])
  const members = new Set(
    (await admin.call(clusterGet, { params: { id } })).answer!.servers.map((s) => s.node_id),
  )
  expect(second.clusters![0]!.servers.filter((s) => members.has(s.node_id))).toEqual([])
})

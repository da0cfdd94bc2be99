/** Roll-outs of shared patches over a cluster and a server without one, with other link names. */
import { describe, expect, test, vi } from 'vitest'
import { Problem } from '#contract/errors.ts'
import { forNow } from '#contract/rule.ts'
import { findingList } from '#contract/findings/findings.ts'
import { operationList, operationRetry } from '#contract/operations.ts'
import { patchCreate, patchList } from '#contract/patches.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import {
  serverSharedPatches,
  sharedPatchCreate,
  sharedPatchGet,
  sharedPatchPreview,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchServers,
  sharedPatchUndo,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { waitsFor } from './carrying.ts'

const world = await clusterWorld({ servers: 5 })
const { admin } = world
const nodes = world.take(4)
const [, first, second, third] = nodes as [(typeof nodes)[0], ...typeof nodes]
const idle = world.take(1)[0]!
const { cluster, operation: creation } = await world.create([nodes[0]!, first!, second!])
await world.ended(creation.id)

const configOf = (node: { id: string }) => world.machine(node).disk.state.config ?? ''
const linkOf = async (node: { id: string }) => {
  const { rows } = await world.backend.platform.pool.query<{ link: string }>(
    `select l->>'name' as link from server s, jsonb_array_elements(s.hardware->'links') l where s.id = $1 and l->>'addresses' like '%' || host(s.address::inet) || '/%'`,
    [node.id],
  )
  return rows[0]!.link
}
/** With DHCP on the link of the management: a document of a link stops Talos's default. */
const vlan = (parent: string) =>
  `apiVersion: v1alpha1\nkind: VLANConfig\nname: vlan120\nvlanID: {{label.vlan}}\nparent: ${parent}\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: {{link}}\n`
const label = async (node: { id: string }, labels: Record<string, string | null>) =>
  expect(
    (await admin.call(serverUpdate, { params: { id: node.id }, body: { labels } })).status,
  ).toBe(200)
for (const node of [first!, second!, idle]) await label(node, { net: 'storage', vlan: '120' })

const get = async (id: string) => (await admin.call(sharedPatchGet, { params: { id } })).answer!
const begin = async (id: string, body: object = {}) => {
  const called = await admin.call(sharedPatchRollOut, { params: { id }, body })
  if (!called.answer) throw new Error(called.text)
  return called.answer.operation
}
let id = ''
/** The roll-out that its canary has refused. */
let refused = ''

test('the preview groups servers by likeness and names the one that refuses', async () => {
  const links = [await linkOf(first!), await linkOf(second!)]
  expect(links[0]).not.toBe(links[1])
  const { answer } = await admin.call(sharedPatchPreview, {
    body: {
      name: 'vlan-storage',
      body: vlan(links[0]!),
      targets: { labels: ['net=storage'], roles: ['worker'] },
    },
  })
  expect(answer).toMatchObject({
    servers: 2,
    unchanged: 0,
    refused: [
      {
        server: { name: second!.name },
        reason: expect.stringContaining(`${second!.name} has no link ${links[0]!}`) as string,
      },
    ],
  })
  expect(answer!.groups.map((g) => g.servers.map((s) => s.name))).toEqual([[first!.name]])
  const { answer: right } = await admin.call(sharedPatchPreview, {
    body: { name: 'vlan-storage', body: vlan('{{link}}'), targets: { labels: ['net=storage'] } },
  })
  expect(right!.refused).toEqual([])
  expect(right!.groups.map((g) => [g.effect, g.servers.length])).toEqual([
    ['no_reboot', 2],
    ['at_install', 1],
  ])
  expect(right!.groups[0]!.lines).toContain('+parent: {{link}}')
  expect(right!.groups[0]!.lines).toContain('+vlanID: {{label.vlan}}')
})

test('saving sends nothing: the running servers are behind until somebody rolls out', async () => {
  const made = await admin.call(sharedPatchCreate, {
    body: {
      name: 'vlan-storage',
      body: vlan(await linkOf(first!)),
      targets: { labels: ['net=storage'], cluster_ids: [cluster.id] },
    },
  })
  expect(made).toMatchObject({
    status: 201,
    answer: { servers: { targets: 2, current: 0, behind: 2 }, last_roll_out: null },
  })
  id = made.answer!.id
  expect(configOf(first!)).not.toContain('vlan120')
  await world.backend.domains.findings.judge()
  const { answer } = await admin.call(findingList, {
    query: { kind: 'server_shared_patches_behind' },
  })
  expect(Object.fromEntries(answer!.items.map((f) => [f.object.name, f.reason]))).toEqual(
    Object.fromEntries(
      [first!, second!].map(({ name }) => [
        name,
        'It does not have the newest of the shared patch vlan-storage. Nothing is sent until somebody rolls out.',
      ]),
    ),
  )
})

test('the roll-out stops at the canary that refuses, and no server is changed', async () => {
  const operation = await begin(id, { canary_id: second!.id })
  expect(operation.steps.map((s) => s.node_id)).toEqual([second!.id, first!.id])
  const ended = await world.ended(operation.id)
  expect(ended).toMatchObject({
    status: 'failed',
    reason: expect.stringMatching(
      new RegExp(`^Stopped at ${second!.name}: .*has no link `),
    ) as string,
  })
  expect(ended.steps.map((s) => s.status)).toEqual(['failed', 'todo'])
  expect([first!, second!].filter((n) => configOf(n).includes('vlan120'))).toEqual([])
  expect(
    (await admin.call(operationRetry, { params: { id: operation.id }, body: {} })).status,
  ).toBe(200)
  expect(await world.ended(operation.id)).toMatchObject({ status: 'failed' })
  refused = operation.id
})

test('a mended patch goes to one server after another, and each merged line says its patch', async () => {
  const { version } = await get(id)
  const saved = await admin.call(
    sharedPatchUpdate,
    { params: { id }, body: { body: vlan('{{link}}') } },
    { ifMatch: version },
  )
  expect(saved.answer).toMatchObject({ revision: 2, variables: ['label.vlan', 'link'] })
  expect(
    await admin.call(
      sharedPatchUpdate,
      { params: { id }, body: { weight: 5 } },
      { ifMatch: version },
    ),
  ).toMatchObject({ status: 412, problem: { code: 'stale' } })
  const operation = await begin(id, { canary_id: second!.id })
  expect(await admin.call(sharedPatchRemove, { params: { id } })).toMatchObject({
    problem: { code: 'operation_running' },
  })
  const ended = await world.ended(operation.id)
  expect(ended).toMatchObject({ status: 'done', reason: null })
  expect(ended.steps.map((s) => s.status)).toEqual(['done', 'done'])
  for (const node of [first!, second!]) {
    expect(configOf(node)).toContain('name: vlan120')
    expect(configOf(node)).toContain(`parent: ${await linkOf(node)}`)
    const { items } = (await admin.call(serverSharedPatches, { params: { id: node.id } })).answer!
    expect(items).toMatchObject([{ name: 'vlan-storage', state: 'current', revision: 2 }])
    // The specified list shows a server's own patches only.
    const own = (await admin.call(patchList, { params: { id: node.id } })).answer!
    expect(own.items.filter((p) => !p.read_only)).toEqual([])
  }
  expect(await get(id)).toMatchObject({
    servers: { targets: 2, current: 2, behind: 0 },
    last_operation: { id: operation.id, kind: 'sharedPatchRollOut', status: 'done', reason: null },
  })
})

test('a roll-out that a later one has followed is not retried', async () => {
  expect(
    (await admin.call(operationRetry, { params: { id: refused }, body: {} })).problem,
  ).toMatchObject({
    code: 'operation_ended',
    error:
      'vlan-storage was rolled out or undone again since: roll it out for the servers that are behind',
  })
  expect(await world.operation(refused)).toMatchObject({ status: 'failed' })
})

test('a patch of the server itself keeps the shared one', async () => {
  const own = await admin.call(patchCreate, {
    params: { id: first!.id },
    body: { name: 'own', body: 'machine:\n  sysctls:\n    vm.swappiness: "7"\n' },
  })
  expect(own.status).toBe(201)
  await world.until(
    () => Promise.resolve(configOf(first!)),
    (text) => text.includes('vm.swappiness'),
  )
  expect(configOf(first!)).toContain('name: vlan120')
})

test('a server that joins the label is behind, and one undo brings every touched server back', async () => {
  await label(nodes[0]!, { net: 'storage', vlan: '120' })
  const { items } = (await admin.call(sharedPatchServers, { params: { id } })).answer!
  expect(Object.fromEntries(items.map(({ server, state }) => [server.name, state]))).toEqual({
    [nodes[0]!.name]: 'behind',
    [first!.name]: 'current',
    [second!.name]: 'current',
  })
  expect((await admin.call(sharedPatchRemove, { params: { id } })).problem).toMatchObject({
    code: 'conflict',
    error: expect.stringContaining('2 servers have this patch') as string,
  })
  const { answer } = await admin.call(sharedPatchUndo, { params: { id }, body: {} })
  expect(await world.ended(answer!.operation.id)).toMatchObject({ status: 'done' })
  for (const node of [first!, second!]) expect(configOf(node)).not.toContain('vlan120')
  // The patch that its canary refused has changed nothing: it does not become the wanted one again.
  expect(await get(id)).toMatchObject({ body: vlan('{{link}}'), revision: 2 })
  expect(configOf(first!)).toContain('vm.swappiness')
  expect((await admin.call(sharedPatchUndo, { params: { id }, body: {} })).problem).toMatchObject({
    code: 'transition_refused',
    error: 'The last roll-out was undone already',
  })
})

test('a run that ends right after it has begun the change of a cluster leaves a roll-out that follows it', async () => {
  const made = await admin.call(sharedPatchCreate, {
    body: {
      name: 'quiet',
      body: 'machine:\n  sysctls:\n    kernel.printk: "3"\n',
      targets: { node_ids: [second!.id] },
    },
  })
  const changes = async () =>
    (await admin.call(operationList, { query: { target: cluster.id } })).answer!
  const { total } = await changes()
  let isEnded = false
  const reach = vi.spyOn(world.backend.platform.failpoint, 'reach').mockImplementation((name) => {
    if (name !== 'roll-out-begun' || isEnded) return
    isEnded = true
    throw new Error('The run ends here')
  })
  const operation = await begin(made.answer!.id)
  expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
  reach.mockRestore()
  const { rows } = await world.backend.platform.pool.query<{ change_id: string | null }>(
    'select s.change_id from shared_roll_out_server s join shared_roll_out r on r.id = s.roll_out_id where r.operation_id = $1',
    [operation.id],
  )
  const now = await changes()
  expect([isEnded, now.total]).toEqual([true, total + 1])
  expect(rows).toEqual([{ change_id: now.items[0]!.id }])
})

describe('servers in no cluster', () => {
  test('a roll-out stores the patch for the installation, and an undo brings the former one back', async () => {
    const sysctl = (value: string) =>
      `machine:\n  sysctls:\n    vm.swappiness: "${value}" # {{name}}\n`
    const made = (
      await admin.call(sharedPatchCreate, {
        body: { name: 'calm', body: sysctl('10'), targets: { node_ids: [idle.id, third!.id] } },
      })
    ).answer!
    const params = { id: made.id }
    expect(await world.ended((await begin(made.id)).id)).toMatchObject({ status: 'done' })
    await admin.call(sharedPatchUpdate, { params, body: { body: sysctl('20') } })
    expect(await world.ended((await begin(made.id)).id)).toMatchObject({ status: 'done' })
    // One of them loses its target, and somebody rolls that out.
    await admin.call(sharedPatchUpdate, { params, body: { targets: { node_ids: [idle.id] } } })
    const undo = async () => {
      const called = await admin.call(sharedPatchUndo, { params, body: {} })
      return world.ended(called.answer!.operation.id)
    }
    expect(await undo()).toMatchObject({ status: 'done' })
    // The former patch is the wanted one again.
    expect(await get(made.id)).toMatchObject({
      body: sysctl('10'),
      revision: 1,
      servers: { behind: 0, current: 2 },
    })
  })
})

test('a step that waits says for what, and asks nobody to try again', () => {
  const busy = new Problem('operation_running', 'Creating europa has not ended')
  expect(waitsFor(busy)).toEqual({ waiting: busy.message })
  for (const delayed of [
    new Problem('unavailable', 'Many changes are being planned. Please try again.', undefined, 5),
    new Problem('stale', 'The cluster has changed in the meantime: try again'),
  ])
    expect(waitsFor(delayed)?.waiting).not.toMatch(/try|again:/)
  const silent = Problem.of('transition_refused', forNow('europa-1 does not answer'))
  expect(waitsFor(silent)).toEqual({ waiting: silent.message, isLimited: true })
  expect(waitsFor(new Problem('not_eligible', 'Its disk is too small'))).toBeNull()
})

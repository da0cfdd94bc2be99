/** Saving shared patches: what is refused, and what readers see. Nothing is sent. */
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { patchMask } from '#contract/patches.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import {
  sharedPatchCreate,
  sharedPatchGet,
  sharedPatchLimits,
  sharedPatchList,
  sharedPatchPreview,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchUndo,
  sharedPatchUpdate,
  tooManySharedPatches,
} from '#contract/shared-patches/shared-patches.ts'
import { startBackend } from '../../../testing/backend.ts'
import { buildServer } from '../../servers/testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const viewer = await backend.signIn({ role: 'viewer' })
const servers = new Map<string, string>()
for (const [name, rack] of [
  ['poz-1', '3'],
  ['poz-2', null],
] as const) {
  const id = await buildServer(backend, { name, address: `10.8.0.${servers.size + 1}` })
  servers.set(name, id)
  await operator.call(serverUpdate, {
    params: { id },
    body: { labels: { fleet: 'yes', ...(rack !== null && { rack }) } },
  })
}
const sysctl = (value: string) => `machine:\n  sysctls:\n    vm.swappiness: "${value}"\n`
const toAll = { labels: ['fleet=yes'] }
const create = (body: object) =>
  operator.call(sharedPatchCreate, {
    body: { name: 'calm', body: sysctl('1'), targets: {}, ...body },
  })

test.each([
  [
    'a variable that does not exist',
    sysctl('{{nmae}}'),
    /Line 3: There is no variable \{\{nmae\}\}/,
  ],
  ['bad YAML', 'machine: [', /^Line \d+/],
  ['an unknown field', 'machine:\n  sysctlz: {}\n', /Line 2, column \d+: .*sysctlz/],
  ['a masked secret of nobody', sysctl(patchMask), /in place of a secret/],
  ['an identity', 'machine:\n  token: {{name}}\n', /machine\.token/],
])('%s is refused with the reason, and nothing is saved', async (_what, body, sentence) => {
  expect(await create({ body })).toMatchObject({
    status: 422,
    problem: { code: 'invalid', fields: { body: expect.stringMatching(sentence) as string } },
  })
  expect((await operator.call(sharedPatchList)).answer!.total).toBe(0)
})

test('a variable without a value is refused with the names of the servers', async () => {
  const body = sysctl('{{label.rack}}')
  const sentence = 'poz-2 has no value for {{label.rack}}'
  expect(await create({ body, targets: toAll })).toMatchObject({
    status: 422,
    problem: { error: sentence },
  })
  const { answer } = await operator.call(sharedPatchPreview, {
    body: { name: 'calm', body, targets: toAll },
  })
  expect(answer).toMatchObject({
    servers: 2,
    refused: [{ server: { name: 'poz-2' }, reason: sentence }],
    groups: [{ servers: [{ name: 'poz-1' }], effect: 'at_install' }],
  })
  expect(answer!.groups[0]!.lines.join('\n')).toContain('vm.swappiness: "{{label.rack}}"')
})

test('selectors that are none, and callers who may not write, are refused', async () => {
  expect(await create({ targets: { labels: ['a=b=c'] } })).toMatchObject({ status: 422 })
  const body = { name: 'calm', body: sysctl('1'), targets: {} }
  for (const call of [sharedPatchCreate, sharedPatchPreview])
    expect((await viewer.call(call, { body })).problem).toMatchObject({ code: 'forbidden' })
  expect((await operator.call(sharedPatchList)).answer!.total).toBe(0)
})

test('secrets are masked around variables, and a mask that comes back stands for the secret', async () => {
  const body = (user: string) =>
    `apiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: {{label.fleet}}.example\nusername: ${user} # {{name}}\npassword: swordfish\n`
  const made = await create({ name: 'registry', body: body('a'), targets: toAll })
  expect(made.answer!.body).toBe(body('a').replace('swordfish', patchMask))
  const params = { id: made.answer!.id }
  const changed = await operator.call(sharedPatchUpdate, {
    params,
    body: { body: body('b').replace('swordfish', patchMask) },
  })
  expect(changed.answer).toMatchObject({
    body: body('b').replace('swordfish', patchMask),
    revision: 2,
    variables: ['label.fleet', 'name'],
  })
  const seen = (await viewer.call(sharedPatchGet, { params })).answer!
  expect(seen.body).not.toContain('swordfish')
  expect(seen.body).toContain('{{label.fleet}}.example')
  await backend.publish()
  const admin = await backend.signIn()
  const audit = await admin.call(auditList, { query: { per_page: 200 } })
  expect(audit.text).toContain('shared_patch.created')
  expect(audit.text).not.toContain('swordfish')
  expect((await operator.call(sharedPatchRemove, { params })).status).toBe(204)
})

test('of two people who edit one patch, the second is told', async () => {
  const { id, version } = (await create({ targets: toAll })).answer!
  const params = { id }
  const edit = (weight: number) =>
    operator.call(sharedPatchUpdate, { params, body: { weight } }, { ifMatch: version })
  expect((await edit(1)).status).toBe(200)
  expect(await edit(2)).toMatchObject({
    status: 412,
    problem: { code: 'stale', error: expect.stringContaining('has changed since') as string },
  })
  expect((await create({})).problem).toMatchObject({ code: 'name_taken' })
  expect(
    (await operator.call(sharedPatchRollOut, { params, body: {} }, { ifMatch: version })).problem,
  ).toMatchObject({ code: 'stale' })
  expect((await operator.call(sharedPatchUndo, { params, body: {} })).problem).toMatchObject({
    code: 'transition_refused',
    error: 'calm was never rolled out',
  })
})

test('a roll-out without servers, or of others, is refused with the reason', async () => {
  const { id } = (await create({ name: 'nobody' })).answer!
  const roll = (body: object) => operator.call(sharedPatchRollOut, { params: { id }, body })
  expect((await roll({})).problem).toMatchObject({
    code: 'transition_refused',
    error: 'nobody is for no server yet: choose its targets first',
  })
  expect((await roll({ node_ids: [servers.get('poz-1')] })).problem).toMatchObject({
    code: 'transition_refused',
    error: expect.stringContaining('change its targets first') as string,
  })
})

test('a roll-out reads what the servers have of its patch, and no other patch of theirs', async () => {
  const ids = [...servers.values()]
  const made = (await create({ name: 'one', targets: { node_ids: ids } })).answer!
  const other = (await create({ name: 'other' })).answer!
  // Their bodies can't be opened.
  await backend.platform.db
    .insertInto('shared_layer')
    .values(
      ids.map((server_id) => ({
        server_id,
        patch_id: other.id,
        revision: 1,
        name: 'other',
        weight: 500,
        body_sealed: Buffer.from('none'),
        filled: '{}',
        created_at: new Date(),
      })),
    )
    .execute()
  const rolled = await operator.call(sharedPatchRollOut, { params: { id: made.id }, body: {} })
  expect(rolled.answer?.operation.steps.map((s) => s.node_id).toSorted()).toEqual(ids.toSorted())
  await backend.platform.pool.query('delete from shared_layer where patch_id = $1', [other.id])
})

test.each(['en: {p1', 'eth0\nkind: RogueConfig', '*a', 'eth0 #', '"'])(
  'the link %j, which a machine calls so, is no YAML in a patch',
  async (link) => {
    const id = await buildServer(backend, { address: '10.8.7.1' })
    const links = [
      { name: link, up: true, physical: true, hardware_addr: null, addresses: ['10.8.7.1/24'] },
    ]
    await backend.platform.pool.query(`update server set hardware = $2::jsonb where id = $1`, [
      id,
      JSON.stringify({ disks: [], links, processors: [], memory: [], memory_bytes: 1 }),
    ])
    const body = 'apiVersion: v1alpha1\nkind: DHCPv4Config\nname: {{link}}\n'
    const made = await create({ name: 'links', body, targets: { node_ids: [id] } })
    expect(made.problem).toMatchObject({
      code: 'invalid',
      error: expect.stringMatching(
        /^The value of \{\{link\}\} on .* has characters that YAML reads as more than a value$/,
      ) as string,
    })
    await backend.platform.pool.query('delete from server where id = $1', [id])
  },
)

test('a list reads the patches of its page, and there are at most so many patches', async () => {
  const { total } = (await operator.call(sharedPatchList)).answer!
  const at = new Date()
  // Their bodies can't be opened.
  await backend.platform.db
    .insertInto('shared_patch')
    .values(
      Array.from({ length: sharedPatchLimits.patches - 1 - total }, (_, i) => ({
        name: `zz-${i}`,
        weight: 500,
        body_sealed: Buffer.from('none'),
        targets: JSON.stringify({ labels: [], cluster_ids: [], roles: [], node_ids: [] }),
        created_at: at,
        updated_at: at,
        created_by_name: operator.email,
        updated_by_name: operator.email,
      })),
    )
    .execute()
  const made = await create({ name: 'aa', targets: toAll })
  const { answer } = await operator.call(sharedPatchList, { query: { per_page: 1 } })
  expect(answer).toMatchObject({
    items: [{ id: made.answer!.id, servers: { targets: 2, current: 0, behind: 2 } }],
    total: sharedPatchLimits.patches,
  })
  expect((await create({ name: 'ab' })).problem).toMatchObject({
    code: 'conflict',
    error: tooManySharedPatches,
  })
})

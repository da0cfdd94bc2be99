/** The limits of numbers of objects, and that no call creates a kind of object without end. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { allOperations } from '#contract/all.ts'
import { joinTokenCreate, joinTokenLimit, joinTokenRevoke } from '#contract/join-tokens.ts'
import { patchCreate, serverPatchLimit } from '#contract/patches.ts'
import { rackCreate, rackLimit } from '#contract/racks/racks.ts'
import { rackImport } from '#contract/racks/files.ts'
import { canAdd, type Limit } from '#contract/rule.ts'
import { templateCreate, templateLimit } from '#contract/templates/templates.ts'
import { buildServer } from './domains/servers/testing.ts'
import { addDatacenter } from './domains/subnets/testing.ts'
import { startBackend } from './testing/backend.ts'

const limited = 'It has a largest number.'
const machines = 'Each needs a machine that answers.'
const held = 'Each belongs to an object, which has at most one that has not ended.'
const kept = 'Operations and what they leave are the history.'
const creating: Readonly<Record<string, string>> = {
  alertRuleCreate: limited,
  apiTokenCreate: limited,
  backupCreate: kept,
  bmcAdd: limited,
  bmcCredentialCreate: limited,
  ccCreate: held,
  channelCreate: limited,
  clusterCreate: machines,
  clusterImport: machines,
  clusterSecretsImport: machines,
  datacenterCreate: limited,
  imageCreate: limited,
  invitationCreate: limited,
  joinTokenCreate: limited,
  offerCreate: held,
  passkeyAdd: limited,
  patchCreate: limited,
  rackCreate: limited,
  rackImport: limited,
  serverAdd: machines,
  sharedPatchCreate: limited,
  sharedViewCreate: limited,
  silenceCreate: limited,
  snapshotImport: 'It finds files that are in a store already.',
  storeCreate: limited,
  subnetCreate: limited,
  subnetImport: limited,
  templateCreate: limited,
  userCreate: 'Only admins add users.',
}

test('each call that creates something has a largest number, or its reason why not', () => {
  const names = allOperations.flatMap(({ name }) =>
    /(?:Create|Add|Import)$/.test(name) ? [name] : [],
  )
  expect(names.toSorted()).toEqual(Object.keys(creating).toSorted())
})

const backend = await startBackend()
const { db } = backend.platform
const operator = await backend.signIn({ role: 'operator' })
const server = await buildServer(backend, { name: 'one' })
const { id: datacenter_id } = await addDatacenter(await backend.signIn(), 'POZ')
/** Adds so many rows to a table. `n` is the number of the row. */
const fill = (table: string, columns: string, values: string, { most }: Limit) =>
  backend.platform.pool.query(
    `insert into ${table} (${columns}, created_at, updated_at)
     select ${values}, now(), now() from generate_series(1, ${most - 1}) n`,
  )
const patch = (name: string) =>
  operator.call(patchCreate, {
    params: { id: server },
    body: { name, body: 'machine: {sysctls: {vm.swappiness: "1"}}\n' },
  })
const refusal = (limit: Limit) => {
  const verdict = canAdd(limit, limit.most)
  return verdict.ok ? '' : verdict.reason
}

test.each([
  [
    'templates',
    templateLimit,
    () =>
      fill(
        'template',
        'name, definition, listed, created_by_name',
        `'t-' || n, '{}', '{}', 'x'`,
        templateLimit,
      ),
    (name: string) => operator.call(templateCreate, { body: { name } }),
  ],
  [
    'racks',
    rackLimit,
    () => fill('rack', 'name, datacenter_id, units', `'R' || n, '${datacenter_id}', 42`, rackLimit),
    (name: string) => operator.call(rackCreate, { body: { name, datacenter_id } }),
  ],
  [
    'join tokens',
    joinTokenLimit,
    () =>
      fill('join_token', 'name, hash', `'j-' || n, decode(md5(n::text), 'hex')`, joinTokenLimit),
    (name: string) => operator.call(joinTokenCreate, { body: { name } }),
  ],
] as const)(
  'of two that are created at once, %s get only the last that has room',
  async (_, limit, filled, create) => {
    await filled()
    const made = await Promise.all([create('last-a'), create('last-b')])
    expect(made.map((one) => one.status).toSorted((a, b) => a - b)).toEqual([201, 409])
    expect(made.find((one) => one.problem)!.problem).toMatchObject({
      code: 'conflict',
      error: refusal(limit),
    })
    expect((await create('more')).status).toBe(409)
  },
)

test('a server has a largest number of patches', async () => {
  const { patch_id: id } = (await patch('first')).answer!
  // The other patches have the body of the first.
  await backend.platform.pool.query(
    `insert into patch (server_id, name, weight, labels, links, body_sealed, created_by_name, created_at, updated_at)
     select server_id, 'p-' || n, weight, labels, links, body_sealed, created_by_name, created_at, updated_at
     from patch, generate_series(2, ${serverPatchLimit.most}) n where id = $1`,
    [id],
  )
  expect((await patch('more')).problem).toMatchObject({
    code: 'conflict',
    error: refusal(serverPatchLimit),
  })
})

test('an import of more racks than there is room for writes none, and a revoked token makes room', async () => {
  await db.deleteFrom('rack').where('name', 'in', ['R1', 'R2']).execute()
  const rows = ['S1', 'S2', 'S3'].map((name) => `,,,,${name},42,,,,`)
  const { code } = await db.selectFrom('datacenter').select('code').executeTakeFirstOrThrow()
  const csv = [
    'id,server,serial,datacenter,rack,rack_units,unit,height,face,bay',
    ...rows.map((row) => row.replace(',,,,', `,,,${code},`)),
  ].join('\n')
  for (const dry_run of [true, false])
    expect(await operator.call(rackImport, { body: { csv, dry_run } })).toMatchObject({
      status: 409,
      problem: { error: expect.stringContaining('not 3 more: remove racks') as string },
    })
  const { rows: named } = await sql<{ n: number }>`select count(*)::int as n from rack
    where name like 'S_'`.execute(db)
  expect(named).toEqual([{ n: 0 }])

  const { id } = await db
    .selectFrom('join_token')
    .select('id')
    .where('name', '=', 'j-1')
    .executeTakeFirstOrThrow()
  await operator.call(joinTokenRevoke, { params: { id } })
  const name = `t-${randomUUID().slice(0, 8)}`
  expect((await operator.call(joinTokenCreate, { body: { name } })).status).toBe(201)
})

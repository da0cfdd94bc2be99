import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { mostExclusions, mostExclusionsInAll } from '#contract/network/subnet-rules.ts'
import { subnetCreate, subnetImport, subnetUpdate } from '#contract/network/subnets.ts'
import { startBackend } from '../../testing/backend.ts'
import { addDatacenter, addSubnet } from './testing.ts'

test('the exclusions of all subnets are bounded: in an addition, a change and an import', async () => {
  const backend = await startBackend()
  const operator = await backend.signIn({ role: 'operator' })
  const { id: datacenter_id, code } = await addDatacenter(operator, 'POZ')
  await sql`insert into subnet (name, datacenter_id, cidr, exclude, total, created_at, updated_at, updated_by)
    select 'full-' || n, ${datacenter_id}, set_masklen('10.0.0.0'::inet + n * 65536, 16)::cidr,
      array(select host('10.0.0.1'::inet + n * 65536 + k) from generate_series(1, ${mostExclusions}::int) as k), 64534, now(), now(), 'ada@example.com'
    from generate_series(1, ${mostExclusionsInAll / mostExclusions}::int) as n`.execute(
    backend.platform.db,
  )
  const refused = { status: 409, problem: { code: 'conflict' } }
  const more = { name: 'more', cidr: '192.168.0.0/24', exclude: ['192.168.0.9'] }
  const create = () => operator.call(subnetCreate, { body: { ...more, datacenter_id } })
  const { problem, ...created } = await create()
  expect(created.status).toBe(409)
  expect(problem!.error).toMatch(/100.001 exclusions/)
  const { id } = await addSubnet(operator, datacenter_id, 'none', '192.168.1.0/24')
  const update = (exclude: string[]) =>
    operator.call(subnetUpdate, { params: { id }, body: { exclude } })
  expect(await update(['192.168.1.9'])).toMatchObject(refused)
  const csv = `name,cidr,exclude,datacenter\nmore,192.168.0.0/24,192.168.0.9,${code}\n`
  const read = () => operator.call(subnetImport, { body: { csv } })
  expect(await read()).toMatchObject(refused)

  await sql`update subnet set exclude = exclude[2:] where name = 'full-1'`.execute(
    backend.platform.db,
  )
  expect((await read()).answer).toMatchObject({ written: true, problems: [] })
  expect(await create()).toMatchObject({ status: 409 })
})

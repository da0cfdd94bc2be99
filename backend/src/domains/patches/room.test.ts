import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { mostServerPatchBytes, patchCreate, serverPatchLimit } from '#contract/patches.ts'
import { count } from '#contract/words.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'
import { layerStore } from './keeping.ts'
import { patchStore } from './store.ts'

const backend = await startBackend()
const { platform, domains } = backend
const { db } = platform
const operator = await backend.signIn({ role: 'operator' })
const layers = layerStore({ ...platform, servers: domains.servers, store: patchStore(platform) })
const body = 'machine:\n  sysctls:\n    vm.overcommit_memory: "1"\n'

/** A server with copies of one patch. */
async function serverWith(address: string, copies: number, bytes: number): Promise<string> {
  const id = await buildServer(backend, { address })
  await operator.call(patchCreate, { params: { id }, body: { name: 'first', weight: 1, body } })
  await sql`insert into patch select (jsonb_populate_record(p, jsonb_build_object(
      'id', gen_random_uuid(), 'name', 'copy-' || n, 'body_sealed', rpad('', ${bytes}, 'x')
    ))).* from patch p, generate_series(1, ${copies}::int) n where server_id = ${id} and name = 'first'`.execute(
    db,
  )
  return id
}

test('a patch given with a new cluster has the bounds of the patches of its server', async () => {
  const given = { name: 'given', weight: 5, labels: {}, body }
  const give = (id: string) =>
    inTransaction(db, (tx) => domains.patches.createIn(tx, system, id, given))
  const large = await serverWith('10.0.0.6', 4, 1024 * 1024)
  await expect(give(large)).rejects.toThrow(count(mostServerPatchBytes))
  const many = await serverWith('10.0.0.7', serverPatchLimit.most - 1, 1)
  await expect(give(many)).rejects.toThrow(`${serverPatchLimit.most} patches of this server`)
})

test('what others changed is kept as a patch within the bounds of the patches of its server', async () => {
  const keep = (id: string) => inTransaction(db, (tx) => layers.keep(tx, system, id, body, []))
  const large = await serverWith('10.0.0.8', 4, 1024 * 1024)
  await sql`delete from patch where name = 'first' and server_id = ${large}`.execute(db)
  const before = await sql`select from patch where server_id = ${large}`.execute(db)
  await expect(keep(large)).rejects.toThrow(count(mostServerPatchBytes))
  const after = await sql`select from patch where server_id = ${large}`.execute(db)
  expect(after.rows.length).toBe(before.rows.length)
})

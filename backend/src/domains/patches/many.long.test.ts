import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { mostListBytes } from '#contract/list.ts'
import {
  mostServerPatchBytes,
  patchCreate,
  patchGet,
  patchList,
  patchRemove,
  patchUpdate,
} from '#contract/patches.ts'
import { count } from '#contract/words.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

test('the patches of a server have at most 4 MiB; what an older version stored above is listed up to its bound, and may be made smaller', async () => {
  const backend = await startBackend()
  const operator = await backend.signIn({ role: 'operator' })
  const id = await buildServer(backend, { address: '10.0.0.6' })
  const body = `machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n${`# ${'x'.repeat(997)}\n`.repeat(1000)}`
  for (let n = 1; n <= 4; n++) {
    const made = await operator.call(patchCreate, {
      params: { id },
      body: { name: `large-${n}`, weight: n, body },
    })
    expect(made.status).toBe(201)
  }
  const fifth = { name: 'large-5', weight: 5, body }
  expect(await operator.call(patchCreate, { params: { id }, body: fifth })).toMatchObject({
    status: 409,
    problem: { error: expect.stringContaining(count(mostServerPatchBytes)) as string },
  })
  // An older version had no bound of bytes.
  await sql`insert into patch select (jsonb_populate_record(p, jsonb_build_object(
      'id', gen_random_uuid(), 'name', 'large-' || n, 'weight', n
    ))).* from patch p, generate_series(5, 9) n where name = 'large-1'`.execute(backend.platform.db)
  const { answer, text } = await operator.call(patchList, { params: { id } })
  expect(text.length).toBeLessThan(mostListBytes)
  const own = answer!.items.filter((p) => !p.read_only)
  expect(own.map((p) => p.body_listed ?? true)).toEqual([...Array(7).fill(true), false, false])
  const last = own.at(-1)!
  expect(last).toMatchObject({ name: 'large-9', body: '' })
  const params = { id, patchId: last.patch_id }
  expect((await operator.call(patchGet, { params })).answer!.body).toBe(body)
  const saved = (text: string) => operator.call(patchUpdate, { params, body: { body: text } })
  expect((await saved(`${body}# ${'more than before'.repeat(20)}\n`)).status).toBe(409)
  expect((await saved(body.slice(0, 500_000))).status).toBe(200)
  expect((await operator.call(patchRemove, { params })).status).toBe(204)
})

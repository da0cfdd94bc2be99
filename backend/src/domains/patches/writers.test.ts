import { expect, test, vi } from 'vitest'
import { sql } from 'kysely'
import { Problem } from '#contract/errors.ts'
import { patchCreate, patchGet, patchUpdate } from '#contract/patches.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Reader } from '../../reading/reader.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

const rounds = 200
const writers = 20

/** What the reading thread was asked. */
const asked: string[] = []
/** Whether the reading thread refuses each text, as it does while its queue is full. */
let isFull = false
const backend = await startBackend({
  reading:
    (read): Reader =>
    (who, name, ...given) => {
      asked.push(name)
      if (isFull) throw new Problem('throttled', 'The queue is full')
      return read(who, name, ...given)
    },
})
const { db } = backend.platform
const operator = await backend.signIn({ role: 'operator' })
const bodyOf = (value: string) => `machine:\n  sysctls:\n    vm.swappiness: "${value}"\n`

test('a patch that was checked is stored with a server without reading it in the transaction', async () => {
  const { patches } = backend.domains
  const id = await buildServer(backend)
  const patch = { name: 'joins', weight: 500, labels: {}, body: bodyOf('60') }
  expect(await patches.check(patch.body)).toEqual([])
  asked.length = 0
  await inTransaction(db, (tx) => patches.createIn(tx, system, id, patch))
  expect(asked).toEqual([])
  expect(await patches.ofServer(db, id)).toEqual([patch])
})

test('patches of an operation are saved without reading them in the transaction', async () => {
  const { patches } = backend.domains
  const id = await buildServer(backend)
  const save = async (body: string) => {
    const patch = { name: 'rolled-out', weight: 500, labels: {}, body }
    const set = { patches: [patch], remove: [] }
    const links = await patches.linksOf(set)
    asked.length = 0
    await inTransaction(db, (tx) =>
      patches.save(tx, id, set, { by: null, appliedSet: null, links }),
    )
    expect(asked).toEqual([])
    expect(await patches.ofServer(db, id)).toEqual([patch])
  }
  await save(bodyOf('70'))
  await save(`${bodyOf('71')}---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\n`)
  const { links } = await db
    .selectFrom('patch')
    .select('links')
    .where('server_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(links).toEqual(['eno1'])
})

test('a writer whose body is stored is not refused, although the queue of the reader is full at that moment', async () => {
  const id = await buildServer(backend)
  const other = await buildServer(backend)
  const made = await operator.call(patchCreate, {
    params: { id },
    body: { name: 'tuning', body: bodyOf('1') },
  })
  const params = { id, patchId: made.answer!.patch_id }
  const held = Promise.withResolvers<void>()
  const filled = Promise.withResolvers<void>()
  const holding = inTransaction(db, async (tx) => {
    await sql`select from server where id = ${id} for update`.execute(tx)
    held.resolve()
    await filled.promise
  })
  await held.promise
  const writer = operator.call(patchUpdate, { params, body: { body: bodyOf('2') } })
  await vi.waitFor(
    async () => {
      const { rows } =
        await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
          db,
        )
      expect(rows).toHaveLength(1)
    },
    { timeout: 30_000, interval: 20 },
  )
  isFull = true
  const refused = await operator.call(patchCreate, {
    params: { id: other },
    body: { name: 'late', body: bodyOf('3') },
  })
  expect(refused.status).toBe(429)
  filled.resolve()
  await holding
  expect((await writer).answer).toMatchObject({ version: 2, body: bodyOf('2') })
  isFull = false
})

longTest(
  `of ${writers} writers of one patch, no writer whose body was stored is refused, in ${rounds} rounds`,
  async () => {
    const id = await buildServer(backend)
    const made = await operator.call(patchCreate, {
      params: { id },
      body: { name: 'tuning', body: bodyOf('0') },
    })
    const params = { id, patchId: made.answer!.patch_id }
    let version = made.answer!.version
    let refused = 0
    for (let round = 0; round < rounds; round++) {
      const answers = await Promise.all(
        Array.from({ length: writers }, (_, i) =>
          operator.call(patchUpdate, {
            params,
            body: { body: bodyOf(`${1 + round * writers + i}`) },
          }),
        ),
      )
      for (const { status } of answers) expect([200, 409, 412, 429]).toContain(status)
      const confirmed = answers
        .flatMap(({ answer }) => answer?.version ?? [])
        .toSorted((a, b) => a - b)
      const after = (await operator.call(patchGet, { params })).answer!
      // Each stored body made a version, and each version was confirmed to its writer.
      expect(confirmed).toEqual(
        Array.from({ length: after.version - version }, (_, i) => version + 1 + i),
      )
      version = after.version
      refused += answers.filter(({ status }) => status === 429).length
    }
    // The rounds are about writers that are refused, so some have to be.
    expect(refused).toBeGreaterThan(0)
  },
)

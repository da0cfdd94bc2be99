import { expect, test } from 'vitest'
import {
  mostSilences,
  silenceCreate,
  silenceList,
  tooManySilences,
} from '#contract/alerts/silences.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildDatacenter } from '../servers/testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const inDays = (days: number) => new Date(backend.clock.now() + days * 86_400_000)
const silence = (days: number, more: object = { severities: ['down'] }) =>
  operator.call(silenceCreate, {
    body: { note: 'works', ends_at: inDays(days).toISOString(), ...more },
  })

test('a silence that begins at once lasts no longer than others', async () => {
  expect((await silence(367)).problem!.fields).toEqual({
    ends_at: 'A silence lasts at most 366 days',
  })
  expect((await silence(365)).status).toBe(201)
})

test('as many silences of a datacenter as there are connections to the database are saved', async () => {
  const { id } = await buildDatacenter(backend, 7, 0)
  const made = await Promise.all(
    Array.from({ length: backend.platform.pool.options.max }, () =>
      silence(1, { datacenter_ids: [id] }),
    ),
  )
  expect(made.map((one) => one.status)).toEqual(made.map(() => 201))
  await backend.platform.db.deleteFrom('silence').execute()
})

test('silences that have not ended have a largest number', async () => {
  const at = inDays(0)
  await backend.platform.db
    .insertInto('silence')
    .values(
      Array.from({ length: mostSilences - 1 }, () => ({
        note: 'works',
        severities: ['down'],
        kinds: [],
        datacenter_ids: [],
        cluster_ids: [],
        starts_at: at,
        ends_at: inDays(1),
        made_by: operator.email,
        created_at: at,
        updated_at: at,
      })),
    )
    .execute()
  const made = await Promise.all([silence(1), silence(1)])
  expect(made.map((one) => one.status).toSorted((a, b) => a - b)).toEqual([201, 409])
  expect(made.find((one) => one.problem)!.problem!.error).toBe(tooManySilences)
  expect((await operator.call(silenceList)).answer!.total).toBe(mostSilences)
})

import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { joinTokenArrivals, joinTokenCreate } from '#contract/join-tokens.ts'
import { silent } from '../../log.ts'
import { startBackend } from '../../testing/backend.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

test('a refusal is written only after a concurrent admission of the same machine, and does not replace that admission', async () => {
  const backend = await startBackend()
  const operator = await backend.signIn({ role: 'operator' })
  const { db, clock, record } = backend.platform
  const { id, name } = (await operator.call(joinTokenCreate, { body: { name: 'both' } })).answer!
  const writing = refusals({ db, clock, log: silent, record })
  const announcement = { uuid: randomUUID(), serial: 'S1', mac: null }
  const row = {
    id: randomUUID(),
    token_id: id,
    ...announcement,
    address: '10.0.0.1',
    at: new Date(clock.now()),
    result: 'waiting',
    shard: 0,
  } as const
  // The steps of an admission, with the refusal in the middle.
  await db.transaction().execute(async (tx) => {
    await store.lockTokens(tx, [id])
    writing.note({
      action: 'join.refused',
      reason: 'Too many',
      ip: '10.0.0.1',
      requestId: 'r1',
      token: { id, name },
      announcement,
    })
    await expect
      .poll(
        async () =>
          (
            await sql<{
              n: number
            }>`select count(*)::int as n from pg_locks where not granted`.execute(db)
          ).rows[0]!.n,
      )
      .toBeGreaterThan(0)
    await store.writeArrivals(tx, [{ ...row, host_name: 'sy-1', reason: null, server_id: null }])
  })
  await writing.close()
  const { answer } = await operator.call(joinTokenArrivals, { params: { id } })
  expect(answer!.items).toMatchObject([{ uuid: announcement.uuid, result: 'waiting' }])
})

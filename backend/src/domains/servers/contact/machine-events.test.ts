import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { serverEvents } from '#contract/servers/servers.ts'
import { startBackend } from '../../../testing/backend.ts'
import { buildServer } from '../testing.ts'
import { eventKeeper, keptEvents } from './machine-events.ts'

const backend = await startBackend()
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const keeper = eventKeeper(backend.platform)

/** Ids of Talos grow with time; the first characters are the time. */
const event = (n: number) => ({
  id: String(n).padStart(20, '0'),
  actorId: '',
  kind: 'service' as const,
  service: 'kubelet',
  action: 'running',
  message: `number ${n}`,
  healthy: true,
})

test('what a server told of itself is shown when it does not answer any more', async () => {
  const id = await buildServer(backend, { name: 'off-01', address: '127.0.0.1' })
  for (const n of [1, 2, 1]) keeper.take(id, event(n))
  await keeper.flush()
  // A new connection tells the same events again.
  keeper.take(id, event(2))
  await keeper.flush()
  const { items, talos } = (await viewer.call(serverEvents, { params: { id } })).answer!
  expect(talos.ok).toBe(false)
  expect(items.filter((e) => e.source === 'talos').map((e) => e.message)).toEqual([
    'kubelet is running: number 2',
    'kubelet is running: number 1',
  ])
})

test('events are removed with the history of their time, also those of a removed server', async () => {
  const [old, young] = [randomUUID(), randomUUID()]
  const [then, now] = [backend.clock.now() - 800 * 24 * 3_600_000, backend.clock.now()]
  await backend.platform.db
    .insertInto('machine_event')
    .values(
      [
        { server_id: old, at: then },
        { server_id: young, at: now },
      ].map(({ server_id, at }) => ({
        server_id,
        at: new Date(at),
        id: 'talos-1',
        type: 'service',
        message: 'x',
      })),
    )
    .execute()
  await backend.domains.all.find((d) => d.name === 'servers')!.removeOld!()
  const left = await backend.platform.db
    .selectFrom('machine_event')
    .select('server_id')
    .where('server_id', 'in', [old, young])
    .execute()
  expect(left).toEqual([{ server_id: young }])
})

test('of a server that tells more and more, only the newest events are kept', async () => {
  const id = await buildServer(backend, { name: 'talks-01', address: '127.0.0.1' })
  const count = keptEvents + 250
  for (let n = 1; n <= count; n++) {
    keeper.take(id, event(n))
    if (n % 50 === 0) await keeper.flush()
  }
  const rows = await backend.platform.db
    .selectFrom('machine_event')
    .select('message')
    .where('server_id', '=', id)
    .orderBy('id', 'desc')
    .execute()
  expect(rows).toHaveLength(keptEvents)
  expect(rows[0]!.message).toContain(`number ${count}`)
  for (let n = count + 1; n <= count + 150; n++) keeper.take(id, event(n))
  await keeper.flush()
  const after = await backend.platform.db
    .selectFrom('machine_event')
    .select('id')
    .where('server_id', '=', id)
    .where('id', '>', `talos-${event(count).id}`)
    .orderBy('id')
    .execute()
  expect(after.map((row) => Number(row.id.replace('talos-', '')))).toEqual(
    Array.from({ length: 100 }, (_, n) => count + 51 + n),
  )
})

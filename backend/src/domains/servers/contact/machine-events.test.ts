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

test('a kubelet whose health comes and goes for two hours is four rows with a count, and the installation and the upgrade stay', async () => {
  const id = await buildServer(backend, { name: 'flaps-01', address: '127.0.0.1' })
  const at = Math.floor(backend.clock.now() / 1000) - 10_000
  let told = 0
  /** An id as Talos makes it: an xid, whose first four bytes are its second. */
  const idAt = (second: number): string => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt32BE(second, 0)
    bytes.writeUIntBE(told++, 9, 3)
    return (BigInt(`0x${bytes.toString('hex')}`) << 4n).toString(32).padStart(20, '0')
  }
  const take = (second: number, more: object) =>
    keeper.take(id, { id: idAt(second), actorId: '', ...more } as never)
  for (const sequence of ['install', 'boot', 'upgrade', 'boot'])
    for (const action of ['start', 'stop'])
      take(at - 1_000, { kind: 'sequence', sequence, action, error: '' })
  take(at - 900, { kind: 'service', service: 'etcd', action: 'failed', message: 'gone' })
  await keeper.flush()
  const unmet = [{ name: 'services', reason: 'kubelet not healthy' }]
  for (let flap = 0; flap < 720; flap++) {
    const second = at + flap * 10
    for (const isWell of [false, true]) {
      take(second, {
        kind: 'service',
        service: 'kubelet',
        action: 'running',
        message: isWell ? 'Health check successful' : 'Health check failed: timeout',
        healthy: isWell,
      })
      take(second, {
        kind: 'machine_status',
        stage: 'running',
        ready: isWell,
        unmet: isWell ? [] : unmet,
      })
    }
    if (flap % 20 === 0) await keeper.flush()
  }
  await keeper.flush()
  const { items } = (await viewer.call(serverEvents, { params: { id } })).answer!
  const rows = items.filter((e) => e.source === 'talos')
  const since = new Date(at * 1000).toISOString()
  const until = new Date((at + 7_190) * 1000).toISOString()
  expect(
    rows
      .filter((e) => e.count > 1)
      .map(({ message, count, first_at, at }) => [message, count, first_at, at]),
  ).toEqual(
    [
      'The server is running',
      'kubelet is running: Health check successful',
      'The server is running, not ready: services (kubelet not healthy)',
      'kubelet is running: Health check failed: timeout',
    ].map((message) => [message, 720, since, until]),
  )
  // Two boots are two.
  expect(rows.filter((e) => e.count === 1).map((e) => e.message)).toEqual([
    'etcd is failed: gone',
    'boot: stop',
    'boot: start',
    'upgrade: stop',
    'upgrade: start',
    'boot: stop',
    'boot: start',
    'install: stop',
    'install: start',
  ])
})

test('however much a server tells, and however often it restarts, its installation stays', async () => {
  const id = await buildServer(backend, { name: 'loops-01', address: '127.0.0.1' })
  const take = (n: number, more: object) =>
    keeper.take(id, { id: String(n).padStart(20, '0'), actorId: '', ...more } as never)
  take(0, { kind: 'sequence', sequence: 'install', action: 'stop', error: '' })
  for (let n = 1; n <= 1_000; n++) {
    take(n, n % 2 ? event(n) : { kind: 'sequence', sequence: 'boot', action: 'start', error: '' })
    if (n % 50 === 0) await keeper.flush()
  }
  const { items } = (await viewer.call(serverEvents, { params: { id } })).answer!
  const boots = items.filter((e) => e.message === 'boot: start')
  expect(items.some((e) => e.message === 'install: stop')).toBe(true)
  expect(boots).toHaveLength(10)
  expect(boots.reduce((sum, e) => sum + e.count, 0)).toBe(500)
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

/** A database server that is silent on open connections, as one whose machine has lost its power. */
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { isDatabaseAway } from '../causes/causes.ts'
import { silent } from '../log.ts'
import { longTest } from '../../../tools/testing/long-test.ts'
import { freshDatabase } from '../testing/databases.ts'
import { whenOver } from '../testing/ending.ts'
import { connect } from './db.ts'
import { listener } from './listen.ts'

/** Passes connections on to the tests' server until it is told to hold their bytes back. */
async function passage(to: { host: string; port: number }) {
  const open = new Set<Socket>()
  let holds = false
  const server = createServer((inside) => {
    const outside = to.host.startsWith('/')
      ? connectTcp({ path: `${to.host}/.s.PGSQL.${to.port}` })
      : connectTcp(to)
    for (const [from, into] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      open.add(from)
      from.on('error', () => undefined)
      from.on('close', () => into.destroy())
      from.on('data', (bytes) => holds || into.write(bytes))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenOver(() => {
    open.forEach((socket) => socket.destroy())
    server.close()
  })
  return {
    port: (server.address() as { port: number }).port,
    hold: (on: boolean) => void (holds = on),
  }
}

test('connections on which the server is silent are given up, their queries fail, and later ones are answered', async () => {
  const real = await freshDatabase()
  const { port, hold } = await passage({ host: real.host ?? 'localhost', port: real.port ?? 5432 })
  const connection = { ...real, host: '127.0.0.1', port }
  const database = connect({ connection })
  let heard = 0
  const listens = listener({
    connection,
    log: silent,
    onSilent: () => database.cut(),
    patience: { askMs: 50, silentMs: 100 },
  })
  whenOver(async () => {
    await listens.stop()
    await database.close()
  })
  listens.on('news', () => heard++)
  listens.start()
  await expect.poll(() => heard).toBeGreaterThan(0)
  // On a busy machine, an answer may be late enough to count as silence.
  await expect.poll(() => sql`select 1`.execute(database.db)).toBeDefined()
  hold(true)
  const hanging = sql`select 1`.execute(database.db).catch((error: unknown) => error)
  expect(isDatabaseAway(await hanging)).toBe(true)
  const before = heard
  hold(false)
  // It listens again, and has told its listeners that they may have missed something.
  await expect.poll(() => heard).toBeGreaterThan(before)
  await expect.poll(() => sql`select 1`.execute(database.db)).toBeDefined()
})

longTest(
  'connections are given up too if the server falls silent while nobody listens',
  async () => {
    const real = await freshDatabase()
    const { port, hold } = await passage({
      host: real.host ?? 'localhost',
      port: real.port ?? 5432,
    })
    const connection = { ...real, host: '127.0.0.1', port }
    const database = connect({ connection })
    const listens = listener({
      connection,
      log: silent,
      onSilent: () => database.cut(),
      patience: { askMs: 50, silentMs: 100 },
    })
    whenOver(async () => {
      await listens.stop()
      await database.close()
    })
    await expect.poll(() => sql`select 1`.execute(database.db)).toBeDefined()
    hold(true)
    const hanging = sql`select 1`.execute(database.db).catch((error: unknown) => error)
    listens.start()
    expect(isDatabaseAway(await hanging)).toBe(true)
    hold(false)
  },
)

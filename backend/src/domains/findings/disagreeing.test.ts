/** What is hard to judge: a thousand servers at once, a second process, clocks that disagree. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { sql } from 'kysely'
import { expect, test, vi } from 'vitest'
import { channelCreate } from '#contract/alerts/channels.ts'
import { type Finding, findingList } from '#contract/findings/findings.ts'
import { historyList } from '#contract/history/history.ts'
import { startBackend } from '../../testing/backend.ts'
import { testClock } from '../../testing/clock.ts'
import { whenFileIsOver, whenOver } from '../../testing/ending.ts'
import { observing } from './testing/observing.ts'

const backend = await startBackend({ environment: { STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' } })
const beside = await startBackend({ beside: backend, clock: backend.clock })
const admin = await backend.signIn({ lasts: true })
const { db } = backend.platform
const { clock } = backend
const { add, cluster, datacenter, contacts } = observing(backend)
const fra = await datacenter('FRA')
const ber = await datacenter('BER')
const minuteMs = 60_000

const of = async (object: string): Promise<Finding[]> =>
  (await admin.call(findingList, { query: { object } })).answer!.items
const told = async (object: string) =>
  (await admin.call(historyList, { query: { object, sort: 'at' } }))
    .answer!.items.map((e) => e.kind)
    .filter((kind) => kind.startsWith('finding'))

test(
  'a thousand servers that vanish at once are one finding and one mail, also when they come back and vanish again',
  { timeout: 600_000 },
  async () => {
    const subjects: string[] = []
    const server = new SMTPServer({
      authOptional: true,
      logger: false,
      onData(stream, _session, done) {
        let text = ''
        stream.on('data', (part: Buffer) => (text += part.toString('utf8')))
        stream.on('end', () => {
          subjects.push(/^Subject: (.*(?:\r\n .*)*)/m.exec(text)![1]!.replaceAll('\r\n', ''))
          done()
        })
      },
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    whenFileIsOver(() => server.close())
    const { status } = await admin.call(channelCreate, {
      body: {
        name: 'night',
        kind: 'mail',
        host: '127.0.0.1',
        port: (server.server.address() as AddressInfo).port,
        security: 'none',
        from: 'steelyard@example.com',
        to: ['night@example.com'],
      },
    })
    expect(status).toBe(201)
    await sql`insert into server (name, address, identity_state, identity_since, uuid, serial, created_at, updated_at, reachable, datacenter_id)
    select 'many-' || n, '10.1.' || n / 256 || '.' || n % 256, 'confirmed', now(), gen_random_uuid()::text, n::text, now(), now(), true, ${fra.id}
    from generate_series(1, 1000) as n`.execute(db)
    /** Writes what the observer of contacts writes. */
    const answer = async (answers: boolean, last = 1000) => {
      await db
        .updateTable('server')
        .set(
          answers
            ? { reachable: true, unreachable_since: null, reason: null }
            : {
                reachable: false,
                unreachable_since: new Date(clock.now()),
                reason: 'connection refused',
              },
        )
        .where(sql<boolean>`name like 'many-%' and serial::int <= ${last}`)
        .execute()
      await backend.domains.findings.judge()
    }
    await answer(false)
    const [found, ...more] = await of(fra.id)
    expect(more).toEqual([])
    expect(found).toMatchObject({
      kind: 'datacenter_silent',
      affected: { kind: 'server', count: 1000 },
      reason: expect.stringMatching(
        /^1\s000 servers fell silent together .* 1\s000 in no cluster; no other server there answers\.$/,
      ) as string,
    })
    const everything = (await admin.call(findingList, { query: {} })).answer!.total
    expect(everything).toBe(1)
    await backend.engine.run(10 * minuteMs)
    expect(subjects).toHaveLength(1)
    expect(subjects[0]).toContain('DE-FRA-1')
    // Most come back: the finding goes on with the others. Nobody is told again.
    await answer(true, 900)
    expect(await of(fra.id)).toMatchObject([{ id: found!.id, affected: { count: 100 } }])
    await backend.engine.run(10 * minuteMs)
    expect(subjects).toHaveLength(1)
    await answer(true)
    expect(await of(fra.id)).toEqual([])
    clock.advance(minuteMs)
    await answer(false)
    expect(await of(fra.id)).toMatchObject([{ id: found!.id, count: 2, affected: { count: 1000 } }])
    await answer(true)
    await backend.engine.run(20 * minuteMs)
    expect(subjects).toHaveLength(2)
    expect(subjects[1]).toMatch(/Recovered(?!_after)/)
  },
)

test('a process that read the servers before another one judged does not end what that one found', async () => {
  const machine = await add('contested', ber.id)
  const read = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const conditions = beside.domains.servers.conditions.bind(beside.domains.servers)
  const slow = vi.spyOn(beside.domains.servers, 'conditions').mockImplementation(async () => {
    const seen = await conditions()
    read.resolve()
    await goOn.promise
    return seen
  })
  whenOver(() => slow.mockRestore())
  const judging = beside.domains.findings.judge()
  await read.promise
  await contacts([machine], false)
  await backend.domains.findings.judge()
  goOn.resolve()
  await judging
  await backend.domains.findings.judge()
  expect(await of(machine.id)).toMatchObject([{ kind: 'server_unreachable', count: 1 }])
  expect(await told(machine.id)).toEqual(['finding_began'])
})

test('a finding that begins by the time alone does not come and go between processes whose clocks disagree', async () => {
  const fast = testClock()
  const other = await startBackend({ beside: backend, clock: fast })
  const judge = async (aheadMs: number) => {
    fast.jump(clock.now() + aheadMs - fast.now())
    await other.domains.findings.judge()
  }
  const web = await cluster('web', ber.id)
  // Without a schedule the first snapshot is due a day after the cluster is ready.
  const dueIn = (ms: number) =>
    db
      .updateTable('cluster')
      .set({ ready_at: new Date(clock.now() + ms - 24 * 60 * minuteMs) })
      .where('id', '=', web.id)
      .execute()
  await dueIn(5 * minuteMs)
  for (let i = 0; i < 3; i++) {
    await judge(10 * minuteMs)
    await backend.domains.findings.judge()
  }
  expect(await of(web.id)).toMatchObject([{ kind: 'cluster_snapshot_overdue', count: 1 }])
  expect(await told(web.id)).toEqual(['finding_began'])
  // A clock that is far ahead is wrong: what only it finds ends.
  await dueIn(12 * 60 * minuteMs)
  clock.advance(11 * minuteMs)
  await backend.domains.findings.judge()
  expect(await of(web.id)).toEqual([])
  await judge(24 * 60 * minuteMs)
  expect(await of(web.id)).toHaveLength(1)
  await backend.domains.findings.judge()
  expect(await of(web.id)).toEqual([])
})

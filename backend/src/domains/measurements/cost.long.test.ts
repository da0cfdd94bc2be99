/** What a chart costs, beside a list of servers, in processor time of both programs. */
import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { dayMs, serverMeasurements } from '#contract/measurements/measurements.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

const servers = 1_000
const rounds = 40

test('a chart of a day takes at most 1.5 times the list of 1,000 servers', async () => {
  const backend = await startBackend()
  const { db } = backend.platform
  const { accessToken } = await backend.signIn({ role: 'viewer', lasts: true })
  const hardware = JSON.stringify({
    processors: [{ id: 'CPU-0', product_name: 'EPYC 9354P', cpu_cores: 32, thread_count: 64 }],
    memory: Array.from({ length: 8 }, (_, i) => ({ id: `DIMM-${i}`, size: 64 * 1024 ** 3 })),
    disks: Array.from({ length: 4 }, (_, i) => ({ id: `nvme${i}n1`, size: 3_840_755_982_336 })),
    interfaces: [{ id: 'eth0', link_state: true, hardware_addr: '02:00:00:00:00:01' }],
    addresses: ['10.0.0.1'],
    links: [],
    routes: [],
  })
  const ids: string[] = []
  for (let n = 0; n < servers; n++)
    ids.push(
      await buildServer(backend, {
        name: `s-${n}`,
        address: `10.${n >> 8}.${n & 255}.1`,
        hardware,
      }),
    )
  const day = new Date(backend.clock.now() - dayMs)
  await sql`insert into measurement_minute
    select s, ${day}::timestamptz + m * interval '1 minute',
      array[random(), random(), random() * 1e8, random() * 1e8, random() * 1e8, random() * 1e8, 1]::real[]
    from unnest(${ids}::uuid[]) s, generate_series(0, 1439) m`.execute(db)
  await sql`analyze measurement_minute`.execute(db)

  /** Of PostgreSQL's processes for this database, in ms; its clock has ticks of 10 ms. */
  const ofDatabase = async (): Promise<number> => {
    const { rows } = await sql<{ pid: number }>`
      select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`.execute(
      db,
    )
    return rows.reduce((sum, { pid }) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      return sum + (Number(fields[11]) + Number(fields[12])) * 10
    }, 0)
  }
  const get = async (url: string) => {
    const headers = { authorization: `Bearer ${accessToken}`, 'accept-encoding': 'gzip' }
    const { statusCode, rawPayload } = await backend.app.inject({ method: 'GET', url, headers })
    expect(statusCode).toBe(200)
    return rawPayload.length
  }
  const cost = async (act: (round: number) => Promise<number>) => {
    await act(0)
    const [began, database] = [process.cpuUsage(), await ofDatabase()]
    let bytes = 0
    for (let round = 1; round <= rounds; round++) bytes = await act(round)
    const { user, system } = process.cpuUsage(began)
    const ms = (user + system) / 1000 + (await ofDatabase()) - database
    return { ms: ms / rounds, bytes }
  }
  // A server changes between two requests, as it does every second in a fleet of this size.
  const list = await cost(async (round) => {
    await db
      .updateTable('server')
      .set({ reason: `round ${round}`, version: sql<number>`version + 1` })
      .where('id', '=', ids[round]!)
      .execute()
    return get('/v1/nodes?fields=list')
  })
  const path = serverMeasurements.path
  const chart = await cost((round) => get(path.replace('{id}', ids[round]!)))
  process.stdout.write(`${JSON.stringify({ list, chart, ratio: chart.ms / list.ms })}\n`)
  expect(chart.ms).toBeLessThanOrEqual(1.5 * list.ms)
})

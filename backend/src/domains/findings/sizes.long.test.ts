/** Ten thousand servers with a finding each: what is read stays as small as with a page of each. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { Client } from 'pg'
import { expect, test, vi } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import { findingList } from '#contract/findings/findings.ts'
import { overviewGet } from '#contract/overview.ts'
import { serverList } from '#contract/servers/servers.ts'
import { startBackend } from '../../testing/backend.ts'
import { whenFileIsOver } from '../../testing/ending.ts'
import { temporaryFolder } from '../../testing/folder.ts'

const backend = await startBackend()
const url = await backend.listen()
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const { db } = backend.platform
const queries = vi.spyOn(Client.prototype, 'query')
whenFileIsOver(() => queries.mockRestore())

/** Silent servers of no datacenter, each of which fell silent minutes after the one before. */
const add = async (from: number, to: number): Promise<void> => {
  await sql`insert into server (name, address, identity_state, identity_since, uuid, serial, created_at, updated_at, reachable, unreachable_since, reason)
    select 'many-' || n, host('10.1.0.0'::inet + n), 'confirmed', now(), gen_random_uuid()::text, n::text, now(), now(), false,
      ${new Date(backend.clock.now())}::timestamptz - n * interval '2 minutes', 'connection refused'
    from generate_series(${from}::int, ${to}::int) as n`.execute(db)
  await backend.domains.findings.judge()
}

const asks = {
  'the findings': () => viewer.call(findingList, { query: {} }),
  'the findings of a kind, by name': () =>
    viewer.call(findingList, { query: { kind: 'server_unreachable', sort: 'object' } }),
  'the servers': () => viewer.call(serverList, { query: {} }),
  'the servers, the worst first': () => viewer.call(serverList, { query: { sort: 'status' } }),
  'the clusters': () => viewer.call(clusterList, { query: {} }),
  'the overview': () => viewer.call(overviewGet),
}

/** The fewest statements of five calls: work in the background may send others during one. */
async function costOf(ask: () => Promise<{ answer?: unknown }>) {
  const statements: number[] = []
  let bytes = 0
  for (let i = 0; i < 5; i++) {
    const before = queries.mock.calls.length
    const { answer } = await ask()
    statements.push(queries.mock.calls.length - before)
    bytes = JSON.stringify(answer).length
  }
  return { statements: Math.min(...statements), bytes }
}
const metrics = async () => (await backend.app.inject({ url: '/metrics' })).body.split('\n')
const named = (lines: readonly string[]) => lines.filter((line) => line.includes('finding')).length
const printed = async (...words: string[]) => {
  const main = path.join(import.meta.dirname, '../../../../cli/src/main.ts')
  const env = {
    ...process.env,
    STEELYARD_URL: url,
    STEELYARD_TOKEN: viewer.accessToken,
    XDG_CONFIG_HOME: temporaryFolder('cli'),
  }
  return (await promisify(execFile)(process.execPath, [main, ...words], { env })).stdout.split('\n')
}

test(
  'with 10,000 servers and as many findings, lists, overview, metrics and the command line stay as they are with 1,100',
  { timeout: 300_000 },
  async () => {
    await add(1, 1_100)
    const few = new Map<string, Awaited<ReturnType<typeof costOf>>>()
    for (const [name, ask] of Object.entries(asks)) few.set(name, await costOf(ask))
    const fewMetrics = await metrics()
    await add(1_101, 10_000)
    const { answer } = await viewer.call(findingList, { query: {} })
    expect(answer).toMatchObject({ total: 10_000 })
    expect((await viewer.call(serverList, { query: {} })).answer).toMatchObject({ total: 10_000 })
    for (const [name, ask] of Object.entries(asks)) {
      const { statements, bytes } = few.get(name)!
      // On a busy machine work in the background may add statements to each of five calls.
      const least = () => costOf(ask).then((cost) => cost.statements)
      await expect.poll(least, { timeout: 60_000, message: name }).toBeLessThanOrEqual(statements)
      // Names and numbers are some digits longer.
      expect([name, (await costOf(ask)).bytes < 1.1 * bytes]).toEqual([name, true])
    }
    // One line for each kind and severity, not one for each server.
    const manyMetrics = await metrics()
    expect(manyMetrics).toContain(
      'steelyard_findings{object="server",kind="server_unreachable",severity="down",acknowledged="false"} 10000',
    )
    expect(named(manyMetrics)).toBe(named(fewMetrics))
    const table = await printed('findings')
    expect(table.length).toBeLessThan(answer!.per_page + 10)
    expect(table.join('\n')).toContain('50 of 10000 (page 1)')
  },
)

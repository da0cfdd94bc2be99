/** Metrics in Prometheus's text format. No label holds text that a person typed. */
import { getHeapStatistics } from 'node:v8'
import { performance } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { isDatabaseGone } from './db/db.ts'
import type { Platform } from './platform.ts'

type Sample = readonly [name: string, kind: 'gauge' | 'counter', help: string, value: number]

export async function metricsText({ db, pool, version }: Platform, app: FastifyInstance): Promise<string> {
  const { utilization } = performance.eventLoopUtilization()
  const samples: Sample[] = [
    ['steelyard_heap_used_bytes', 'gauge', 'JavaScript heap in use.', getHeapStatistics().used_heap_size],
    ['steelyard_event_loop_utilization', 'gauge', 'Share of time that the event loop was busy, since the start.', utilization],
    ['steelyard_streams_open', 'gauge', 'Open streams of live events and logs.', app.streams.count()],
    ['steelyard_database_connections', 'gauge', 'Connections of the pool.', pool.totalCount],
    ['steelyard_database_waiting', 'gauge', 'Requests that wait for a connection.', pool.waitingCount],
  ]
  try {
    const { rows } = await sql<{ open: number; due: number; failing: number; escrow: number; outbox: number }>`select
      (select count(*)::int from operation where ended_at is null) as open,
      (select count(*)::int from wake_up where owner is null and due_at <= now()) as due,
      (select count(*)::int from wake_up where failures > 0) as failing,
      (select count(*)::int from effect e join wake_up w using (queue, key) where e.name = 'escrow' and e.failed_at is not null and w.failures > 0) as escrow,
      (select count(*)::int from outbox) as outbox`.execute(db)
    const { open, due, failing, escrow, outbox } = rows[0]!
    samples.push(
      ['steelyard_database_up', 'gauge', 'Whether the database answers.', 1],
      ['steelyard_operations_open', 'gauge', 'Operations that have not ended.', open],
      ['steelyard_wakeups_due', 'gauge', 'Objects that wait to be looked after.', due],
      ['steelyard_wakeups_failing', 'gauge', 'Objects whose last run failed.', failing],
      ['steelyard_escrow_failing', 'gauge', 'Clusters that wait because their escrow file can not be written.', escrow],
      ['steelyard_outbox_waiting', 'gauge', 'Changes that have not been published.', outbox],
    )
  } catch (error) {
    if (!isDatabaseGone(error)) throw error
    samples.push(['steelyard_database_up', 'gauge', 'Whether the database answers.', 0])
  }
  const lines = samples.flatMap(([name, kind, help, value]) => [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, `${name} ${value}`])
  return [...lines, '# HELP steelyard_info Version of the program.', '# TYPE steelyard_info gauge', `steelyard_info{version="${version}"} 1`, ''].join('\n')
}

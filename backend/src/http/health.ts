/**
 * Routes without sign-in: health and readiness for load balancers, metrics for monitoring, and the
 * data that the console needs before sign-in.
 */
import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { Problem } from '#contract/errors.ts'
import type { Answer } from '#contract/operation.ts'
import { installationGet } from '#contract/users.ts'
import type { Config } from '../config.ts'
import { type Db, isDatabaseGone, isPoolBusy } from '../db/db.ts'
import { isLoopback } from '../network.ts'
import type { Platform } from '../platform.ts'
import { serve } from './serve.ts'

/** Checks whether the database answers now, with the reason if it doesn't. */
async function readiness(db: Db): Promise<{ ok: true } | { ok: false; reason: string }> {
  try {
    await db.selectFrom('publication').select('last_event').execute()
    return { ok: true }
  } catch (error) {
    if (isPoolBusy(error)) return { ok: false, reason: 'The database did not answer in time' }
    return {
      ok: false,
      reason: isDatabaseGone(error)
        ? 'The database cannot be reached'
        : 'The database answers with an error',
    }
  }
}

/**
 * Anybody may call these routes at any rate, so only one query runs at a time; concurrent requests
 * share its result.
 */
function together<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined
  return () => (asking ??= ask().finally(() => (asking = undefined)))
}

/** The metrics in Prometheus's text format. No label contains user input. */
async function metricsText({ db, pool, version }: Platform, app: FastifyInstance): Promise<string> {
  const { utilization } = performance.eventLoopUtilization()
  const gauges: [name: string, help: string, value: number][] = [
    ['steelyard_heap_used_bytes', 'JavaScript heap in use.', getHeapStatistics().used_heap_size],
    [
      'steelyard_event_loop_utilization',
      'Share of time that the event loop was busy, since the start.',
      utilization,
    ],
    ['steelyard_streams_open', 'Open streams of live events and logs.', app.streams.count()],
    ['steelyard_database_connections', 'Database connections in the pool.', pool.totalCount],
    [
      'steelyard_database_waiting',
      'Requests that wait for a database connection.',
      pool.waitingCount,
    ],
  ]
  try {
    const { rows } = await sql<{
      open: number
      due: number
      failing: number
      escrow: number
      outbox: number
    }>`select
      (select count(*)::int from operation where ended_at is null) as open,
      (select count(*)::int from wake_up where owner is null and halted_at is null and due_at <= now()) as due,
      (select count(*)::int from wake_up where failures > 0) as failing,
      (select count(*)::int from effect e join wake_up w using (queue, key) where e.name = 'escrow' and e.failed_at is not null and w.failures > 0) as escrow,
      (select count(*)::int from outbox) as outbox`.execute(db)
    const { open, due, failing, escrow, outbox } = rows[0]!
    gauges.push(
      ['steelyard_database_up', 'Whether the database answers.', 1],
      ['steelyard_operations_open', 'Operations that have not ended.', open],
      ['steelyard_wakeups_due', 'Objects whose next run is due but has not begun.', due],
      ['steelyard_wakeups_failing', 'Objects whose last run failed.', failing],
      [
        'steelyard_escrow_failing',
        'Clusters that wait because their escrow file cannot be written.',
        escrow,
      ],
      ['steelyard_outbox_waiting', 'Changes that have not been published.', outbox],
    )
  } catch (error) {
    if (!isDatabaseGone(error)) throw error
    gauges.push(['steelyard_database_up', 'Whether the database answers.', 0])
  }
  const lines = gauges.flatMap(([name, help, value]) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    `${name} ${value}`,
  ])
  return [
    ...lines,
    '# HELP steelyard_info Version of the program.',
    '# TYPE steelyard_info gauge',
    `steelyard_info{version="${version}"} 1`,
    '',
  ].join('\n')
}

/**
 * Allows this machine and the configured networks. Refuses requests through an untrusted proxy on
 * this machine, which hides the real caller.
 */
function mayMeasure(
  { ip, headers }: FastifyRequest,
  { metricsNetworks, trustedProxies }: Config,
): boolean {
  if (metricsNetworks.some((network) => network.contains(ip))) return true
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined
  return isLoopback(ip) && !(isForwarded && !trustedProxies.some((network) => network.contains(ip)))
}

export function healthRoutes(app: FastifyInstance, platform: Platform): void {
  const { config } = platform
  const ready = together(() => readiness(platform.db))
  const metrics = together(() => metricsText(platform, app))
  app.get('/healthz', { config: { open: true } }, () => ({ ok: true }))
  app.get('/readyz', { config: { open: true } }, async (_request, reply) => {
    const verdict = await ready()
    if (!verdict.ok) void reply.header('retry-after', '5')
    return reply.status(verdict.ok ? 200 : 503).send(verdict)
  })
  app.get('/metrics', { config: { open: true } }, async (request, reply) => {
    if (!mayMeasure(request, config))
      throw new Problem(
        'forbidden',
        'Metrics are open to this machine and to the networks of STEELYARD_METRICS_NETWORKS',
      )
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics())
  })
}

/**
 * What the console needs to know before sign-in. @param ways how users may sign in, beside a
 * password
 */
export function installationRoutes(
  app: FastifyInstance,
  { config, version }: Platform,
  ways: Pick<Answer<typeof installationGet>['sign_in'], 'passkeys' | 'provider'>,
): void {
  const { localSignIn: password } = config
  const passkeys = password
    ? ways.passkeys
    : { rp_id: null, reason: 'Passkeys are switched off here' }
  const answer = {
    version,
    simulated: config.simulate !== undefined,
    waitlist_url: config.waitlistUrl ?? null,
    sign_in: { ...ways, passkeys, password },
  }
  serve(app)(installationGet, async () => answer)
}

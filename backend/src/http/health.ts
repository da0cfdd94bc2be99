/**
 * Routes without sign-in: health and readiness for load balancers, metrics for monitoring, and the
 * data that the console needs before sign-in.
 */
import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { Problem } from '#contract/errors.ts'
import type { Figures } from '#contract/metrics/metrics.ts'
import type { Answer } from '#contract/operation.ts'
import { installationGet } from '#contract/users.ts'
import { type Cause, causeOf, isDatabaseAway } from '../causes/causes.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { isLoopback } from '../network.ts'
import type { Platform } from '../platform.ts'
import { measureRequests, metricsText } from './metrics.ts'
import { serve } from './serve.ts'

const reasons: Partial<Record<Cause, string>> = {
  database_away: 'The database cannot be reached',
  database_silent: 'The database did not answer in time',
}

/** Checks whether the database answers now, with the reason if it doesn't. */
async function readiness(db: Db): Promise<{ ok: true } | { ok: false; reason: string }> {
  try {
    await db.selectFrom('publication').select('last_event').execute()
    return { ok: true }
  } catch (error) {
    return { ok: false, reason: reasons[causeOf(error)] ?? 'The database answers with an error' }
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

/** The figures of this process and of the database. */
async function ownFigures(
  { db, pool, version }: Platform,
  openStreams: () => number,
): Promise<{ readonly isDatabaseUp: boolean; readonly figures: Figures }> {
  const { utilization } = performance.eventLoopUtilization()
  const only = (value: number) => [{ value }]
  const process: Figures = {
    steelyard_info: [{ version, value: 1 }],
    steelyard_heap_used_bytes: only(getHeapStatistics().used_heap_size),
    steelyard_event_loop_utilization: only(utilization),
    steelyard_streams_open: only(openStreams()),
    steelyard_database_connections: only(pool.totalCount),
    steelyard_database_waiting: only(pool.waitingCount),
  }
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
    return {
      isDatabaseUp: true,
      figures: {
        ...process,
        steelyard_database_up: only(1),
        steelyard_operations_open: only(open),
        steelyard_wakeups_due: only(due),
        steelyard_wakeups_failing: only(failing),
        steelyard_escrow_failing: only(escrow),
        steelyard_outbox_waiting: only(outbox),
      },
    }
  } catch (error) {
    if (!isDatabaseAway(error)) throw error
    return { isDatabaseUp: false, figures: { ...process, steelyard_database_up: only(0) } }
  }
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

/** @param counted what each domain counts; not asked while the database is away */
export function healthRoutes(
  app: FastifyInstance,
  platform: Platform,
  {
    counted,
    openStreams,
  }: { counted: readonly (() => Promise<Figures>)[]; openStreams: () => number },
): void {
  const { config } = platform
  const requests = measureRequests(app)
  const ready = together(() => readiness(platform.db))
  const metrics = together(async () => {
    const { isDatabaseUp, figures } = await ownFigures(platform, openStreams)
    const ofDomains = isDatabaseUp ? await Promise.all(counted.map((count) => count())) : []
    return metricsText(requests, [figures, ...ofDomains])
  })
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

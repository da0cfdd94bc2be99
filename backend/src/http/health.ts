/** Health, readiness and metrics, for load balancers and monitoring. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import type { Config } from '../config.ts'
import { type Db, isDatabaseGone, isPoolBusy } from '../db/db.ts'
import { metricsText } from '../metrics.ts'
import { isLoopback } from '../network.ts'
import type { Platform } from '../platform.ts'

/** Whether the database answers now, or why it doesn't. */
async function readiness(db: Db): Promise<{ ok: true } | { ok: false; reason: string }> {
  try {
    await db.selectFrom('publication').select('last_event').execute()
    return { ok: true }
  } catch (error) {
    if (isPoolBusy(error)) return { ok: false, reason: 'The database did not answer in time' }
    return { ok: false, reason: isDatabaseGone(error) ? 'The database can not be reached' : 'The database does not answer as it should' }
  }
}

/** Anybody may call these as often as they like, so the database is asked by one call at a time; others wait for the same answer. */
function together<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined
  return () => (asking ??= ask().finally(() => (asking = undefined)))
}

/** Allows this machine and the networks of the setting. An untrusted proxy on this machine hides the real caller. */
function mayMeasure({ ip, headers }: FastifyRequest, { metricsNetworks, trustedProxies }: Config): boolean {
  if (metricsNetworks.some((network) => network.contains(ip))) return true
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined
  return isLoopback(ip) && !(isForwarded && !trustedProxies.some((network) => network.contains(ip)))
}

export function healthRoutes(app: FastifyInstance, platform: Platform): void {
  const ready = together(() => readiness(platform.db))
  const metrics = together(() => metricsText(platform, app))
  app.get('/healthz', { config: { open: true } }, () => ({ ok: true }))
  app.get('/readyz', { config: { open: true } }, async (_request, reply) => {
    const verdict = await ready()
    if (!verdict.ok) void reply.header('retry-after', '5')
    return reply.status(verdict.ok ? 200 : 503).send(verdict)
  })
  app.get('/metrics', { config: { open: true } }, async (request, reply) => {
    if (!mayMeasure(request, platform.config))
      throw new Problem('forbidden', 'Metrics are open to this machine and to the networks of STEELYARD_METRICS_NETWORKS')
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics())
  })
}

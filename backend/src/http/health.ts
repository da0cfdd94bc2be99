/** For load balancers and people: alive, ready to work, and how much. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import type { Config } from '../config.ts'
import { isLoopback } from '../network.ts'

export interface Health {
  /** Whether the database answers now, or why it doesn't. */
  ready(): Promise<{ ok: true } | { ok: false; reason: string }>
  /** Lines of Prometheus's text format. */
  metrics(): Promise<string>
}

/** What anybody may ask as often as they like is asked of the database by one at a time: who comes meanwhile is given the same answer. */
function together<T>(ask: () => Promise<T>): () => Promise<T> {
  let asking: Promise<T> | undefined
  return () => (asking ??= ask().finally(() => (asking = undefined)))
}

type Networks = Pick<Config, 'metricsNetworks' | 'trustedProxies'>

/** This machine itself and the networks of the setting. A proxy on this machine that isn't trusted hides who asks. */
function mayMeasure({ ip, headers }: FastifyRequest, { metricsNetworks, trustedProxies }: Networks): boolean {
  if (metricsNetworks.some((network) => network.contains(ip))) return true
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined
  return isLoopback(ip) && !(isForwarded && !trustedProxies.some((network) => network.contains(ip)))
}

export function healthRoutes(app: FastifyInstance, health: Health, networks: Networks): void {
  const ready = together(() => health.ready())
  const metrics = together(() => health.metrics())
  app.get('/healthz', { config: { open: true } }, () => ({ ok: true }))
  app.get('/readyz', { config: { open: true } }, async (_request, reply) => {
    const verdict = await ready()
    if (!verdict.ok) void reply.header('retry-after', '5')
    return reply.status(verdict.ok ? 200 : 503).send(verdict)
  })
  app.get('/metrics', { config: { open: true } }, async (request, reply) => {
    if (!mayMeasure(request, networks)) throw new Problem('forbidden', 'Metrics are open to this machine and to the networks of STEELYARD_METRICS_NETWORKS')
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics())
  })
}

/** For load balancers and people: alive, ready to work, and how much. */
import type { FastifyInstance } from 'fastify'

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

export function healthRoutes(app: FastifyInstance, health: Health): void {
  const ready = together(() => health.ready())
  const metrics = together(() => health.metrics())
  app.get('/healthz', { config: { open: true } }, () => ({ ok: true }))
  app.get('/readyz', { config: { open: true } }, async (_request, reply) => {
    const verdict = await ready()
    if (!verdict.ok) void reply.header('retry-after', '5')
    return reply.status(verdict.ok ? 200 : 503).send(verdict)
  })
  app.get('/metrics', { config: { open: true } }, async (_request, reply) => reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics()))
}

/**
 * The app of a process without the role `http`: its health, readiness and metrics, so that it can be
 * watched like any other.
 */
import fastify, { type FastifyInstance } from 'fastify'
import { Problem } from '#contract/errors.ts'
import type { Figures } from '#contract/metrics/metrics.ts'
import type { Platform } from '../platform.ts'
import { errorHandler, sendProblem } from './errors.ts'
import { addHeaders, securityHeaders } from './headers.ts'
import { healthRoutes } from './health.ts'
import { refuseAmbiguous, refuseMalformed } from './malformed.ts'
import { limitServer, serverOptions } from './server-options.ts'

/** @param counted what each domain counts for `/metrics` */
export async function buildProbes(
  platform: Platform,
  counted: readonly (() => Promise<Figures>)[],
): Promise<FastifyInstance> {
  const { config } = platform
  const safe = securityHeaders([], config.tls !== undefined)
  const nothingThere = () =>
    new Problem(
      'not_found',
      'This process answers /healthz, /readyz and /metrics only: its STEELYARD_ROLES has no http',
    )
  const app: FastifyInstance = fastify({
    ...serverOptions(config),
    clientErrorHandler: refuseMalformed(safe),
    forceCloseConnections: true,
    frameworkErrors: (_error, request, reply) => {
      void reply.headers({ ...safe, 'cache-control': 'no-store', 'x-request-id': request.id })
      sendProblem(request, reply, nothingThere())
    },
  })
  limitServer(app.server, config)
  // No route takes a body.
  app.removeAllContentTypeParsers()
  app.setErrorHandler(errorHandler(platform))
  addHeaders(app, safe)
  refuseAmbiguous(app)
  app.addHook('onRequest', (request, _reply, done) =>
    done(request.is404 ? nothingThere() : undefined),
  )
  healthRoutes(app, platform, { counted, openStreams: () => 0 })
  await app.ready()
  return app
}

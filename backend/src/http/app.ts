/**
 * The HTTP app: limits, headers, session guard, errors, the routes of every domain, the console's
 * files.
 */
import type { IncomingMessage } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import type { Figures } from '#contract/metrics/metrics.ts'
import { isDatabaseAway } from '../causes/causes.ts'
import type { Platform } from '../platform.ts'
import { readBytes, readJson } from './body.ts'
import { refuseAmbiguous, refuseMalformed } from './malformed.ts'
import type { UserCaller } from './caller.ts'
import { serveDocsSearch } from './pages/docs-search.ts'
import { consoleFiles, type Folders, isForPage, serveConsole } from './pages/console.ts'
import { apiPage } from './pages/api-page.ts'
import { allowOrigins } from './cors.ts'
import { errorHandler, sendProblem } from './errors.ts'
import { addHeaders, securityHeaders } from './headers.ts'
import { healthRoutes } from './health.ts'
import { idempotency } from './idempotency.ts'
import { defaultLimits, type Limits, limit } from './limits.ts'
import { methodsOfPaths } from './openapi/methods.ts'
import { openapiRoutes } from './openapi.ts'
import { queryOf } from './query.ts'
import { limitServer, serverOptions } from './server-options.ts'
import { type Authenticate, guard } from './session.ts'
import { streams } from './streams.ts'
import { traceRequests } from './traces.ts'
import { wellKnown } from './pages/well-known.ts'

export interface AppParts extends Platform, Folders {
  readonly authenticate: Authenticate
  /** When the session's user last proved their identity, in ms since 1970. */
  readonly lastProof: (sessionId: string) => Promise<number>
  /** Given the callers of open streams, returns those that are no longer allowed to read. */
  readonly lapsed: (callers: readonly UserCaller[]) => Promise<UserCaller[]>
  /** Key for the hashes of request bodies that are stored with an Idempotency-Key. */
  readonly hashKey: () => Promise<Uint8Array>
  /**
   * Number of the newest event. A page's event stream starts after this event, so the page misses
   * no change and needn't fetch its data twice.
   */
  readonly lastEvent: () => number | undefined
  readonly limits?: Limits | undefined
  /** What each domain counts for `/metrics`. */
  readonly figures: readonly (() => Promise<Figures>)[]
  /** Each domain's routes. */
  readonly routes: readonly ((app: FastifyInstance) => void)[]
}

/** How long running requests may take after a shutdown begins, before they are cut off. */
const closingGraceMs = 5_000
/** How often the sessions of open streams are checked. */
const lapsedCheckMs = 2_000
/** `Retry-After` during a shutdown: longer than a restart takes. */
const stoppingRetrySeconds = 5

export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { config, clock, log } = parts
  const files = consoleFiles(parts)
  const safe = securityHeaders(files.connects, config.tls !== undefined)
  const app: FastifyInstance = fastify({
    ...serverOptions(config),
    // The check of `stopping` below responds with the usual error body instead.
    return503OnClosing: false,
    clientErrorHandler: refuseMalformed(safe),
    // Running requests may finish during a shutdown; `preClose` below cuts off those that take too
    // long.
    forceCloseConnections: 'idle',
    routerOptions: {
      maxParamLength: 200,
      querystringParser: (text) => queryOf(text).values,
    },
    // No hook has run at this point, so the headers are added here.
    frameworkErrors: (error, request, reply) => {
      void reply.headers({ ...safe, 'cache-control': 'no-store', 'x-request-id': request.id })
      // The console's own screen says that the path can't be read.
      if (files.isBuilt && isForPage(request))
        void files.sendIndex(request, reply, parts.lastEvent())
      else
        sendProblem(
          request,
          reply,
          new Problem(
            'bad_request',
            error.code === 'FST_ERR_BAD_URL'
              ? 'The path cannot be read'
              : 'The request cannot be read',
          ),
        )
    },
  })
  const { server } = app
  limitServer(server, config)

  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, body: IncomingMessage) => {
      const said = request.headers['content-length']
      return readJson(
        await readBytes(
          body,
          request.routeOptions.bodyLimit,
          said === undefined ? undefined : Number(said),
        ),
      )
    },
  )
  app.setErrorHandler(errorHandler(parts))
  const kept = idempotency(parts)
  app.decorate('idempotency', kept)
  app.addHook('onClose', async () => kept.stop())
  app.decorate('streams', streams(clock))

  if (parts.tracing) traceRequests(app, parts.tracing)
  addHeaders(app, safe)
  let stopping = false
  app.addHook('onRequest', (_request, _reply, done) =>
    done(
      stopping
        ? new Problem(
            'unavailable',
            'Steelyard is stopping. Please try again in a moment.',
            undefined,
            stoppingRetrySeconds,
          )
        : undefined,
    ),
  )
  refuseAmbiguous(app)
  allowOrigins(app, config.consoleOrigins)
  const methods = methodsOfPaths(app)
  /** The error of a method that the path doesn't have, after the header with those that it has. */
  const wrongMethod = (
    request: FastifyRequest,
    reply: FastifyReply,
    allowed: ReadonlySet<string>,
  ): Problem => {
    void reply.header('allow', [...allowed].toSorted().join(', '))
    return new Problem('method_not_allowed', `${request.method} is not allowed for this path`)
  }
  /**
   * The error for a path that nothing serves. For methods other than GET it is sent before the body
   * is read.
   */
  const nothingThere = (request: FastifyRequest, reply: FastifyReply): Problem | undefined => {
    const path = request.url.split('?', 1)[0]!
    const allowed = methods.of(path)
    if (allowed) return wrongMethod(request, reply, allowed)
    const page = request.method === 'GET' || request.method === 'HEAD'
    return isForPage(request) || (page && files.isPage(path))
      ? undefined
      : new Problem('not_found', 'There is no such path')
  }
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) return done(nothingThere(request, reply))
    const allowed = methods.meant(request.routeOptions.url, request.url)
    done(allowed && wrongMethod(request, reply, allowed))
  })
  limit(app, { ...parts, limits: parts.limits ?? defaultLimits })
  guard(app, parts)
  app.addHook('onResponse', (request, reply, done) => {
    const { operation } = request.routeOptions.config
    if (!operation) return done()
    const { id: request_id, method, ip, caller } = request
    const user =
      caller.kind === 'user' ? { user_id: caller.userId, session_id: caller.sessionId } : {}
    const { statusCode: status, elapsedTime } = reply
    log[status >= 500 ? 'warn' : 'debug']('request', {
      request_id,
      method,
      path: operation.path,
      status,
      duration_ms: Math.round(elapsedTime),
      ip,
      ...user,
    })
    done()
  })

  healthRoutes(app, parts, { counted: parts.figures, openStreams: app.streams.count })
  for (const routes of parts.routes) routes(app)
  openapiRoutes(app, { version: parts.version })
  apiPage(app, parts)
  wellKnown(app, parts)
  serveConsole(app, files, () => parts.lastEvent())
  serveDocsSearch(app, parts.docsFolder)

  // `nothingThere` has refused every other path. The console shows its page, or that there is none.
  app.setNotFoundHandler((request, reply) => files.sendIndex(request, reply, parts.lastEvent()))
  const sweep = setInterval(() => app.streams.sweep(), 1_000)
  sweep.unref()
  // Ends streams after changes without a notification: a reduced role, an idle session, a lost
  // notification.
  const look = setInterval(() => void endLapsed(), lapsedCheckMs)
  look.unref()
  const endLapsed = async () => {
    const callers = app.streams.callers()
    if (callers.length === 0) return
    try {
      app.streams.endOf(await parts.lapsed(callers))
    } catch (error) {
      if (!isDatabaseAway(error)) log.error('streams.check_failed', { error })
    }
  }
  const closing: NodeJS.Timeout[] = []
  app.addHook('preClose', async () => {
    stopping = true
    clearInterval(sweep)
    clearInterval(look)
    app.streams.endAll()
    // Repeated, because a connection with a running request becomes idle only after the response.
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    const cut = setTimeout(() => server.closeAllConnections(), closingGraceMs)
    idle.unref()
    cut.unref()
    closing.push(idle, cut)
  })
  app.addHook('onClose', async () => closing.forEach((timer) => clearTimeout(timer)))
  await app.ready()
  return app
}

/**
 * Registers the contract's operations as routes. `session.ts` checks the permission from
 * `config.operation`, before anything is parsed.
 */
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import {
  type Answer,
  errorsOf,
  type Input,
  type Operation,
  takesBody,
} from '#contract/operation.ts'
import type { Caller, UserCaller } from './caller.ts'
import { invalid, unreadable } from './errors.ts'
import { accepts } from './pages/files.ts'
import type { Answered, Idempotency } from './idempotency.ts'
import { stalledMs } from './load/sockets.ts'
import { sendStream, type StreamPart } from './streams.ts'
import { hasTag, packed, type Versions, versionsOf, worthPacking } from './tags.ts'

type Call<O extends Operation> = Input<O> & CallContext

type Handler<O extends Operation> = (call: Call<O>) => Promise<Answer<O> | Serialised>
/**
 * Yields text or bytes as they become available. An exception before the first part becomes an
 * error response.
 */
type StreamHandler<O extends Operation> = (
  call: Call<O>,
) => AsyncIterable<StreamPart> | Promise<AsyncIterable<StreamPart>>

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    /** When the request's access token expires, in ms since 1970; undefined without a token. */
    tokenEndsAt: number | undefined
  }
  interface FastifyContextConfig {
    operation?: Operation
    /** Largest body in bytes, if it differs from the default. */
    largestBody?: number
    /**
     * The route's requests don't count as requests in flight: they wait in a bounded queue of their
     * own.
     */
    hasOwnQueue?: boolean
  }
  interface FastifyInstance {
    idempotency: Idempotency
  }
}

/**
 * Largest body of a call without a session: a thousand such bodies must fit into memory at once.
 */
const largestBodyOfStrangers = 8 * 1024

const routeOf = (operation: Operation) => ({
  method: operation.method,
  url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
})

/** Nouns for the messages of 404 responses. */
const nouns: Readonly<Record<string, string>> = {
  nodes: 'Server',
  clusters: 'Cluster',
  datacenters: 'Datacenter',
}

/** A malformed id counts as an id that doesn't exist. */
function nothing(
  operation: Operation,
  params: unknown,
  issues: readonly z.core.$ZodIssue[],
): Problem {
  if (!errorsOf(operation).has('not_found')) return unreadable(issues)
  const noun = nouns[operation.path.split('/')[2]!]
  const { id } = params as { id?: string }
  return new Problem(
    'not_found',
    noun && id && issues.some(({ path }) => path[0] === 'id')
      ? `${noun} ${id.slice(0, 64)} not found`
      : 'There is no such object',
  )
}

/**
 * A missing body counts as an empty object. If the call takes no body, an empty object counts as no
 * body.
 */
function bodyOf(operation: Operation, given: unknown): unknown {
  if (takesBody(operation)) return given === undefined ? {} : given
  const isEmpty =
    typeof given === 'object' &&
    given !== null &&
    !Array.isArray(given) &&
    Object.keys(given).length === 0
  if (given !== undefined && !isEmpty) throw new Problem('invalid', 'This call takes no body')
  return undefined
}

const parsed = new WeakMap<object, { readonly operation: Operation; readonly query: unknown }>()

/**
 * `values` is the same object for the same query as before (`queryOf`), so it needn't be parsed
 * again.
 */
function queryIn(operation: Operation, values: object): unknown {
  const known = parsed.get(values)
  if (known?.operation === operation) return known.query
  const query = z.safeParse(operation.query, values)
  if (!query.success) throw unreadable(query.error.issues)
  parsed.set(values, { operation, query: Object.freeze(query.data) })
  return query.data
}

function read<O extends Operation>(operation: O, request: FastifyRequest): Input<O> {
  const params = z.safeParse(operation.params, request.params ?? {})
  if (!params.success) throw nothing(operation, request.params, params.error.issues)
  const query = queryIn(operation, request.query as object)
  const body = z.safeParse(operation.body, bodyOf(operation, request.body))
  if (!body.success) throw invalid(body.error.issues)
  return { params: params.data, query, body: body.data } as Input<O>
}

/** A signal that is aborted when the client disconnects before the end of the response. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  const abort = () => {
    if (!raw.writableFinished) gone.abort(new Problem('bad_request', 'The client has disconnected'))
  }
  if (raw.destroyed) abort()
  else raw.once('close', abort)
  return gone.signal
}

/**
 * What a handler gets in addition to the parsed input. Handlers take its functions apart from it,
 * so they are fields.
 */
export class CallContext {
  readonly caller: Caller
  /**
   * From `If-Match`: the versions that the caller read. Compare them with `checkVersion`. Parsed
   * only for calls that compare versions.
   */
  readonly ifMatch: Versions
  /**
   * From `Last-Event-ID`: the stream continues after it. An invalid id counts as missing: the
   * stream starts now.
   */
  readonly lastEventId: number | undefined
  readonly ip: string
  readonly userAgent: string
  /** The `Cookie` header, used only by sign-in. */
  readonly cookies: string | undefined
  /** Whether the caller uses HTTPS, to this server or to a trusted proxy. */
  readonly isEncrypted: boolean
  /** When the caller's access token expires, in ms since 1970. */
  readonly tokenEndsAt: number | undefined
  /** Adds a header to the response. The header isn't stored with an Idempotency-Key. */
  readonly header: (name: string, value: string) => void
  /**
   * File name under which a browser saves the response. Characters other than letters, digits, dots
   * and hyphens become hyphens.
   */
  readonly saveAs: (filename: string) => void
  readonly #reply: FastifyReply
  #signal: AbortSignal | undefined

  constructor(operation: Operation, request: FastifyRequest, reply: FastifyReply) {
    const { headers } = request
    const last = headers['last-event-id']
    this.caller = request.caller
    this.ifMatch = operation.errors.includes('stale') ? versionsOf(headers['if-match']) : undefined
    this.lastEventId =
      typeof last === 'string' && /^\d{1,15}$/.test(last) ? Number(last) : undefined
    this.ip = request.ip
    this.userAgent = headers['user-agent'] ?? ''
    this.cookies = headers.cookie
    this.isEncrypted = request.protocol === 'https'
    this.tokenEndsAt = request.tokenEndsAt
    this.header = (name, value) => void reply.header(name, value)
    this.saveAs = (filename) =>
      this.header(
        'content-disposition',
        `attachment; filename="${filename.replaceAll(/[^A-Za-z0-9.-]+/g, '-').slice(0, 100)}"`,
      )
    this.#reply = reply
  }

  /**
   * Aborted when the client disconnects before the end of the response, at shutdown, and when the
   * access token expires.
   */
  get signal(): AbortSignal {
    return (this.#signal ??= goneSignal(this.#reply))
  }

  /** From now on the signal is also aborted with this one. */
  endWith(signal: AbortSignal): void {
    this.#signal = AbortSignal.any([signal, this.signal])
  }
}

/**
 * A response that is already serialised as JSON, as text or as UTF-8 bytes: lists are serialised
 * once per change, not once per request. It is sent unchanged, so it must match the operation's
 * schema.
 */
export class Serialised {
  readonly body: string | Uint8Array
  readonly etag: string | undefined

  constructor(body: string | Uint8Array, tag?: string) {
    this.body = body
    this.etag = tag
  }
}

const media = ({ media: type }: Operation): string =>
  type === 'application/octet-stream' ? type : `${type}; charset=utf-8`

/** An object's ETag is its `version`. */
function etag(answer: unknown): string | undefined {
  const version =
    typeof answer === 'object' && answer !== null && 'version' in answer
      ? answer.version
      : undefined
  return typeof version === 'number' ? `"${version}"` : undefined
}

/**
 * `isVolatile`: the response contains data that changes without the object's version, so it is sent
 * even if the client has that version.
 */
type ServeOptions = Pick<FastifyContextConfig, 'largestBody' | 'hasOwnQueue' | 'heavy'> & {
  readonly isVolatile?: boolean
}

/**
 * Serves an operation: parses the request, calls the handler, formats the response by the
 * operation's schema. Fields outside the contract are never sent. `on = serve(app)`, then
 * `on(datacenterList, ({ query }) => datacenters.list(query))`.
 */
export const serve =
  (app: FastifyInstance, { isVolatile = false, ...options }: ServeOptions = {}) =>
  <O extends Operation>(operation: O, handler: Handler<O>): void => {
    const largestBody =
      options.largestBody ?? (operation.scope === null ? largestBodyOfStrangers : undefined)
    app.route({
      ...routeOf(operation),
      config: { operation, ...options },
      ...(largestBody !== undefined && { bodyLimit: largestBody }),
      handler: async (request, reply) => {
        // The payload is returned, because `reply` is a thenable that would watch the response
        // until its end.
        return app.inPlace(request, reply, async () => {
          const input = read(operation, request)
          const context = new CallContext(operation, request, reply)
          const answer = await app.idempotency.run(request, operation, input.body, {
            act: async (caller) =>
              answerOf(operation, await handler(Object.assign(context, input, { caller }))),
            answerOf: (result) =>
              isAnswer(operation, result) ? answerOf(operation, result) : undefined,
          })
          return payloadOf(operation, answer, request, reply, isVolatile)
        })
      },
    })
  }

/** Sets status and headers of a response and returns its payload. */
async function payloadOf(
  operation: Operation,
  { status, body, etag: tag }: Answered,
  request: FastifyRequest,
  reply: FastifyReply,
  isVolatile: boolean,
): Promise<string | Uint8Array | undefined> {
  const long = body instanceof Uint8Array && body.length >= worthPacking ? body : null
  if (long) void reply.header('vary', 'accept-encoding')
  if (tag) {
    void reply.header('etag', tag)
    if (request.method === 'GET' && !isVolatile && hasTag(request.headers['if-none-match'], tag)) {
      void reply.status(304)
      return undefined
    }
  }
  void reply.status(status)
  if (body === null) return undefined
  void reply.type(media(operation))
  if (!long || !accepts(request, 'gzip')) return body
  void reply.header('content-encoding', 'gzip')
  return packed(long)
}

function answerOf(operation: Operation, result: unknown): Answered {
  const { body, etag: tag } =
    result instanceof Serialised ? result : { body: present(operation, result), etag: etag(result) }
  return { status: operation.status, body, etag: tag }
}

/** Whether the result of a transaction is already the call's response. */
const isAnswer = (operation: Operation, result: unknown): boolean =>
  operation.status === 204 ||
  (operation.media === 'application/json' && z.safeParse(operation.answer, result).success)

/**
 * Lists are checked by TypeScript, not at run time, because they may be long: their items come from
 * `present` functions typed by the contract.
 */
function present(operation: Operation, result: unknown): string | null {
  if (operation.status === 204 || result === undefined) return null
  return operation.media === 'application/json'
    ? JSON.stringify(z.parse(operation.answer, result))
    : (result as string)
}

const stalledLogMs = 300_000

/**
 * Serves an operation whose response is a stream. The stream ends with the access token, so that
 * nothing is sent after the token was revoked. `isWhole`: a part of the response is useless, so the
 * connection is cut if the response can't be completed.
 */
export const serveStream =
  (app: FastifyInstance, { isWhole = false } = {}) =>
  <O extends Operation>(operation: O, handler: StreamHandler<O>): void => {
    app.route({
      ...routeOf(operation),
      config: { operation, isStream: true },
      // A HEAD request would keep the stream open without sending anything.
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        const input = read(operation, request)
        const context = new CallContext(operation, request, reply)
        await sendStream({
          request,
          reply,
          type: media(operation),
          // A reader of a log may pause longer than a reader of live events, who is disconnected
          // sooner and then fetches the data again.
          stalledMs: operation.media === 'text/event-stream' ? stalledMs : stalledLogMs,
          isWhole,
          open: (signal) => {
            context.endWith(signal)
            return handler(Object.assign(context, input))
          },
        })
      },
    })
  }

/** The signed-in caller of an operation whose scope isn't null. */
export function signedIn(caller: Caller): UserCaller {
  if (caller.kind !== 'user')
    throw new Problem('session_expired', 'Session expired. Please sign in again.')
  return caller
}

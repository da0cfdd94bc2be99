/** Puts the contract's operations on the server. Who may call one is checked from `config.operation` by `session.ts`, before anything is parsed. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import { type Answer, type Input, type Operation, takesBody } from '#contract/operation.ts'
import type { Caller, UserCaller } from './caller.ts'
import { invalid, unreadable } from './errors.ts'
import { accepts } from './console.ts'
import type { Answered, Idempotency } from './idempotency.ts'
import { stalledMs } from './load/stalled.ts'
import { packed, tagOf, worthPacking } from './cached-text.ts'
import { sendStream, type StreamPart } from './stream.ts'
import { hasTag, type Versions, versionsOf } from './tags.ts'

/** What a handler gets in addition to the parsed input. */
export interface CallContext {
  readonly caller: Caller
  /** From `If-Match`: the versions that the caller read. Compare them by `checkVersion`. */
  readonly ifMatch: Versions
  /** From `Last-Event-ID`: the stream continues after it. */
  readonly lastEventId: number | undefined
  readonly ip: string
  readonly userAgent: string
  /** The `Cookie` header; sign-in alone looks at it. */
  readonly cookies: string | undefined
  /** Whether the caller speaks HTTPS, to us or to a trusted proxy. */
  readonly isEncrypted: boolean
  /** When the caller's access token ends, in ms since 1970. */
  readonly tokenEndsAt: number | undefined
  /** Ends when the client goes away, at shutdown, and when the access token does. */
  readonly signal: AbortSignal
  /** Adds a header to the answer; not kept with an Idempotency-Key. */
  readonly header: (name: string, value: string) => void
  /** Name under which a browser saves the answer. Letters, digits, dots and hyphens; anything else becomes a hyphen. */
  readonly saveAs: (filename: string) => void
}
export type Call<O extends Operation> = Input<O> & CallContext

export type Handler<O extends Operation> = (call: Call<O>) => Promise<Answer<O>>
/** Yields text or bytes as they come. What it throws before the first part is answered as an error. */
export type StreamHandler<O extends Operation> = (call: Call<O>) => AsyncIterable<StreamPart> | Promise<AsyncIterable<StreamPart>>

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    /** When the access token of the request ends, in ms; undefined without one. */
    tokenEndsAt: number | undefined
  }
  interface FastifyContextConfig {
    operation?: Operation
    /** Largest body in bytes, where the call takes more or less than others. */
    largestBody?: number
    /** Its calls take no place among the requests in flight: they wait in a bounded line of their own. */
    hasOwnQueue?: boolean
  }
  interface FastifyInstance {
    idempotency: Idempotency
  }
}

/** Of a call that anybody may make: a thousand open bodies of strangers must fit into memory. */
const largestBodyOfStrangers = 8 * 1024

const url = (operation: Operation): string => operation.path.replaceAll(/\{(\w+)\}/g, ':$1')

/** Nouns that a 404 names, as the specification demands for servers. */
const nouns: Readonly<Record<string, string>> = { nodes: 'Server', clusters: 'Cluster', datacenters: 'Datacenter' }

/** An id that can't be one names nothing. */
function nothing(operation: Operation, params: unknown, issues: readonly z.core.$ZodIssue[]): Problem {
  if (!operation.errors.includes('not_found')) return unreadable(issues)
  const noun = nouns[operation.path.split('/')[2]!]
  const { id } = params as { id?: string }
  return new Problem(
    'not_found',
    noun && id && issues.some(({ path }) => path[0] === 'id') ? `${noun} ${id.slice(0, 64)} not found` : 'There is no such object',
  )
}

/** A missing body counts as an empty one, and an empty body as none where the call takes none. */
function bodyOf(operation: Operation, given: unknown): unknown {
  if (takesBody(operation)) return given === undefined ? {} : given
  const isEmpty = typeof given === 'object' && given !== null && !Array.isArray(given) && Object.keys(given).length === 0
  if (given !== undefined && !isEmpty) throw new Problem('invalid', 'This call takes no body')
  return undefined
}

function read<O extends Operation>(operation: O, request: FastifyRequest): Input<O> {
  const params = z.safeParse(operation.params, request.params ?? {})
  if (!params.success) throw nothing(operation, request.params, params.error.issues)
  const query = z.safeParse(operation.query, request.query ?? {})
  if (!query.success) throw unreadable(query.error.issues)
  const body = z.safeParse(operation.body, bodyOf(operation, request.body))
  if (!body.success) throw invalid(body.error.issues)
  return { params: params.data, query: query.data, body: body.data } as Input<O>
}

/** Only calls that compare versions look at it. */
const readIfMatch = (request: FastifyRequest): Versions =>
  request.routeOptions.config.operation?.errors.includes('stale') ? versionsOf(request.headers['if-match']) : undefined

/** An invalid id counts as missing: the stream starts now. */
function readLastEventId(request: FastifyRequest): number | undefined {
  const header = request.headers['last-event-id']
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

function contextOf(request: FastifyRequest, reply: FastifyReply): CallContext {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort(new Problem('bad_request', 'The client went away')))
  return {
    caller: request.caller,
    ifMatch: readIfMatch(request),
    lastEventId: readLastEventId(request),
    ip: request.ip,
    userAgent: request.headers['user-agent'] ?? '',
    cookies: request.headers.cookie,
    isEncrypted: request.protocol === 'https',
    tokenEndsAt: request.tokenEndsAt,
    signal: gone.signal,
    header: (name, value) => void reply.header(name, value),
    saveAs: (filename) => void reply.header('content-disposition', `attachment; filename="${filename.replaceAll(/[^A-Za-z0-9.-]+/g, '-').slice(0, 100)}"`),
  }
}

const media = (operation: Operation) => (operation.media === 'application/json' ? 'application/json; charset=utf-8' : `${operation.media}; charset=utf-8`)

/** The answer's `version` is also its ETag; a list that is kept ready has that of its text. */
function etag(answer: unknown): string | undefined {
  const version = typeof answer === 'object' && answer !== null && 'version' in answer ? answer.version : undefined
  return typeof version === 'number' ? `"${version}"` : undefined
}

export interface ServeOptions {
  readonly largestBody?: number
  readonly hasOwnQueue?: boolean
  /** The answer holds more than the object's version covers, so it is sent even if the reader has that version. */
  readonly isVolatile?: boolean
  /** Costs much of the processor: a person has few of these at once. */
  readonly heavy?: boolean
}

/**
 * Serves an operation: parse, hand over, present. The answer goes through the operation's schema, so a field that the contract doesn't name never leaves.
 * `on = serve(app)`, then `on(datacenterList, ({ query }) => datacenters.list(query))`.
 */
export const serve =
  (app: FastifyInstance, { isVolatile = false, ...options }: ServeOptions = {}) =>
  <O extends Operation>(operation: O, handler: Handler<O>): void => {
    const largestBody = options.largestBody ?? (operation.scope === null ? largestBodyOfStrangers : undefined)
    app.route({
      method: operation.method,
      url: url(operation),
      config: { operation, ...options },
      ...(largestBody !== undefined && { bodyLimit: largestBody }),
      handler: async (request, reply) => {
        const payload = await app.inPlace(request, reply, async () => {
          const input = read(operation, request)
          const context = contextOf(request, reply)
          const answer = await app.idempotency.run(request, operation, input.body, {
            act: async (caller) => answerOf(operation, await handler({ ...input, ...context, caller })),
            answerOf: (result) => (isAnswer(operation, result) ? answerOf(operation, result) : undefined),
          })
          return payloadOf(operation, answer, request, reply, isVolatile)
        })
        return reply.send(payload)
      },
    })
  }

/** Sets status and headers of an answer and returns its payload. */
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
  const body = present(operation, result)
  return { status: operation.status, body, etag: body instanceof Uint8Array ? tagOf(body) : etag(result) }
}

/** Whether what a transaction came to is what the call is answered. */
const isAnswer = (operation: Operation, result: unknown): boolean =>
  operation.status === 204 || (operation.media === 'application/json' && z.safeParse(operation.answer, result).success)

/** Lists of a thousand items are checked by type, not at run time: their items come from `present` functions typed by the contract. */
function present(operation: Operation, result: unknown): string | Uint8Array | null {
  if (operation.status === 204 || result === undefined) return null
  if (operation.media !== 'application/json') return result as string
  return typeof result === 'object' && result !== null && preSerialised in result
    ? (result[preSerialised] as string | Uint8Array)
    : JSON.stringify(z.parse(operation.answer, result))
}

const preSerialised = Symbol('JSON text')
/**
 * An answer whose JSON text is kept ready, as text or as UTF-8 bytes: lists are serialised once per change, not once per request.
 * It is sent as it is, so it must be what the answer's schema allows.
 */
export const asJson = (text: string | Uint8Array): never => ({ [preSerialised]: text }) as never

const stalledLogMs = 300_000

/** Serves an operation whose answer is a stream. It ends with the access token, so that a revoked one reads nothing more. */
export const serveStream =
  (app: FastifyInstance) =>
  <O extends Operation>(operation: O, handler: StreamHandler<O>): void => {
    app.route({
      method: operation.method,
      url: url(operation),
      config: { operation },
      // Asked for the head alone, it would be kept open without a word.
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        const input = read(operation, request)
        const context = contextOf(request, reply)
        await sendStream({
          request,
          reply,
          type: media(operation),
          // A reader of a log may pause at a line; live events that are not read are fetched again instead.
          stalledMs: operation.media === 'text/event-stream' ? stalledMs : stalledLogMs,
          open: (signal) => handler({ ...input, ...context, signal: AbortSignal.any([signal, context.signal]) }),
        })
      },
    })
  }

/** The signed-in caller of an operation whose scope isn't null. */
export function signedIn(caller: Caller): UserCaller {
  if (caller.kind !== 'user') throw new Problem('session_expired', 'Session expired. Please sign in again.')
  return caller
}

/** An HTTP server with the contract's paths, schemas and errors. The test supplies the answers. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import * as z from 'zod/mini'
import { allOperations } from '#contract/all.ts'
import { errors, Problem } from '#contract/errors.ts'
import type { Input, Operation } from '#contract/operation.ts'

export interface Call {
  readonly operation: string
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly headers: IncomingHttpHeaders
}
type AskedAnswer<O extends Operation> = z.input<O['answer']>
type Handler = (input: Input<Operation>, answer: ServerResponse) => unknown

export interface TestApi {
  readonly url: string
  readonly calls: Call[]
  /** Valid access tokens. */
  readonly tokens: Set<string>
  /**
   * Sets the handler of an operation. A thrown Problem becomes an error response; 'done' means that
   * the handler itself has sent the response.
   */
  on<O extends Operation>(
    operation: O,
    handler: (
      input: Input<O>,
      answer: ServerResponse,
    ) => AskedAnswer<O> | 'done' | Promise<AskedAnswer<O> | 'done'>,
  ): void
  callsOf(operation: Operation): Call[]
}

const matches = (operation: Operation, method: string, path: string) => {
  const names: string[] = []
  const pattern = operation.path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => (names.push(name), '([^/]+)'),
  )
  const found = operation.method === method ? new RegExp(`^${pattern}$`).exec(path) : null
  return (
    found && Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(found[i + 1]!)]))
  )
}

export async function startApi(): Promise<TestApi> {
  const handlers = new Map<string, Handler>()
  const calls: Call[] = []
  const tokens = new Set<string>()

  async function answerTo(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://test')
    // A fixed path such as /v1/nodes/patches takes precedence over a path with parameters.
    const candidates = allOperations.flatMap((operation) => {
      const params = matches(operation, request.method!, url.pathname)
      return params ? [{ operation, params }] : []
    })
    const [found] = candidates.toSorted(
      (a, b) => Object.keys(a.params).length - Object.keys(b.params).length,
    )
    if (!found) throw new Problem('not_found', 'No such path')
    const { operation, params } = found
    const body = await text(request)
    const call = {
      operation: operation.name,
      params,
      query: Object.fromEntries(url.searchParams),
      body: body === '' ? undefined : (JSON.parse(body) as unknown),
      headers: request.headers,
    }
    calls.push(call)
    if (
      operation.scope !== null &&
      !tokens.has(request.headers.authorization?.replace('Bearer ', '') ?? '')
    )
      throw new Problem('session_expired', 'Your session has ended')
    const input = {
      params: z.parse(operation.params, call.params),
      query: z.parse(operation.query, call.query),
      body: z.parse(operation.body, call.body),
    }
    const handler = handlers.get(operation.name)
    if (!handler) throw new Problem('internal', `The test does not answer ${operation.name}`)
    const value = await handler(input, answer)
    if (value === 'done') return
    answer.writeHead(operation.status, { 'content-type': operation.media })
    answer.end(
      operation.status === 204
        ? undefined
        : operation.media === 'application/json'
          ? JSON.stringify(value)
          : String(value),
    )
  }

  const server = createServer((request, answer) => {
    answerTo(request, answer).catch((e: unknown) => {
      const problem = e instanceof Problem ? e : new Problem('internal', String(e))
      const retry =
        problem.retryAfterSeconds === undefined
          ? {}
          : { 'retry-after': String(problem.retryAfterSeconds) }
      answer.writeHead(errors[problem.code].status, {
        'content-type': 'application/json',
        ...retry,
      })
      answer.end(
        JSON.stringify({
          error: problem.message,
          code: problem.code,
          ...(problem.fields && { fields: problem.fields }),
          request_id: 'req-1',
        }),
      )
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    tokens,
    on: (operation, handler) => void handlers.set(operation.name, handler),
    callsOf: (operation) => calls.filter((c) => c.operation === operation.name),
  }
}

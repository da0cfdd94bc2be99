/** Spans of calls to machines. */
import type { ClientHttp2Stream } from 'node:http2'
import type { OpenStream } from '#talos/client/grpc.ts'
import type { Span, Tracing } from './tracing.ts'

/**
 * Opens the streams of calls with a span each, named by service and method. A stream without a
 * deadline stays open as long as its reader wants, so it gets none.
 */
export const tracedCalls =
  (tracing: Tracing, host: string, port: number) =>
  (open: OpenStream): OpenStream =>
  (headers) => {
    const path = String(headers[':path']).slice(1)
    const span =
      headers['grpc-timeout'] === undefined
        ? undefined
        : tracing.child(path, {
            kind: 'client',
            attributes: {
              'rpc.system.name': 'grpc',
              'rpc.method': path,
              'server.address': host,
              'server.port': port,
            },
          })
    if (!span) return open(headers)
    let stream: ClientHttp2Stream
    try {
      stream = open(headers)
    } catch (error) {
      span.end('unavailable')
      throw error
    }
    watch(stream, span)
    return stream
  }

/** Ends the span when the stream closes, with its status (github.com/grpc/grpc, statuscodes.md). */
function watch(stream: ClientHttp2Stream, span: Span): void {
  let status: string | undefined
  const read = (of: Readonly<Record<string, unknown>>): void => {
    if (typeof of['grpc-status'] === 'string') status = of['grpc-status'].slice(0, 10)
  }
  stream.once('response', read)
  stream.once('trailers', read)
  stream.once('close', () => {
    if (status !== undefined) span.set({ 'rpc.response.status_code': status })
    // Without a status, Steelyard ended the call, at its deadline or because its caller did, or the
    // connection broke.
    span.end(status === undefined ? 'unanswered' : status === '0' ? undefined : `grpc ${status}`)
  })
}

/** A long answer, part by part: live events, logs. It keeps no more than what the socket takes, and ends with its access token or session. */
import type { FastifyReply, FastifyRequest } from 'fastify'

export type StreamPart = string | Uint8Array

export interface StreamOptions {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly type: string
  /** How long the reader may take nothing before its connection is cut. */
  readonly stalledMs: number
  readonly open: (signal: AbortSignal) => AsyncIterable<StreamPart> | Promise<AsyncIterable<StreamPart>>
}

/** Opens the source and copies it to the socket. What `open` throws is thrown on, so that it is answered as an error; later errors end the stream. */
export async function sendStream({ request, reply, type, stalledMs, open }: StreamOptions): Promise<void> {
  const stop = new AbortController()
  const end = request.server.streams.add({
    caller: request.caller,
    source: request.source,
    endsAt: request.tokenEndsAt,
    close: () => stop.abort(new Error('The stream has ended')),
  })
  const { raw } = reply
  try {
    const source = await open(stop.signal)
    const parts = source[Symbol.asyncIterator]()
    // The first part decides whether this is an answer or an error.
    let part = await parts.next()
    const headers = reply.getHeaders()
    reply.hijack()
    raw.writeHead(200, { ...headers, 'content-type': type, 'x-accel-buffering': 'no' } as Record<string, string>)
    raw.flushHeaders()
    raw.once('close', () => stop.abort(new Error('The client went away')))
    while (!part.done && !stop.signal.aborted) {
      if (!raw.write(part.value)) await drained(raw, stop.signal, stalledMs)
      part = await parts.next()
    }
    await parts.return?.()
  } catch (error) {
    if (!raw.headersSent) throw error
  } finally {
    end()
    if (raw.headersSent) raw.end()
  }
}

/** Resolves when the socket has taken all; one that takes too long is cut. */
const drained = (raw: FastifyReply['raw'], signal: AbortSignal, withinMs: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => raw.destroy(), withinMs)
    const done = () => {
      clearTimeout(timer)
      raw.off('drain', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    raw.once('drain', done)
    signal.addEventListener('abort', done, { once: true })
  })

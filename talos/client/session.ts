/** One HTTP/2 session of Node on a connected TLS socket. */
import type { EventEmitter } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { TalosError } from './errors.ts'
import type { OpenStream } from './grpc.ts'

/** Milliseconds for reading data that arrived before the end of a connection. */
const lastWordsMs = 100
/** Returns an error that is more specific than `error`, if the certificates explain why a connection ended before the first response. */
export type Refusal = (error?: unknown) => TalosError | undefined

/** Shared, because a contact closes its client every time, and a new error records a stack. */
const closedByUs = new TalosError('cancelled', 'the client was closed')

const ignore = (): void => undefined

/**
 * Drops what the listeners of closed connections refer to. Only a major garbage collection frees the native part of a closed connection, so everything that it
 * still refers to moves to the old generation: 12 kB for each contact with the listeners of a session, 7 kB without.
 */
export function release(...closed: readonly EventEmitter[]): void {
  for (const one of closed) {
    one.removeAllListeners()
    one.on('error', ignore)
  }
}

/** One HTTP/2 session on a connected socket. The session isn't reopened: after its end, calls fail. `refusal` explains an end before the first response. */
export function startSession(authority: string, socket: TLSSocket, refusal: Refusal) {
  const session = connectHttp2(`https://${authority}`, { createConnection: () => socket, settings: { enablePush: false } })
  const ended = new AbortController()
  let failure: unknown
  let greeted = false
  let isServed = false
  const fail = (error: unknown) => {
    failure ??= error
  }
  const broken = (error?: unknown) => fail((greeted ? undefined : refusal(error)) ?? error)
  const tearDown = () => {
    session.destroy()
    // A broken session doesn't always release its socket, so the socket is destroyed one turn of the event loop later.
    setImmediate(() => socket.destroy())
  }
  const end = () => {
    if (ended.signal.aborted) return release(session, socket)
    if (greeted) fail(new TalosError('unavailable', 'the connection was closed'))
    else broken()
    // Leaves time to read a response that arrived just before the end, as when a configured machine answers and then restarts its API.
    setTimeout(() => {
      ended.abort(failure)
      release(session, socket)
    }, lastWordsMs)
  }
  // The socket's error may be more specific than the session's, such as a TLS alert.
  socket.on('error', broken)
  socket.once('close', end)
  session.on('error', (error) => {
    broken(error)
    tearDown()
  })
  session.once('remoteSettings', () => (greeted = true))
  session.on('goaway', () => {
    const closing = new TalosError('unavailable', 'the server is closing the connection')
    // Some servers send their HTTP/2 settings before they verify our certificate, so these don't count as a response.
    fail(isServed ? closing : (refusal(closing) ?? closing))
  })
  return {
    open: ((headers) => {
      if (failure !== undefined) throw failure
      const stream = session.request(headers)
      stream.once('response', () => (isServed = true))
      return stream
    }) satisfies OpenStream,
    /** Why the connection ended, or undefined. */
    failure: () => failure,
    /** Aborted when the connection has ended. */
    ended: ended.signal,
    close: () => {
      fail(closedByUs)
      ended.abort(closedByUs)
      // One turn later the streams of ended calls are closed. Destroying a session with open streams creates an error with a stack for each.
      setImmediate(tearDown)
    },
  }
}

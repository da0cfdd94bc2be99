/**
 * Limits of connections: a maximum number per address, one request at a time on each, and a cut-off
 * for peers that don't read.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { countedSource, type Network } from '../../network.ts'

const mostSockets = 1_000
const mostPerAddress = 50

/**
 * Limits connections per address, so that a thousand slow sockets of one address don't block
 * everybody else.
 */
export function limitSockets(server: Server, { trusted }: { trusted: readonly Network[] }): void {
  server.maxConnections = mostSockets
  const perAddress = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const source = socket.remoteAddress && countedSource(socket.remoteAddress, trusted)
    if (!source) return
    const open = (perAddress.get(source) ?? 0) + 1
    if (open > mostPerAddress) {
      socket.destroy()
      return
    }
    perAddress.set(source, open)
    socket.once('close', () => {
      const left = perAddress.get(source)! - 1
      if (left === 0) perAddress.delete(source)
      else perAddress.set(source, left)
    })
  })
}

/**
 * Further requests of one packet are dropped: the connection is closed after the last response, and
 * the client retries (RFC 9112 §9.3.1).
 */
const mostWaiting = 32

/** `paused`: nothing is read from the socket. */
type Line = {
  busy: boolean
  paused: boolean
  dropped: boolean
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[]
}

/**
 * Allows one unanswered request per connection. A client may send more before it has read the first
 * response (pipelining, RFC 9112 §9.3.2), and Node.js would start all at once, so one socket could
 * cause any amount of work. Here requests wait in line; while one waits, nothing more is read from
 * the socket. Replaces the server's current request listeners and calls them itself.
 */
export function oneAtATime(server: Server): void {
  const answer = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[]
  server.removeAllListeners('request')
  const lines = new WeakMap<Socket, Line>()

  const begin = (line: Line, request: IncomingMessage, response: ServerResponse): void => {
    line.busy = true
    response.once('close', () => {
      // In a separate turn of the event loop, so that a connection with many waiting requests does
      // not hold up others.
      if (line.paused) setImmediate(next, line, request.socket)
      else line.busy = false
    })
    for (const listener of answer) listener.call(server, request, response)
  }
  const next = (line: Line, socket: Socket): void => {
    line.busy = false
    if (socket.destroyed) {
      line.waiting.length = 0
      return
    }
    const first = line.waiting.shift()
    if (first) begin(line, ...first)
    else if (line.dropped) socket.destroySoon()
    else {
      line.paused = false
      socket.resume()
    }
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const line = lines.get(socket) ?? { busy: false, paused: false, dropped: false, waiting: [] }
    lines.set(socket, line)
    if (!line.busy) return begin(line, request, response)
    line.paused = true
    socket.pause()
    if (line.dropped || line.waiting.length >= mostWaiting) line.dropped = true
    else line.waiting.push([request, response])
  })
}

/** How long a response or a live event may wait while the peer doesn't read a byte. */
export const stalledMs = 10_000

/** Number of checks within `stalledMs`. */
const looks = 10

/**
 * Bytes that the kernel has not accepted yet. A large response is one write, so only the socket's
 * internal handle knows how much of it was sent.
 */
const queuedBytes = (socket: Socket): number =>
  (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ??
  socket.writableLength

/** Sockets whose current response limits by itself how long its reader may pause. */
const ownLimit = new WeakSet<Socket>()

/**
 * Excepts a response from `cutStalled`, because it limits by itself how long its reader may pause.
 */
export function limitsItself(response: ServerResponse): void {
  const { socket } = response
  if (!socket) return
  ownLimit.add(socket)
  response.once('close', () => ownLimit.delete(socket))
}

/**
 * Cuts connections whose peer reads nothing of a response, because the response would stay in
 * memory. Only bytes that leave the queue count as progress, not bytes that the peer sends. Looks
 * at all connections from time to time, which costs a response nothing. Returns a function that
 * ends this.
 */
export function cutStalled(server: Server, withinMs: number): () => void {
  const sockets = new Map<Socket, { queued: number; unchanged: number }>()
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, { queued: 0, unchanged: 0 })
    socket.once('close', () => sockets.delete(socket))
  })
  const timer = setInterval(() => {
    for (const [socket, seen] of sockets) {
      const queued = ownLimit.has(socket) ? 0 : queuedBytes(socket)
      seen.unchanged = queued > 0 && queued === seen.queued ? seen.unchanged + 1 : 0
      seen.queued = queued
      if (seen.unchanged >= looks) socket.destroy()
    }
  }, withinMs / looks)
  timer.unref()
  return () => clearInterval(timer)
}

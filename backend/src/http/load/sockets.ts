/** Limits of connections: how many an address may open, one request at a time on each, and an end to those whose peer doesn't read. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { countedSource, type Network } from '../../network.ts'

const mostSockets = 1_000
const mostPerAddress = 50

/** A thousand slow sockets of one address must not shut everybody else out. */
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

/** What one packet brings beyond these is dropped: they are answered, then the connection is closed, and the client asks again (RFC 9112 §9.3.1). */
const mostWaiting = 32

type Line = { busy: boolean; dropped: boolean; readonly waiting: (readonly [IncomingMessage, ServerResponse])[] }

/**
 * One unanswered request for each connection. A client may send further ones before it has read the first answer (pipelining, RFC 9112 §9.3.2), and Node
 * would begin them all at once: then one socket holds as much work as its sender likes. Here they wait in line, and while any waits nothing more is read.
 * Puts itself before the listeners that the server has now.
 */
export function oneAtATime(server: Server): void {
  const answer = server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[]
  server.removeAllListeners('request')
  const lines = new WeakMap<Socket, Line>()

  const begin = (line: Line, request: IncomingMessage, response: ServerResponse): void => {
    line.busy = true
    // In a separate turn of the event loop, so that a connection with many waiting requests does not hold up others.
    response.once('close', () => setImmediate(next, line, request.socket))
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
    else socket.resume()
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const line = lines.get(socket) ?? { busy: false, dropped: false, waiting: [] }
    lines.set(socket, line)
    if (!line.busy) return begin(line, request, response)
    socket.pause()
    if (line.dropped || line.waiting.length >= mostWaiting) line.dropped = true
    else line.waiting.push([request, response])
  })
}

/** How long an answer or a live event may lie there without a byte of it being taken. */
export const stalledMs = 10_000

/** How often it is looked at meanwhile. */
const looks = 10

/** Bytes that the kernel has not taken yet. A large answer is one write, so only the handle knows how far it is: Node's own time limit on sockets asks it too. */
const queuedBytes = (socket: Socket): number => (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? socket.writableLength

/** Watches an answer that has been handed to its socket, and cuts the connection where it would stay in memory. What the peer sends is no sign that it reads: that alone counts which leaves the queue. */
export function cutWhereStalled(response: ServerResponse, withinMs: number): void {
  const { socket } = response
  // A request that a test injects has none.
  if (!(socket instanceof Socket) || socket.destroyed || response.writableFinished) return
  let left = queuedBytes(socket)
  let without = 0
  const timer = setInterval(() => {
    const now = queuedBytes(socket)
    without = now === left ? without + 1 : 0
    left = now
    if (without >= looks) socket.destroy()
  }, withinMs / looks)
  timer.unref()
  response.once('close', () => clearInterval(timer))
}

/**
 * One unanswered request for each connection. A client may send further ones before it has read the first answer (pipelining, RFC 9112 §9.3.2), and Node
 * would begin them all at once: then one socket holds as much work as its sender likes. Here they wait in line, and while any waits nothing more is read.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What one packet brings beyond these is dropped: they are answered, then the connection is closed, and the client asks again (RFC 9112 §9.3.1). */
const mostWaiting = 32

interface Line {
  busy: boolean
  dropped: boolean
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[]
}

/** Puts itself before the listeners that the server has now. */
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

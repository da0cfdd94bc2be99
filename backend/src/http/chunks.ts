/**
 * Bodies with chunked transfer coding (RFC 9112 §7.1), which a client uses if it doesn't know the
 * length in advance, such as curl from a pipe. Honest clients send neither chunk extensions nor
 * trailers. Programs disagree about where these end, and Node.js accepts both. So the bytes are
 * checked before the parser gets them, and a body that contains more than sizes and data is
 * reported.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'

const CR = 13
const LF = 10
const headEnd = Buffer.from('\r\n\r\n')
/**
 * Maximum number of hexadecimal digits of a chunk size. Nine digits allow far more than any body
 * may have.
 */
const mostDigits = 9

const digit = (byte: number): number =>
  byte >= 48 && byte <= 57
    ? byte - 48
    : (byte | 32) >= 97 && (byte | 32) <= 102
      ? (byte | 32) - 87
      : -1

/**
 * Parses the framing of a body as its bytes arrive. `plain` becomes false at the first byte that is
 * neither size nor data nor their line end.
 */
export function chunkFrame() {
  let expects: 'size' | 'size end' | 'data' | 'data end' | 'last end' = 'size'
  let digits = 0
  let size = 0
  let afterCr = false
  let over = false
  const frame = {
    plain: true,
    /** @param bytes the received bytes, parsed from index `at` */
    read(bytes: Uint8Array, at: number): void {
      for (let i = at; i < bytes.length && frame.plain && !over;) {
        if (expects === 'data') {
          const taken = Math.min(size, bytes.length - i)
          size -= taken
          i += taken
          if (size === 0) expects = 'data end'
          continue
        }
        const byte = bytes[i++]!
        if (expects === 'size') {
          const value = digit(byte)
          if (value >= 0 && digits < mostDigits) {
            size = size * 16 + value
            digits += 1
          } else if (byte === CR && digits > 0) expects = 'size end'
          else frame.plain = false
        } else if (expects === 'size end') {
          frame.plain = byte === LF
          expects = size === 0 ? 'last end' : 'data'
        } else if (!afterCr) {
          frame.plain = byte === CR
          afterCr = true
        } else {
          frame.plain = byte === LF
          over = expects === 'last end'
          expects = 'size'
          digits = 0
          afterCr = false
        }
      }
    },
  }
  return frame
}

type Frame = ReturnType<typeof chunkFrame>

/** The state of a connection between two packets. */
interface Line {
  readonly socket: Socket
  /** The connection's last request, and the framing of its body if that is chunked. */
  last: IncomingMessage | undefined
  frame: Frame | undefined
  /**
   * The packet's last three bytes, which may contain the start of the blank line that ends a head.
   */
  ends: number
}

/**
 * Watches all connections of a server. The returned function reports whether a request's chunked
 * body, as far as received, has only sizes and data.
 */
export function watchChunks(server: Server): (request: IncomingMessage) => boolean {
  const frames = new WeakMap<IncomingMessage, Frame>()
  // The packet that the parser is processing, and the connection's state before it. The process
  // handles one packet at a time, so these variables are shared.
  let line: Line | undefined
  let bytes: Buffer = Buffer.alloc(0)
  let before = 0
  let isIdle = true

  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    const own: Line = { socket, last: undefined, frame: undefined, ends: 0 }
    socket.prependListener('data', (packet: Buffer) => {
      own.frame?.read(packet, 0)
      line = own
      bytes = packet
      before = own.ends
      isIdle = own.last?.complete ?? true
      for (let i = Math.max(0, packet.length - 3); i < packet.length; i++)
        own.ends = ((own.ends << 8) | packet[i]!) & 0xffffff
    })
  })

  server.prependListener('request', (request: IncomingMessage) => {
    if (line?.socket !== request.socket) return
    const isFirst = isIdle
    isIdle = false
    line.last = request
    line.frame = undefined
    // If the request before this one is unfinished, the position at which this one starts is
    // uncertain.
    if (request.headers['transfer-encoding'] === undefined || !isFirst) return
    const known = Buffer.concat([Buffer.from([before >> 16, before >> 8, before]), bytes])
    const frame = chunkFrame()
    frame.read(known, known.indexOf(headEnd) + headEnd.length)
    frames.set(request, frame)
    line.frame = frame
  })

  return (request) => frames.get(request)?.plain ?? false
}

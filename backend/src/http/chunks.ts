/**
 * Bodies that come in chunks (RFC 9112 §7.1): what a client sends that does not know its length beforehand, such as curl from a pipe. Node's parser
 * passes over chunk extensions and hands on trailers, and programs disagree about where either ends. No honest client sends them, so the bytes are looked
 * at before the parser has them, and a body that has more than sizes and data is told of.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'

const CR = 13
const LF = 10
const headEnd = Buffer.from('\r\n\r\n')
/** Of a size in hexadecimal: 16 GiB, far more than any body may have. */
const mostDigits = 9

const digit = (byte: number): number => (byte >= 48 && byte <= 57 ? byte - 48 : (byte | 32) >= 97 && (byte | 32) <= 102 ? (byte | 32) - 87 : -1)

/** Reads the frame of a body as its bytes come; `plain` is false from the first byte on that is neither size nor data nor their line ends. */
export function chunkFrame() {
  let expects: 'size' | 'size end' | 'data' | 'data end' | 'last end' = 'size'
  let digits = 0
  let size = 0
  let afterCr = false
  let over = false
  const frame = {
    plain: true,
    /** @param bytes as they came, from `at` on */
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
  /** The connection's last request, and its frame if it is chunked. */
  last: IncomingMessage | undefined
  frame: Frame | undefined
  /** Its last three bytes, in which the end of a head may have begun. */
  ends: number
}

/** Looks at all connections of a server. Answers whether a request's body is in chunks as plain as honest clients send them, as far as it has come. */
export function watchChunks(server: Server): (request: IncomingMessage) => boolean {
  const frames = new WeakMap<IncomingMessage, Frame>()
  // The packet that the parser is being given, and what was known before it. There is one at a time in the whole process, and this is done for each.
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
      for (let i = Math.max(0, packet.length - 3); i < packet.length; i++) own.ends = ((own.ends << 8) | packet[i]!) & 0xffffff
    })
  })

  server.prependListener('request', (request: IncomingMessage) => {
    if (line?.socket !== request.socket) return
    const isFirst = isIdle
    isIdle = false
    line.last = request
    line.frame = undefined
    // Behind an unfinished request the start of this one is uncertain.
    if (request.headers['transfer-encoding'] === undefined || !isFirst) return
    const known = Buffer.concat([Buffer.from([before >> 16, before >> 8, before]), bytes])
    const frame = chunkFrame()
    frame.read(known, known.indexOf(headEnd) + headEnd.length)
    frames.set(request, frame)
    line.frame = frame
  })

  return (request) => frames.get(request)?.plain ?? false
}

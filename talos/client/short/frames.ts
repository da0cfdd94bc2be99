/**
 * The frames of HTTP/2 (RFC 9113 §4 and §6) that a short exchange sends and reads. Header blocks are written without compression. They aren't decoded: what must
 * be in them is looked for. So the server gets no table (SETTINGS_HEADER_TABLE_SIZE), without which it writes each field as it is.
 */

/** Types of frames (RFC 9113 §6). */
export const frames = { data: 0, headers: 1, rstStream: 3, settings: 4, pushPromise: 5, ping: 6, goaway: 7, windowUpdate: 8, continuation: 9 } as const
/** Flags of frames. `ack` and `endStream` are the same bit of different types. */
export const flags = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const

/** `:status: 200`, in the static table (RFC 7541 appendix A). */
const status200 = 0x88
/** Before its first field the server may say that its table is empty (RFC 7541 §6.3). */
const tableSize0 = 0x20
/** The field `grpc-status` with a value of one digit. The name is in Huffman's code, which servers use if it is shorter (RFC 7541 §5.2), or plain. */
const statusFields = (digit: string): readonly Buffer[] => {
  const value = Buffer.from(`\x01${digit}`)
  return [Buffer.concat([Buffer.from('889acac8b21234da8f', 'hex'), value]), Buffer.concat([Buffer.from('\x0bgrpc-status'), value])]
}
/** Codes of gRPC (github.com/grpc/grpc, `doc/statuscodes.md`). */
const [ok, notFound] = [statusFields('0'), statusFields('5')]

/** Whether a header block begins with the status 200. */
export const beginsWith200 = (block: Buffer): boolean => block[block[0] === tableSize0 ? 1 : 0] === status200

/** The status of gRPC in a header block; undefined if it is another one, or missing. */
export function grpcStatusIn(block: Buffer): 'ok' | 'notFound' | undefined {
  if (ok.some((field) => block.includes(field))) return 'ok'
  return notFound.some((field) => block.includes(field)) ? 'notFound' : undefined
}

const headBytes = 9
/** The limit that we announce by leaving SETTINGS_MAX_FRAME_SIZE out. */
const maxFrameBytes = 16_384
/** Bytes of answers that the server may send before we acknowledge any. */
export const windowBytes = 1024 * 1024
const defaultWindowBytes = 65_535

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const setting = { headerTableSize: 1, enablePush: 2, initialWindowSize: 4 } as const

export function frame(type: number, flag: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + payload.length)
  bytes.writeUIntBE(payload.length, 0, 3)
  bytes[3] = type
  bytes[4] = flag
  bytes.writeUInt32BE(stream, 5)
  bytes.set(payload, headBytes)
  return bytes
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const settings = Object.entries({ headerTableSize: 0, enablePush: 0, initialWindowSize: windowBytes } satisfies Record<keyof typeof setting, number>)

/** What a client sends first: its settings, and a window for whole answers, so that it never has to extend it. */
export const opening = Buffer.concat([
  preface,
  frame(frames.settings, 0, 0, Buffer.concat(settings.flatMap(([name, value]) => [Buffer.from([0, setting[name as keyof typeof setting]]), uint32(value)]))),
  frame(frames.windowUpdate, 0, 0, uint32(windowBytes - defaultWindowBytes)),
])

/** Longer texts would need a length of more than one byte (RFC 7541 §5.1). */
const mostTextBytes = 126

function headerText(value: string): Buffer {
  const text = Buffer.from(value)
  if (text.length > mostTextBytes) throw new RangeError(`A header of ${text.length} bytes`)
  return Buffer.concat([Buffer.from([text.length]), text])
}

/** A header field as literal without indexing (RFC 7541 §6.2.2). `name`: the name, or the bytes of its index in the static table. */
export const header = (name: string | readonly number[], value: string): Buffer =>
  Buffer.concat([typeof name === 'string' ? Buffer.concat([Buffer.from([0]), headerText(name)]) : Buffer.from(name), headerText(value)])

/**
 * Splits what a server sends into frames, in linear time however small the pieces are. The reader returns false for a frame that is too long, or if `receive`
 * does, which ends the reading.
 */
export function frameReader(receive: (type: number, flag: number, stream: number, payload: Buffer) => boolean): (piece: Buffer) => boolean {
  let pieces: Buffer[] = []
  let length = 0
  let needed = headBytes
  return (piece) => {
    pieces.push(piece)
    length += piece.length
    if (length < needed) return true
    let bytes = pieces.length === 1 ? piece : Buffer.concat(pieces)
    for (;;) {
      needed = headBytes
      if (bytes.length < needed) break
      const payloadBytes = bytes.readUIntBE(0, 3)
      if (payloadBytes > maxFrameBytes) return false
      needed += payloadBytes
      if (bytes.length < needed) break
      // The highest bit of the stream's number is reserved.
      if (!receive(bytes[3]!, bytes[4]!, bytes.readUInt32BE(5) & 0x7fff_ffff, bytes.subarray(headBytes, needed))) return false
      bytes = bytes.subarray(needed)
    }
    pieces = bytes.length === 0 ? [] : [bytes]
    length = bytes.length
    return true
  }
}

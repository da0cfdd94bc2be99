/**
 * The fields of a resource that we read, decoded without those that we don't: its YAML, its times and its owner. A reading has a hundred resources, and the
 * library makes six objects for each envelope. The encoding: protobuf.dev/programming-guides/encoding
 */

export interface ResourceMessage {
  readonly id: string
  /** Empty if the server has left it out. */
  readonly type: string
  /** The specification in protobuf. */
  readonly spec: Uint8Array
  /** Bytes of the specification in protobuf and in YAML. */
  readonly bytes: number
}

const invalid = () => new RangeError('The message is no protobuf')

/** Wire types. Groups are deprecated, and nothing that Talos sends has one. */
const wire = { varint: 0, bit64: 1, lengthDelimited: 2, bit32: 5 } as const
/** Ten bytes hold 64 bits. */
const maxVarintBytes = 10

/** Fields of a message between two positions, one at a time. */
class Fields {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number
  /** Number of the current field. */
  number = 0
  /** Where the content of the current field begins and ends. Both are 0 if it isn't length-delimited. */
  from = 0
  to = 0

  constructor(bytes: Buffer, from: number, to: number) {
    this.#bytes = bytes
    this.#at = from
    this.#end = to
  }

  /** Goes to the next field. Returns false at the end. @throws RangeError for anything but whole fields */
  next(): boolean {
    if (this.#at === this.#end) return false
    const tag = this.#varint()
    this.number = Math.floor(tag / 8)
    if (this.number === 0) throw invalid()
    this.from = this.to = 0
    const type = tag % 8
    if (type === wire.lengthDelimited) {
      const length = this.#varint()
      this.from = this.#at
      this.to = this.#at += length
    } else if (type === wire.varint) this.#varint()
    else if (type === wire.bit64) this.#at += 8
    else if (type === wire.bit32) this.#at += 4
    else throw invalid()
    if (this.#at > this.#end) throw invalid()
    return true
  }

  /** Exact up to 53 bits, which is more than any tag or length of a message has. */
  #varint(): number {
    let value = 0
    for (let i = 0, factor = 1; i < maxVarintBytes && this.#at < this.#end; i++, factor *= 128) {
      const byte = this.#bytes[this.#at++]!
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
    throw invalid()
  }
}

/**
 * The resource of a GetResponse or a ListResponse; undefined if it has none, or one without metadata or specification. The numbers of the fields are those of
 * `talos/proto/cosi/resource.proto` and `state.proto`.
 * @throws RangeError if the bytes are no message
 */
export function resourceMessage(bytes: Buffer): ResourceMessage | undefined {
  let [id, type, yamlBytes] = ['', '', 0]
  let [hasMetadata, hasSpec] = [false, false]
  let spec: Uint8Array = new Uint8Array()
  for (const response = new Fields(bytes, 0, bytes.length); response.next();) {
    if (response.number !== 1) continue
    for (const resource = new Fields(bytes, response.from, response.to); resource.next();) {
      const part = new Fields(bytes, resource.from, resource.to)
      if (resource.number === 1) {
        hasMetadata = true
        while (part.next()) {
          if (part.number === 2) type = bytes.toString('utf8', part.from, part.to)
          else if (part.number === 3) id = bytes.toString('utf8', part.from, part.to)
        }
      } else if (resource.number === 2) {
        hasSpec = true
        while (part.next()) {
          if (part.number === 1) spec = bytes.subarray(part.from, part.to)
          else if (part.number === 2) yamlBytes = part.to - part.from
        }
      }
    }
  }
  return hasMetadata && hasSpec ? { id, type, spec, bytes: spec.length + yamlBytes } : undefined
}

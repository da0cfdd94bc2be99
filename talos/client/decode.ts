/**
 * Decodes messages of servers. Two bytes can be a message, and an object takes a microsecond, so a
 * MiB could hold the main thread for a second: the messages inside of a message are counted before
 * objects are made of them.
 */
import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'

/** Maximum bytes of a message that is decoded as a whole. */
export const mostDecodedBytes = 1024 * 1024
/**
 * Maximum number of messages in a message. The longest real ones, manifests of Kubernetes, have one
 * in about 20 bytes.
 */
const mostMessages = 60_000
/** More than any message of Talos or manifest of Kubernetes. */
const deepest = 64

/**
 * Messages inside of a message, by field number; `null` for the entries of a map whose values are
 * no messages.
 */
const inner = new WeakMap<DescMessage, ReadonlyMap<number, DescMessage | null>>()
function innerOf(desc: DescMessage): ReadonlyMap<number, DescMessage | null> {
  const known = inner.get(desc)
  if (known) return known
  const found = new Map<number, DescMessage | null>()
  for (const field of desc.fields) {
    if (field.fieldKind === 'map')
      found.set(field.number, field.mapKind === 'message' ? field.message : null)
    else if (field.message) found.set(field.number, field.message)
  }
  inner.set(desc, found)
  return found
}
const isMap = (desc: DescMessage, number: number): boolean =>
  desc.fields.find((field) => field.number === number)?.fieldKind === 'map'

/** Throws if the bytes are no message, or if there are too many messages in it or too deep ones. */
function demandFew(desc: DescMessage, bytes: Uint8Array): void {
  let left = mostMessages
  /**
   * The messages of a level: their bytes, and their type; `entryOf`: they are entries of a map with
   * such values.
   */
  let level: { bytes: Uint8Array; desc: DescMessage | null; isEntry: boolean }[] = [
    { bytes, desc, isEntry: false },
  ]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) throw new Error(`nested deeper than ${deepest} levels`)
    const below: typeof level = []
    for (const one of level) {
      const reader = new BinaryReader(one.bytes)
      while (reader.pos < reader.len) {
        const [number, wireType] = reader.tag()
        // The value of a map's entry is its field 2.
        const type = one.isEntry
          ? number === 2
            ? one.desc
            : undefined
          : one.desc === null
            ? undefined
            : innerOf(one.desc).get(number)
        if (
          type === undefined ||
          (one.isEntry && type === null) ||
          wireType !== WireType.LengthDelimited
        ) {
          reader.skip(wireType, number)
          continue
        }
        if (--left < 0) throw new Error(`more than ${mostMessages} messages`)
        below.push({
          bytes: reader.bytes(),
          desc: type,
          isEntry: !one.isEntry && isMap(one.desc!, number),
        })
      }
    }
    level = below
  }
}

/**
 * @throws Error if the bytes are no such message, are too many, or have too many messages in them
 */
export function decoded<O extends DescMessage>(desc: O, bytes: Uint8Array): MessageShape<O> {
  if (bytes.byteLength > mostDecodedBytes) throw new Error(`${bytes.byteLength} bytes`)
  demandFew(desc, bytes)
  return fromBinary(desc, bytes, { readUnknownFields: false })
}

/**
 * JSON that strangers wrote. Short texts are parsed here, because that takes some ms at most; long
 * ones are checked and split on a thread first.
 */
import { setImmediate } from 'node:timers/promises'
import type { Reader } from './reader.ts'
import type { For } from './asker.ts'
import type { JsonLimits } from './json-pieces.ts'

/**
 * JSON of this many bytes takes the main thread 35 ms at most, whatever it contains. Longer JSON is
 * read on a thread.
 */
export const shortBytes = 256 * 1024
/** Far more than the objects of Kubernetes have; an object takes at most 1.5 MiB in etcd. */
const limits: JsonLimits = { depth: 64, values: 600_000, pieceLength: 2 * 1024 * 1024 }

/** The message completes `sent invalid data (…)`. */
export class UnreadableJson extends Error {
  override readonly name = 'UnreadableJson'
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new UnreadableJson('no JSON')
  }
}

/**
 * Parses JSON. The elements of a long object's list `items` are parsed in turns of their own, so
 * that other requests are answered in between.
 * @param bytes UTF-8. A long text is moved to the thread, so the bytes can't be read afterwards
 * @throws UnreadableJson; Problem `unavailable` if reading takes too long
 */
export async function readJson(
  read: Reader,
  who: For,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<unknown> {
  if (bytes.byteLength <= shortBytes) {
    let text: string
    try {
      text = utf8.decode(bytes)
    } catch {
      throw new UnreadableJson('no UTF-8')
    }
    return parse(text)
  }
  const split = await read(who, 'json', bytes, limits)
  if ('unreadable' in split) throw new UnreadableJson(split.unreadable)
  const whole = parse(split.whole)
  if (split.items === null) return whole
  const items: unknown[] = []
  let length = 0
  for (const text of split.items) {
    items.push(parse(text))
    // Each text has a cost of its own.
    length += text.length + 64
    if (length < shortBytes) continue
    await setImmediate()
    length = 0
  }
  return { ...(whole as object), items }
}

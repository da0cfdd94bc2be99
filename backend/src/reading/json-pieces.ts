/**
 * Checks a long JSON text on a thread, and splits it into pieces that the main thread can parse one
 * after another.
 */

export interface JsonLimits {
  /** Maximum depth of nested objects and lists. */
  readonly depth: number
  /** Maximum number of values. */
  readonly values: number
  /** Maximum length of a piece, in characters. */
  readonly pieceLength: number
}

/** A text as the sender wrote it can't be used. The message completes `sent invalid data (…)`. */
export interface Unreadable {
  readonly unreadable: string
}

/**
 * `items`: one text for each element of the object's list `items`, which `whole` lacks. Null if it
 * has no such list.
 */
export interface Pieces {
  readonly whole: string
  readonly items: readonly string[] | null
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const opening = new Set([0x5b, 0x7b])
const closing = new Set([0x5d, 0x7d])

/** As `excess` says it. */
export const tooDeep = (depth: number): string => `more than ${depth} levels of lists and objects`

/**
 * Why a text in JSON exceeds the limits, or undefined: `more than …`. Looks only at the bytes,
 * because a value takes up to fifty times the memory of its text.
 */
export function excess(
  bytes: Uint8Array,
  { depth, values }: Omit<JsonLimits, 'pieceLength'>,
): string | undefined {
  let deep = 0
  let count = 1
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === quote) {
      for (at++; at < bytes.length && bytes[at] !== quote; at++) if (bytes[at] === backslash) at++
    } else if (byte === comma) {
      count++
    } else if (opening.has(byte)) {
      count++
      deep++
      if (deep > depth) return tooDeep(depth)
    } else if (closing.has(byte)) {
      deep--
    }
    if (count > values) return `more than ${values} values`
  }
  return undefined
}

/** `bytes`: JSON in UTF-8. Lists of Kubernetes are split into their objects. */
export function pieces(bytes: Uint8Array, limits: JsonLimits): Pieces | Unreadable {
  const why = excess(bytes, limits)
  if (why !== undefined) return { unreadable: why }
  let root: unknown
  try {
    root = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch {
    return { unreadable: 'no JSON' }
  }
  const list = isObject(root) && Array.isArray(root['items']) ? (root['items'] as unknown[]) : null
  const whole = JSON.stringify(list === null ? root : { ...(root as object), items: [] })
  const items = list?.map((item) => JSON.stringify(item)) ?? null
  const longest = items?.reduce((most, item) => Math.max(most, item.length), 0) ?? 0
  return Math.max(longest, whole.length) > limits.pieceLength
    ? { unreadable: 'an object that is too long' }
    : { whole, items }
}

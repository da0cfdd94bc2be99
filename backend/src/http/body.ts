/** Reads a JSON body: valid UTF-8, bounded in depth and width, without the keys that reach an object's prototype and without what a database can't keep. */
import { Problem } from '#contract/errors.ts'

const deepest = 16
const longestArray = 1_000

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** NUL, and halves of surrogate pairs: PostgreSQL refuses the first, and the second would come back as another character. */
export const isText = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/** @throws Problem bad_request, or invalid for a text that isn't one */
export function readJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return undefined
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes))
  } catch {
    throw new Problem('bad_request', 'The body is not valid JSON')
  }
  check(value)
  return value
}

function check(root: unknown): void {
  const queue: { value: unknown; depth: number }[] = [{ value: root, depth: 1 }]
  for (let at = queue.pop(); at; at = queue.pop()) {
    const { value, depth } = at
    if (typeof value === 'string' && !isText(value)) throw new Problem('invalid', 'A text in the body holds a character that can not be kept')
    if (typeof value !== 'object' || value === null) continue
    if (depth > deepest) throw new Problem('bad_request', `The body is nested deeper than ${deepest} levels`)
    if (Array.isArray(value)) {
      if (value.length > longestArray) throw new Problem('bad_request', `A list in the body has more than ${longestArray} items`)
    } else {
      for (const key of Object.keys(value)) {
        const inner = (value as Record<string, unknown>)[key]
        if (!isText(key)) throw new Problem('invalid', 'A key in the body holds a character that can not be kept')
        if (key === '__proto__' || (key === 'constructor' && typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype'))) {
          throw new Problem('bad_request', 'The body holds a key that is not allowed')
        }
      }
    }
    for (const inner of Object.values(value)) queue.push({ value: inner, depth: depth + 1 })
  }
}

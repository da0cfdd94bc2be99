/**
 * Reads a JSON body with limits on size, depth and width. It must be valid UTF-8, without keys that
 * reach an object's prototype and without characters that the database can't store.
 */
import type { Readable } from 'node:stream'
import { Problem } from '#contract/errors.ts'
import { collector } from '../reading/collect.ts'
import { excess, tooDeep } from '../reading/json-pieces.ts'

const deepest = 16
const longestArray = 1_000
/**
 * Limits of a body that is longer than this: a shorter one can't have much more. A value of its own
 * shape takes the parser 5 µs.
 */
const longBytes = 64 * 1024
const longest = { depth: deepest, values: 20_000 }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * NUL and lone surrogates: PostgreSQL refuses NUL, and a lone surrogate would come back as another
 * character.
 */
export const isText = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/**
 * Reads the bytes of a body.
 * @param most maximum number of bytes
 * @param said value of the `Content-Length`, if any
 * @throws Problem too_large; bad_request if the body is shorter than announced. Errors of the
 * stream are rethrown
 */
export async function readBytes(stream: Readable, most: number, said?: number): Promise<Buffer> {
  const tooLarge = () => new Problem('too_large', 'The body is too large')
  if (said !== undefined && said > most) throw tooLarge()
  return new Promise((resolve, reject) => {
    const collected = collector(most)
    const end = (settle: () => void) => {
      stream.off('data', take).off('end', finish).off('error', fail)
      settle()
    }
    const take = (piece: Buffer) => {
      if (!collected.take(piece)) end(() => reject(tooLarge()))
    }
    const finish = () =>
      end(() => {
        if (said === undefined || said === collected.length) resolve(collected.bytes())
        else
          reject(
            new Problem('bad_request', 'The length of the body differs from its Content-Length'),
          )
      })
    const fail = (error: Error) => end(() => reject(error))
    stream.on('data', take).on('end', finish).on('error', fail)
  })
}

/** @throws Problem bad_request; invalid if a text contains characters that can't be stored */
export function readJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return undefined
  const why = bytes.byteLength > longBytes ? excess(bytes, longest) : undefined
  if (why !== undefined) throw new Problem('bad_request', `The body has ${why}`)
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
    if (typeof value === 'string' && !isText(value))
      throw new Problem(
        'invalid',
        'A string in the body contains a character that cannot be stored',
      )
    if (typeof value !== 'object' || value === null) continue
    if (depth > deepest) throw new Problem('bad_request', `The body has ${tooDeep(deepest)}`)
    if (Array.isArray(value)) {
      if (value.length > longestArray)
        throw new Problem('bad_request', `A list in the body has more than ${longestArray} items`)
    } else {
      for (const key of Object.keys(value)) {
        const inner = (value as Record<string, unknown>)[key]
        if (!isText(key))
          throw new Problem(
            'invalid',
            'A key in the body contains a character that cannot be stored',
          )
        if (
          key === '__proto__' ||
          (key === 'constructor' &&
            typeof inner === 'object' &&
            inner !== null &&
            Object.hasOwn(inner, 'prototype'))
        ) {
          throw new Problem('bad_request', 'The body contains a key that is not allowed')
        }
      }
    }
    for (const inner of Object.values(value)) queue.push({ value: inner, depth: depth + 1 })
  }
}

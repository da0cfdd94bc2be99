/**
 * Looks up join tokens without a query per request. All hashes are in memory and are reloaded when
 * an unknown token is looked up, but at most ten times a second, however many tokens are guessed. A
 * new token is always found, because a lookup fails only after a reload that started later than the
 * lookup.
 */
import type { Db } from '../../db/db.ts'
import * as store from './store.ts'
import { hashOf } from './token-text.ts'

const readEveryMs = 100

export function directory(db: Db) {
  let known = new Map<string, store.TokenRow>()
  let next: Promise<void> | undefined
  let running: Promise<unknown> = Promise.resolve()
  let readAt = -Infinity
  const keyOf = (text: string) => hashOf(text).toString('base64')

  const read = async (): Promise<void> => {
    // Measured in real time, not with the program's clock, because this limit protects the
    // database.
    const waitMs = readAt + readEveryMs - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    // Callers that come after this point get the next read.
    next = undefined
    readAt = performance.now()
    const rows = await store.tokens(db)
    known = new Map(rows.map((row) => [Buffer.from(row.hash).toString('base64'), row]))
  }

  return {
    /**
     * The token's row, which may be outdated; undefined if the token doesn't exist. Ended tokens
     * stay ended, and the admission reads the row again.
     */
    async find(text: string): Promise<store.TokenRow | undefined> {
      const key = keyOf(text)
      const found = known.get(key)
      if (found) return found
      if (!next) {
        next = running.then(read)
        running = next.catch(() => undefined)
      }
      await next
      return known.get(key)
    },
    /** Drops an ended token, so that the next lookup reloads it. */
    forget: (text: string) => void known.delete(keyOf(text)),
  }
}

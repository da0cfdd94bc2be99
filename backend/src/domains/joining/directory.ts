/**
 * Which token a text is, asked without a question to the database for each: all hashes are held, and read again when one is asked for that isn't among
 * them. However many texts are guessed, that is at most ten times a second, one at a time; a token that was made a moment ago is found none the less,
 * because the read that decides begins after the question.
 */
import type { Db } from '../../db/db.ts'
import * as store from './store.ts'
import { hashOf } from './token-text.ts'

export interface KnownToken {
  readonly id: string
  readonly name: string
  readonly revoked_at: Date | null
  readonly expires_at: Date | null
}

export interface Directory {
  /** Undefined: there is no such token. Revoked and expired ones never become good again, so what is remembered of them holds; all else is decided under a lock. */
  find(text: string): Promise<KnownToken | undefined>
  /** It was found to have ended: it is read again when it is asked for. */
  forget(text: string): void
}

const readEveryMs = 100

export function directory({ db }: { db: Db }): Directory {
  let known = new Map<string, KnownToken>()
  let next: Promise<void> | undefined
  let running: Promise<unknown> = Promise.resolve()
  let readAt = -Infinity
  const keyOf = (text: string) => hashOf(text).toString('base64')

  const read = async (): Promise<void> => {
    // In real time: what is spared is the database, whatever the program's clock says.
    const waitMs = readAt + readEveryMs - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    // Who asks from here on is answered by the read after this one.
    next = undefined
    readAt = performance.now()
    const rows = await store.tokens(db)
    known = new Map(rows.map((row) => [Buffer.from(row.hash).toString('base64'), row]))
  }

  return {
    async find(text) {
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
    forget: (text) => void known.delete(keyOf(text)),
  }
}

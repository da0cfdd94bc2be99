/**
 * `Idempotency-Key`: a write that is sent again is done once. Kept 24 h per user and operation with the body's hash: the same body is given the stored
 * answer, another one 422. While the first is still running, the others wait a little and are then asked to come back (409 with `Retry-After`).
 * Answers are kept sealed: that of a new join token holds the token, which stands nowhere else in the database.
 */
import { createHmac, hkdfSync } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import type { Operation } from '#contract/operation.ts'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/db.ts'
import { decrypt, encrypt } from '../vault/cipher.ts'
import type { Caller, UserCaller } from './caller.ts'

export interface Answered {
  readonly status: number
  /** Text of the answer, or its bytes; null without one. */
  readonly body: string | Uint8Array | null
  readonly etag: string | undefined
}

export interface Idempotency {
  run(request: FastifyRequest, operation: Operation, body: unknown, act: (caller: Caller) => Promise<Answered>): Promise<Answered>
}

/** The first request of a key that hasn't answered for this long died with its process. */
const abandonedMs = 120_000
const waitMs = 5_000
const lookAgainMs = 50

export interface IdempotencyParts {
  readonly db: Db
  readonly clock: Clock
  /** 32 bytes, for hashes of bodies and, derived from them, for sealing answers. A body may hold a password: from a hash without a key, whoever reads the table could try passwords at full speed. */
  readonly hashKey: () => Promise<Uint8Array>
}

export function idempotency({ db, clock, hashKey }: IdempotencyParts): Idempotency {
  const at = (caller: UserCaller, operation: string, key: string) =>
    ({
      row: () =>
        db
          .selectFrom('idempotent_call')
          .selectAll()
          .where('person_id', '=', caller.userId)
          .where('operation', '=', operation)
          .where('key', '=', key)
          .executeTakeFirst(),
      update: () => db.updateTable('idempotent_call').where('person_id', '=', caller.userId).where('operation', '=', operation).where('key', '=', key),
      remove: () =>
        db
          .deleteFrom('idempotent_call')
          .where('person_id', '=', caller.userId)
          .where('operation', '=', operation)
          .where('key', '=', key)
          .where('committed_at', 'is', null)
          .execute(),
    }) as const

  const lost = () => new Problem('conflict', 'This was done, but its answer was lost. Load the object again.')
  const sealKey = async () => new Uint8Array(hkdfSync('sha256', await hashKey(), new Uint8Array(), 'answers of idempotent calls', 32))
  const contextOf = (caller: UserCaller, operation: string, key: string) => `idempotent_call/${caller.userId}/${operation}/${key}`
  const seal = async (answer: Omit<Answered, 'status'>, context: string): Promise<string> => {
    const body = answer.body instanceof Uint8Array ? Buffer.from(answer.body).toString('utf8') : answer.body
    return encrypt(await sealKey(), Buffer.from(JSON.stringify({ body, etag: answer.etag ?? null })), context).toString('base64')
  }
  /** @throws Problem conflict for one that another version of Steelyard kept */
  const open = async (answer: unknown, context: string): Promise<Omit<Answered, 'status'>> => {
    if (typeof answer !== 'object' || answer === null || !('sealed' in answer) || typeof answer.sealed !== 'string') throw lost()
    const text = decrypt(await sealKey(), Buffer.from(answer.sealed, 'base64'), context).toString('utf8')
    const { body, etag } = JSON.parse(text) as { body: string | null; etag: string | null }
    return { body, etag: etag ?? undefined }
  }

  /** Undefined where this request is the one that runs; otherwise the stored answer. */
  const claim = async (caller: UserCaller, operation: string, key: string, hash: Buffer): Promise<Answered | undefined> => {
    const call = at(caller, operation, key)
    const until = performance.now() + waitMs
    for (;;) {
      const started_at = new Date(clock.now())
      const made = await db
        .insertInto('idempotent_call')
        .values({ person_id: caller.userId, operation, key, request_hash: hash, started_at, status: null })
        .onConflict((c) => c.doNothing())
        .returning('key')
        .executeTakeFirst()
      if (made) return undefined
      const row = await call.row()
      if (!row) continue
      if (!hash.equals(row.request_hash)) throw new Problem('idempotency_mismatch', 'This Idempotency-Key was used with another body')
      if (row.answered_at) return { status: row.status!, ...(await open(row.answer, contextOf(caller, operation, key))) }
      if (row.started_at.getTime() < clock.now() - abandonedMs) {
        if (row.committed_at) throw lost()
        const taken = await call.update().set({ started_at }).where('started_at', '=', row.started_at).returning('key').executeTakeFirst()
        if (taken) return undefined
      }
      if (performance.now() > until) throw new Problem('idempotency_running', 'The first request with this Idempotency-Key is still running', undefined, 1)
      await new Promise((resolve) => setTimeout(resolve, lookAgainMs))
    }
  }

  return {
    async run(request, operation, body, act) {
      const key = request.headers['idempotency-key']
      const { caller } = request
      if (operation.method === 'GET' || key === undefined || caller.kind !== 'user') return act(caller)
      if (typeof key !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(key)) throw new Problem('bad_request', 'Idempotency-Key must be 1 to 128 visible characters')
      const hash = createHmac('sha256', await hashKey())
        .update(JSON.stringify(['idempotency', request.url, body ?? null]))
        .digest()
      const stored = await claim(caller, operation.name, key, hash)
      if (stored) return stored
      const call = at(caller, operation.name, key)
      try {
        const answer = await act({ ...caller, idempotency: { operation: operation.name, key } })
        await call
          .update()
          .set({
            answered_at: new Date(clock.now()),
            status: answer.status,
            answer: JSON.stringify({ sealed: await seal(answer, contextOf(caller, operation.name, key)) }),
          })
          .execute()
        return answer
      } catch (error) {
        // Refused, so nothing was done: the key may be used for another try. A failure after the commit keeps it.
        await call.remove().catch(() => undefined)
        throw error
      }
    },
  }
}

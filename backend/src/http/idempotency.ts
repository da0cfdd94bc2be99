/**
 * `Idempotency-Key`: a write that creates, begins or removes something (`kept` in the contract)
 * runs once even if it is sent again. Its response is kept 24 h per user and operation with the
 * body's hash: the same body gets the stored response, another body gets 422. If a user's responses
 * take too much room, the oldest are dropped, but not their keys: a repeated request then gets 409.
 * While the first request is running, others wait briefly and then get 409 with `Retry-After`.
 *
 * A running call holds a claim: a row with its process and a unique id. The response is written in
 * the transaction of the change, on condition that the claim is still valid. So even if the process
 * or the database fails in between, either the response is stored or nothing was changed. Responses
 * are stored encrypted: that of a new join token contains the token, which is stored nowhere else
 * in the database.
 */
import { createHmac, hkdfSync, randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { Problem } from '#contract/errors.ts'
import type { Operation } from '#contract/operation.ts'
import { beforeCommit, type Db, type Tx } from '../db/db.ts'
import type { Platform } from '../platform.ts'
import { decrypt, encrypt } from '../vault/cipher.ts'
import type { Caller, UserCaller } from './caller.ts'

export interface Answered {
  readonly status: number
  /** Body of the response as text or bytes; null without a body. */
  readonly body: string | Uint8Array | null
  readonly etag: string | undefined
}

/**
 * `answerOf`: the response for a transaction's result; undefined if the response needs more data.
 */
type Act = {
  readonly act: (caller: Caller) => Promise<Answered>
  readonly answerOf: (result: unknown) => Answered | undefined
}

export type Idempotency = ReturnType<typeof idempotency>

const waitMs = 2_000
const lookAgainMs = 50
/** How often a claim is renewed, and after how long without renewal it expires. */
const beatMs = 5_000
const leaseMs = 15_000
/**
 * Storage limit of a user's responses; beyond it, the oldest are dropped. Their keys stay, so that
 * the calls aren't carried out again.
 */
const mostBytes = 1024 * 1024
/** A user's responses are looked through when about so much was added, not after each call. */
const addedBytes = mostBytes / 16
/** The size of a row without its response: keys, hash, times and index entries. */
const rowBytes = 512
/**
 * Largest number of a user's keys; beyond it, the oldest are removed. They take about 25 MiB. A user
 * who always writes as fast as the limits allow needs more than 40 minutes for so many, and a
 * request is repeated within minutes.
 */
const mostKeys = 50_000

/**
 * @param parts `hashKey`: 32 bytes, used to hash bodies and to derive the key that encrypts
 * responses. A body may contain a password: with an unkeyed hash, anyone who reads the table could
 * guess passwords at full speed
 */
export function idempotency({
  db,
  clock,
  owner,
  failpoint,
  hashKey,
}: Platform & { hashKey: () => Promise<Uint8Array> }) {
  /** Claims of calls that are running in this process. */
  const running = new Set<string>()
  /** About how much was stored per user since `forgetOldest` was last called for the user. */
  const added = new Map<string, number>()
  const beat = setInterval(() => {
    if (running.size === 0) return
    void db
      .updateTable('idempotent_call')
      .set({ beat_at: sql<Date>`now()` })
      .where('claim', 'in', [...running])
      .where('answered_at', 'is', null)
      .execute()
      .catch(() => undefined)
  }, beatMs)
  beat.unref()

  const lost = () =>
    new Problem(
      'conflict',
      'The request was carried out, but its response was lost. Load the object again.',
    )
  const sealKey = async () =>
    new Uint8Array(
      hkdfSync('sha256', await hashKey(), new Uint8Array(), 'answers of idempotent calls', 32),
    )
  const contextOf = (caller: UserCaller, operation: string, key: string) =>
    `idempotent_call/${caller.userId}/${operation}/${key}`
  const seal = async (answer: Omit<Answered, 'status'>, context: string): Promise<string> => {
    const body =
      answer.body instanceof Uint8Array ? Buffer.from(answer.body).toString('utf8') : answer.body
    return encrypt(
      await sealKey(),
      Buffer.from(JSON.stringify({ body, etag: answer.etag ?? null })),
      context,
    ).toString('base64')
  }
  /** @throws Problem conflict for a response that was dropped or stored by another version */
  const open = async (answer: unknown, context: string): Promise<Omit<Answered, 'status'>> => {
    if (
      typeof answer !== 'object' ||
      answer === null ||
      !('sealed' in answer) ||
      typeof answer.sealed !== 'string'
    )
      throw lost()
    const text = decrypt(await sealKey(), Buffer.from(answer.sealed, 'base64'), context).toString(
      'utf8',
    )
    const { body, etag } = JSON.parse(text) as { body: string | null; etag: string | null }
    return { body, etag: etag ?? undefined }
  }

  /** Undefined if this request has got the claim and has to run; otherwise the stored response. */
  const take = async (
    caller: UserCaller,
    operation: string,
    key: string,
    hash: Buffer,
    claim: string,
  ): Promise<Answered | undefined> => {
    const until = performance.now() + waitMs
    const now = sql<Date>`now()`
    for (;;) {
      const started_at = new Date(clock.now())
      const made = await db
        .insertInto('idempotent_call')
        .values({
          person_id: caller.userId,
          operation,
          key,
          request_hash: hash,
          started_at,
          status: null,
          owner,
          claim,
          beat_at: now,
          bytes: 0,
        })
        .onConflict((c) => c.doNothing())
        .returning('key')
        .executeTakeFirst()
      if (made) return undefined
      const row = await db
        .selectFrom('idempotent_call')
        .selectAll()
        .select(
          sql<boolean>`beat_at > now() - ${`${leaseMs} milliseconds`}::interval`.as('is_heard'),
        )
        .where('person_id', '=', caller.userId)
        .where('operation', '=', operation)
        .where('key', '=', key)
        .executeTakeFirst()
      if (!row) continue
      if (!hash.equals(row.request_hash))
        throw new Problem('idempotency_mismatch', 'This Idempotency-Key was used with another body')
      if (row.answered_at)
        return {
          status: row.status!,
          ...(await open(row.answer, contextOf(caller, operation, key))),
        }
      if (row.owner === owner ? !running.has(row.claim) : !row.is_heard) {
        // The process that ran the call has ended, or lost its connection to the database.
        if (row.committed_at) throw lost()
        const taken = await db
          .updateTable('idempotent_call')
          .set({ started_at, owner, claim, beat_at: now })
          .where('claim', '=', row.claim)
          .where('committed_at', 'is', null)
          .returning('key')
          .executeTakeFirst()
        if (taken) return undefined
        continue
      }
      if (performance.now() > until)
        throw new Problem(
          'idempotency_running',
          'The first request with this Idempotency-Key is still running',
          undefined,
          1,
        )
      await new Promise((resolve) => setTimeout(resolve, lookAgainMs))
    }
  }

  /** Stores the result in the claim's row; false if another process has taken over the claim. */
  const settle = async (
    on: Db | Tx,
    claim: string,
    answer: Answered | undefined,
    context: string,
  ): Promise<boolean> => {
    const at = new Date(clock.now())
    const sealed = answer && (await seal(answer, context))
    const { numUpdatedRows } = await on
      .updateTable('idempotent_call')
      .set({
        committed_at: at,
        ...(answer &&
          sealed && {
            answered_at: at,
            status: answer.status,
            answer: JSON.stringify({ sealed }),
            bytes: rowBytes + sealed.length,
          }),
      })
      .where('claim', '=', claim)
      .executeTakeFirstOrThrow()
    return numUpdatedRows === 1n
  }

  /**
   * Drops the user's oldest responses beyond the storage limit, but never the newest response,
   * however large it is. Removes the oldest calls beyond the number of keys.
   */
  const forgetOldest = (personId: string) =>
    sql`with placed as (
        select claim, row_number() over newest as place, sum(bytes) over newest as bytes
        from idempotent_call where person_id = ${personId} and committed_at is not null
        window newest as (order by coalesce(answered_at, committed_at) desc, claim)
      ), removed as (
        delete from idempotent_call as call using placed
        where call.claim = placed.claim and placed.place > ${mostKeys}
      )
      update idempotent_call as call set answer = null, bytes = 0 from placed
      where call.claim = placed.claim and placed.place > 1 and placed.place <= ${mostKeys}
        and placed.bytes > ${mostBytes - addedBytes} and call.answer is not null`.execute(db)

  const makeRoom = async (personId: string, { body }: Answered): Promise<void> => {
    // Encrypted, a response is up to about twice as long.
    const bytes = (added.get(personId) ?? addedBytes) + rowBytes + 2 * (body?.length ?? 0)
    added.set(personId, bytes)
    if (bytes < addedBytes) return
    await forgetOldest(personId)
    added.set(personId, 0)
  }

  return {
    stop: (): void => clearInterval(beat),
    async run(
      request: FastifyRequest,
      operation: Operation,
      body: unknown,
      { act, answerOf }: Act,
    ): Promise<Answered> {
      const key = request.headers['idempotency-key']
      const { caller } = request
      if (operation.method === 'GET' || key === undefined || caller.kind !== 'user')
        return act(caller)
      if (typeof key !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(key))
        throw new Problem('bad_request', 'Idempotency-Key must be 1 to 128 visible characters')
      if (!operation.kept) return act(caller)
      const hash = createHmac('sha256', await hashKey())
        .update(JSON.stringify(['idempotency', request.url, body ?? null]))
        .digest()
      const claim = randomUUID()
      running.add(claim)
      try {
        const stored = await take(caller, operation.name, key, hash, claim)
        if (stored) return stored
        failpoint.reach('claim', 'after')
        const context = contextOf(caller, operation.name, key)
        /** The transaction in which `record` was last called for this call. */
        let changing: Tx | undefined
        let kept: Answered | undefined
        const commit = async (tx: Tx, result: unknown): Promise<void> => {
          if (tx !== changing) return
          const answer = answerOf(result)
          // Another process has taken over the claim, so this change is rolled back.
          if (!(await settle(tx, claim, answer, context)))
            throw new Problem(
              'idempotency_running',
              'Another process now runs the request with this Idempotency-Key',
              undefined,
              1,
            )
          kept = answer
        }
        try {
          const answer = await beforeCommit.run(commit, () =>
            act({ ...caller, idempotency: { recordedIn: (tx) => (changing = tx) } }),
          )
          failpoint.reach('answer', 'after')
          // If this fails, the caller still gets the response, because the change is committed; a
          // repeated request then learns that the response was lost.
          if (!kept || kept.body !== answer.body || kept.etag !== answer.etag)
            await settle(db, claim, answer, context).catch(() => undefined)
          // If this fails, the next call removes the surplus.
          await makeRoom(caller.userId, answer).catch(() => undefined)
          return answer
        } catch (error) {
          // The call failed before its commit, so nothing was changed and the key may be used
          // again. After a commit the row is kept.
          await db
            .deleteFrom('idempotent_call')
            .where('claim', '=', claim)
            .where('committed_at', 'is', null)
            .execute()
            .catch(() => undefined)
          throw error
        }
      } finally {
        running.delete(claim)
      }
    },
  }
}

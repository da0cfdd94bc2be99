/** A client of the API for scripts: calls the contract's operations with fetch. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Asked, Operation } from '#contract/operation.ts'

export type Caller = <O extends Operation>(
  operation: O,
  asked: Partial<Asked<O>>,
) => Promise<Answer<O>>

/**
 * Maximum number of attempts. Under load, or if one user writes too often, the API responds with
 * the time after which to retry.
 */
const tries = 6
/** Longest `Retry-After` to follow. A longer one has another cause, such as wrong passwords. */
const longestWaitSeconds = 5

/**
 * Makes up to `tries` attempts, with the same Idempotency-Key, as long as the response is 503 or
 * 429 with a `Retry-After` in seconds.
 * @throws Error with the name of the call and the API's message.
 */
export const apiClient = (url: string, token?: string): { call: Caller } => ({
  async call(operation, asked) {
    const {
      params = {},
      query = {},
      body,
    } = asked as {
      params?: Record<string, string>
      query?: Record<string, string | number | boolean | undefined>
      body?: unknown
    }
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, key: string) =>
      encodeURIComponent(params[key]!),
    )
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([k, v]): [string, string][] =>
        v === undefined ? [] : [[k, String(v)]],
      ),
    )
    const headers = {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(operation.method === 'POST' && { 'idempotency-key': randomUUID() }),
    }
    for (let attempt = 1; ; attempt++) {
      const answer = await fetch(`${url}${path}${search.size > 0 ? `?${search.toString()}` : ''}`, {
        method: operation.method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      const retryAfter = Number(answer.headers.get('retry-after') ?? Number.NaN)
      if (
        (answer.status === 503 || answer.status === 429) &&
        attempt < tries &&
        retryAfter <= longestWaitSeconds
      ) {
        await sleep(retryAfter * 1000)
        continue
      }
      if (!answer.ok) throw new Error(`${operation.name}: ${answer.status} ${text}`)
      return (operation.media === 'application/json' && text ? JSON.parse(text) : text) as Answer<
        typeof operation
      >
    }
  },
})

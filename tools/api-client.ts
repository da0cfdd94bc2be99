/** The API from a script: the contract's operations over fetch. */
import { randomUUID } from 'node:crypto'
import type { Answer, Asked, Operation } from '#contract/operation.ts'

export type Caller = <O extends Operation>(operation: O, asked: Partial<Asked<O>>) => Promise<Answer<O>>

/** @throws Error with the API's sentence and the call's name. */
export const apiClient = (url: string, token?: string): { call: Caller } => ({
  async call(operation, asked) {
    const {
      params = {},
      query = {},
      body,
    } = asked as { params?: Record<string, string>; query?: Record<string, string | number | boolean | undefined>; body?: unknown }
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params[key]!))
    const search = new URLSearchParams(Object.entries(query).flatMap(([k, v]): [string, string][] => (v === undefined ? [] : [[k, String(v)]])))
    const answer = await fetch(`${url}${path}${search.size > 0 ? `?${search.toString()}` : ''}`, {
      method: operation.method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(operation.method === 'POST' && { 'idempotency-key': randomUUID() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${operation.name}: ${answer.status} ${text}`)
    return (operation.media === 'application/json' && text ? JSON.parse(text) : text) as Answer<typeof operation>
  },
})

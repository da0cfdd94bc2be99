import { beforeEach, expect, test, vi } from 'vitest'
import { clusterDelete } from '#contract/clusters/clusters.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import type * as Client from '../client.ts'
import type * as Proof from './proof.ts'

const notices: string[] = []
vi.mock('../../ui/feedback/toast.ts', () => ({
  toast: { error: (text: string) => void notices.push(text) },
}))
vi.mock('../access.ts', () => ({
  accessToken: async () => 'token',
  endsSession: () => true,
  SessionReplaced: Error,
}))
vi.mock('../auth.ts', () => ({
  ownSession: () => ({ userId: 'u', session: 'u s' }),
  sessionLost: () => undefined,
  storedToken: () => 'token',
  storedUserId: () => 'u',
  whenSessionEnds: () => undefined,
}))

interface Sent {
  url: string
  key: string | null
}
let sent: Sent[]
let isProved: boolean
let client: typeof Client
let proof: typeof Proof

const json = (status: number, body: unknown) =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
const needed = { error: 'Confirm that it is you.', code: 'proof_needed', request_id: 'r' }

beforeEach(async () => {
  sent = []
  isProved = false
  notices.splice(0)
  vi.resetModules()
  vi.stubGlobal('fetch', async (url: string, { headers }: { headers: Record<string, string> }) => {
    sent.push({ url, key: headers['idempotency-key'] ?? null })
    return isProved ? json(200, { ok: true }) : json(409, needed)
  })
  client = await import('../client.ts')
  proof = await import('./proof.ts')
})

const body = { name: 'monitoring', scopes: ['servers:read' as const], lifetime_days: 30 }

test('a call that needs a proof asks once, and is repeated with the same Idempotency-Key', async () => {
  let asked = 0
  proof.whenProofNeeded(async () => {
    asked++
    await Promise.resolve()
    isProved = true
    return true
  })
  const calls = [
    client.call(apiTokenCreate, { body }, { key: 'k1' }),
    client.call(apiTokenCreate, { body }, { key: 'k2' }),
  ]
  expect(await Promise.all(calls)).toEqual([{ ok: true }, { ok: true }])
  expect(asked).toBe(1)
  expect(sent.map(({ key }) => key)).toEqual(['k1', 'k2', 'k1', 'k2'])
})

test('without a proof the refusal is shown by the caller, and the call is not repeated', async () => {
  proof.whenProofNeeded(async () => false)
  await expect(client.call(clusterDelete, { params: { id: 'c' } })).rejects.toThrow(
    'Confirm that it is you.',
  )
  expect(sent).toHaveLength(1)
  expect(notices).toEqual([])
})

test('a second refusal after a proof is not asked about again', async () => {
  let asked = 0
  proof.whenProofNeeded(async () => {
    asked++
    return true
  })
  await expect(client.call(clusterDelete, { params: { id: 'c' } })).rejects.toThrow(
    'Confirm that it is you.',
  )
  expect([asked, sent.length]).toEqual([1, 2])
})

test('a missing second factor leads to the profile instead of a notice about permissions', async () => {
  vi.stubGlobal('fetch', async () =>
    json(403, {
      error: 'Your role requires a second factor.',
      code: 'second_factor_required',
      request_id: 'r',
    }),
  )
  await expect(client.call(clusterDelete, { params: { id: 'c' } })).rejects.toThrow(
    'Your role requires a second factor.',
  )
  expect([proof.secondFactorMissing.get(), notices]).toEqual([true, []])
  vi.stubGlobal('fetch', async () => json(403, { error: 'No', code: 'forbidden', request_id: 'r' }))
  await expect(client.call(clusterDelete, { params: { id: 'c' } })).rejects.toThrow('No')
  expect(notices).toEqual(["Access denied. You don't have permission for this action."])
})

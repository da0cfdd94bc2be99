import { expect, test } from 'vitest'
import type { Kubernetes } from '../../kubernetes/client.ts'
import { KubernetesError, within } from '../../kubernetes/answers.ts'
import { askApiServers, isOwnDelay } from './ask-kubernetes.ts'

const startingMs = 180_000
const { signal } = new AbortController()
const until = (limit: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) =>
    limit.addEventListener('abort', () => reject(limit.reason as Error)),
  )
const lateAnswer = () => within(signal, 1, until).catch((error: unknown) => error)

test('only a late answer in the first minutes after a start may be our own delay', async () => {
  const late = await lateAnswer()
  expect(late).toBeInstanceOf(KubernetesError)
  expect([isOwnDelay(late, 0), isOwnDelay(late, startingMs)]).toEqual([true, false])
  expect(isOwnDelay(new KubernetesError('connection refused'), 0)).toBe(false)
})

test('an API server that is late says so in the first minutes after a start', async () => {
  const client = { readyz: () => within(signal, 1, until) } as unknown as Kubernetes
  const target = { id: 'a', name: 'a', address: '10.0.0.1' }
  const asked = (upMs: number) =>
    askApiServers(client, [target], { signal, clock: { monotonic: () => upMs } })
  for (const upMs of [0, startingMs])
    expect(await asked(upMs)).toEqual([
      {
        state: { node_id: 'a', name: 'a', ready: false, reason: 'did not answer within 1 ms' },
        ms: null,
        isOwnDelay: upMs === 0,
      },
    ])
})

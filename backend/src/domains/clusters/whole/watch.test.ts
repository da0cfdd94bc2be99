import { expect, test } from 'vitest'
import { lateBy, OutOfTime } from '#contract/connections/causes.ts'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import type { ClusterTurn } from './cluster-run.ts'
import { watch } from './watch.ts'

const startingMs = 180_000
const late = new KubernetesError(lateBy(10_000), undefined, { cause: new OutOfTime(10_000) })
const refused = new KubernetesError('connection refused')

interface Moment {
  readonly error: Error
  readonly upMs: number
  /** Of a control plane, if one is known to be silent. */
  readonly silence?: string
}

/** Whether a check of a cluster whose API fails with the error counts as failed. */
async function counts({ error, upMs, silence }: Moment): Promise<boolean> {
  let writes = 0
  const turn = {
    parts: {
      servers: { forPlan: () => Promise.resolve(silence ? [{ name: 'cp-1', silence }] : []) },
      secrets: { kubernetesAdmin: () => Promise.reject(error) },
    },
    job: {
      signal: new AbortController().signal,
      now: () => 0,
      upMs: () => upMs,
      fence: { write: () => Promise.resolve(void writes++) },
    },
    state: { row: { id: 'a', name: 'demo', control_plane_at: null, misses: 0 }, members: [] },
  } as unknown as ClusterTurn
  await watch(turn)
  return writes > 0
}

test('a late answer in the first minutes after a start is no news of a cluster, unless a control plane is silent', async () => {
  expect(await counts({ error: late, upMs: 0 })).toBe(false)
  expect(await counts({ error: late, upMs: startingMs - 1 })).toBe(false)
  expect(await counts({ error: late, upMs: startingMs })).toBe(true)
  expect(await counts({ error: late, upMs: 0, silence: 'No answer since 14:02 UTC' })).toBe(true)
  expect(await counts({ error: refused, upMs: 0 })).toBe(true)
})

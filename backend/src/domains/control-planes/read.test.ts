import process from 'node:process'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ClusterView } from './view.ts'
import { controlPlanesNow } from './read.ts'

const members = [1, 2, 3].map((n) => ({
  node_id: `node-${n}`,
  name: `server-${n}`,
  role: 'control_plane',
  secured_at: new Date(0),
  wanted: 'joined',
  released_at: null,
}))

/** The machines answer nothing, and Kubernetes isn't reached; both give up with the signal. */
const aborted = (reason: Error): ClusterView => {
  const signal = AbortSignal.abort(reason)
  const connection = { secure: () => Promise.reject(reason) }
  const parts = {
    dial: { check: () => ({ ok: true }) },
    servers: {
      forPlan: (_on: unknown, ids: readonly string[]) =>
        Promise.resolve(ids.map((id) => ({ id, address: '127.0.0.1', silence: null }))),
      connection: () => Promise.resolve(connection),
    },
    secrets: {
      kubernetesAdmin: () => Promise.resolve({ ca: '', crt: '', key: '' }),
      talosAdmin: () => Promise.resolve({}),
    },
  }
  return { parts, state: { row: { id: 'cluster' }, members }, signal } as unknown as ClusterView
}

test('a look that is aborted leaves no rejection unhandled, which would end the process', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  try {
    const reason = new Error('Steelyard stops')
    await expect(controlPlanesNow(aborted(reason))).rejects.toThrow('Steelyard stops')
    await nextTurn()
    await nextTurn()
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', note)
  }
})

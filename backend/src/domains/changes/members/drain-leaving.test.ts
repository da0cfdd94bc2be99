/** What a drain of a server that leaves does without its kubelet. */
import { expect, test } from 'vitest'
import { withoutKubelet } from './drain-leaving.ts'

const now = Date.parse('2026-11-29T03:00:00Z')
const minute = 60_000
const wait = { waiting: 'Waits for shop/db-0 to end on worker-1', isSafe: true }
const nodeOf = (status: string, since: string | undefined) => ({
  metadata: { name: 'worker-1' },
  status: {
    conditions: [
      {
        type: 'Ready',
        status,
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
        lastTransitionTime: since,
      },
    ],
  },
})
const after = (minutes: number, node: unknown) =>
  withoutKubelet(wait, node, { waited: minutes * minute, elapsed: (since) => now - since })

test('a server whose node is not Ready for 5 minutes leaves without a drain, and says why', () => {
  const dead = nodeOf('Unknown', '2026-11-29T01:12:00Z')
  expect(after(1, dead)).toEqual({
    waiting:
      'Waits for shop/db-0 to end on worker-1. The node is not Ready: NodeStatusUnknown: Kubelet stopped posting node status, so its pods may never end. If it stays so for 5 minutes, the server leaves without them',
    isSafe: true,
  })
  expect(after(6, dead)).toEqual({
    skipped:
      'The node is not Ready: NodeStatusUnknown: Kubelet stopped posting node status. Its pods do not end, and leave the cluster with the node',
  })
})

test('a drain of a Ready node waits, and so does one of a node that was Ready a moment ago', () => {
  expect(after(19, nodeOf('True', '2026-11-29T01:12:00Z'))).toBe(wait)
  for (const since of ['2026-11-29T02:59:00Z', undefined, 'soon'])
    expect(after(19, nodeOf('Unknown', since))).toHaveProperty('waiting')
})

/** Steps and members of a cluster for the tests of phases and timelines. */
import type { Step } from '#contract/operations.ts'

/** A step whose key names its server after the slash, as in `install/a`. */
export const step = (key: string, status: Step['status'], more: Partial<Step> = {}): Step => ({
  key,
  title: key,
  node_id: key.includes('/') ? key.split('/')[1]! : null,
  status,
  attempt: status === 'todo' ? 0 : 1,
  started_at: status === 'todo' ? null : '2026-11-20T10:00:00.000Z',
  ended_at: status === 'done' ? '2026-11-20T10:00:05.000Z' : null,
  reason: null,
  ...more,
})
export const members = [
  { node_id: 'a', name: 'copper-lynx-402', role: 'control_plane' as const },
  { node_id: 'b', name: 'dusty-plover-519', role: 'control_plane' as const },
  { node_id: 'w', name: 'quiet-otter-118', role: 'worker' as const },
]

/**
 * Before a control plane is changed, all others are asked how they are. What the server itself
 * reports doesn't count here: a change may mend it, and a configuration on trial may make it ill
 * until the trial has ended. Waiting for the server afterwards is `change/shared/gate.ts`.
 */
import type { Touched } from '../../configurations/api.ts'
import type { MemberRow } from '../store.ts'
import { settled, whyOthersForbid } from './judge.ts'
import { type ClusterView, controlPlanesNow } from './read.ts'
import * as store from './store.ts'

const none: ReadonlySet<string> = new Set()
/** Time in ms after which the claim of a process that was killed ends. */
const claimMs = 3 * 60_000

/**
 * Sends something that may change the components of a server. Of the control planes of a cluster,
 * one at a time is changed, and only while all others are well; a worker may always be changed.
 * `mends`: names of control planes that the change is to mend. The error of `send` is thrown.
 */
export async function touching<T>(
  view: ClusterView,
  { cluster_id, node_id, name, role }: Pick<MemberRow, 'cluster_id' | 'node_id' | 'name' | 'role'>,
  send: () => Promise<T>,
  mends: ReadonlySet<string> = none,
): Promise<Touched<T>> {
  if (role !== 'control_plane') return { sent: await send() }
  const { db, clock } = view.parts
  const claim = { clusterId: cluster_id, nodeId: node_id }
  const now = clock.now()
  if (!(await store.claim(db, claim, new Date(now), new Date(now + claimMs))))
    return { forbidden: `${name} is changed after another control plane` }
  try {
    // The server's own etcd counts only in a change that mends: a dead one has no quorum to lose.
    const isAsked = (other: string) => mends.size > 0 || other !== node_id
    const why = whyOthersForbid(node_id, await controlPlanesNow(view, isAsked), mends)
    return why === null
      ? { sent: await send() }
      : { forbidden: `${name} is changed as soon as the other control planes are well. ${why}` }
  } finally {
    // What was sent is visible on the machine now: others wait until it has taken effect.
    await store.release(db, claim)
  }
}

/**
 * Why a change of this control plane must not be requested now, or null. What only takes effect at
 * this moment is waited for when the change is sent.
 */
export async function whyNotRequest(
  view: ClusterView,
  { node_id, role }: Pick<MemberRow, 'node_id' | 'role'>,
): Promise<string | null> {
  return role === 'control_plane'
    ? whyOthersForbid(
        node_id,
        settled(await controlPlanesNow(view, (other) => other !== node_id)),
        none,
      )
    : null
}

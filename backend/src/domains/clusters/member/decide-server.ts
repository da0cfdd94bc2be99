/**
 * Decides the next action for a server of a cluster: a pure function of the wanted state, the
 * stored facts and the server's observed state. Never assumes that a command was carried out.
 */
import { elapsedMs } from '../../../clock.ts'
import { lasting } from '../../../sentences.ts'
import type { Place } from '../../../db/columns.ts'
import { afterWipe } from '../plan.ts'
import type { MemberRow } from '../store.ts'
import { minute, type Around, type ServerAct, wait, type Seen, fail } from './acts.ts'
import { leave } from './decide-leave.ts'
import { join } from './decide-join.ts'

/**
 * How long a server may stay at a step before it fails, in ms. Waiting for other servers doesn't
 * count.
 */
export const patienceMs: Partial<Record<Place, number>> = {
  apply: 30 * minute,
  install: 30 * minute,
  boot: 20 * minute,
  etcd: 30 * minute,
  join: 30 * minute,
  reset: 30 * minute,
  release: 30 * minute,
  'forget-member': 30 * minute,
  'forget-node': 30 * minute,
}

/**
 * Whether the server was replaced during the creation. Its reset has no time limit: nothing waits
 * for the server, and a user can't retry the reset.
 */
const isReplaced = (server: MemberRow, around: Around): boolean =>
  server.wanted === 'released' && server.operation_id === null && around.clusterStays

/**
 * The next action if it can be decided without querying the server, else null. `isRendered`: the
 * server has a rendered configuration.
 */
export function decideBlind(
  server: MemberRow,
  around: Around,
  isRendered: boolean,
): ServerAct | null {
  if (server.at === 'done') return { act: 'rest', at: 'done' }
  if (server.wanted === 'released') {
    if (server.send_intent_at === null) return { act: 'release', at: 'release' }
    if (server.failed_at !== null && !isReplaced(server, around))
      return { act: 'rest', at: server.at }
    if (server.operation_id !== null && server.wiped_at !== null)
      return { act: 'forget', at: afterWipe(server.role) }
    return around.waitTurn === null ? null : wait('reset', around.waitTurn)
  }
  if (server.failed_at !== null || server.waits) return { act: 'rest', at: server.at }
  if (!around.secrets) return wait('config', "Waiting for the cluster's certificates and keys")
  if (!isRendered) return { act: 'render', at: 'config' }
  if (server.role === 'worker' && server.send_intent_at === null && around.controlPlaneAt === null)
    return wait(
      'apply',
      'Waiting for a healthy control plane: the worker gets its certificate from trustd on a control plane',
    )
  return null
}

export function decideServer(server: MemberRow, around: Around, seen: Seen): ServerAct {
  return patiently(
    server,
    around,
    server.wanted === 'released' ? leave(server, around, seen) : join(server, around, seen),
  )
}

/**
 * Turns a wait that takes too long into a failure, except for a replaced server, which keeps
 * waiting.
 */
export function patiently(server: MemberRow, around: Around, act: ServerAct): ServerAct {
  if (isReplaced(server, around)) return act.act === 'fail' ? wait(act.at, act.reason) : act
  if (act.act !== 'wait' || act.at !== server.at) return act
  const patience = patienceMs[act.at]
  const others = othersDoneAt(server, around, act.at)
  if (patience === undefined || others === null) return act
  const lasted = Math.min(
    elapsedMs(around, server.at_since),
    elapsedMs(around, others),
    around.upMs,
  )
  const { sinceNewsMs: quiet = Infinity } = act
  if (Math.min(lasted, quiet) < patience) return act
  const isRepeated = quiet < lasted ? `, and nothing new for ${lasting(quiet)}` : ''
  return fail(act.at, `Not done after ${lasting(lasted)}${isRepeated}. ${act.reason}`)
}

/**
 * The time at which this server stopped waiting for other servers, from which its own time limit
 * counts; null while it waits for them.
 */
function othersDoneAt(server: MemberRow, around: Around, at: Place): Date | null {
  if (server.wanted === 'joined' && at === 'etcd') return around.bootstrap?.confirmedAt ?? null
  return server.wanted === 'joined' && at === 'join' ? around.controlPlaneAt : new Date(0)
}

/** What follows if Talos no longer tries to bring the etcd of a joining control plane up. */
import { elapsedMs } from '../../../clock.ts'
import { etcdIll, hasGivenUp } from '../../control-planes/api.ts'
import { atTime, lasting } from '../../../sentences.ts'
import type { MemberRow } from '../store.ts'
import { type Around, fail, minute, type SeenService, type ServerAct, wait } from './acts.ts'

/** A restart takes this long at most, in ms, until etcd is started anew. */
const restartMs = 5 * minute
/**
 * Talos tries to promote a learner for ten minutes after its start, and never again, not even after
 * a restart (`services/etcd.go`, promoteMember; PreFunc).
 */
const promotesMs = 11 * minute

/**
 * Null while Talos still tries. A control plane whose etcd has given up is restarted once by the
 * operation that installs it, if the machine shows that etcd has no data there: it has never been a
 * member, so nothing is lost. Everything else is for a person to decide.
 */
export function decideEtcd(
  server: MemberRow,
  around: Around,
  { state, message, hasData = null, learnerMs = null }: SeenService,
): ServerAct | null {
  if (learnerMs !== null && learnerMs >= promotesMs)
    return fail(
      'etcd',
      `${server.name} has been a learner of etcd for ${lasting(learnerMs)}, and Talos no longer tries to promote it, not even after a restart. Replace the server, or remove it and add it again`,
    )
  const isThere = around.controlPlaneAt !== null || around.bootstrap?.confirmedAt != null
  // While etcd is being started on it, that order is repeated.
  if (!isThere || !hasGivenUp(state, message)) return null
  const ill = etcdIll(state, message)
  const { etcd_restart_at: restarted } = server
  if (restarted !== null && elapsedMs(around, restarted) < restartMs)
    return wait('etcd', `${server.name} was restarted at ${atTime(restarted)}. ${ill}`)
  return restarted === null && server.etcd_at === null && hasData === false
    ? {
        act: 'restart-for-etcd',
        at: 'etcd',
        reason: `${ill}. ${server.name} has no data of etcd yet, so it is restarted, once`,
      }
    : fail('etcd', `${ill}. Restart ${server.name}, then retry`)
}

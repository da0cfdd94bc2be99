/** When to look at a server and when to query its trouble. Each query adds lines to the log that Steelyard reads. */
import type { Job } from '../../../engine/engine.ts'
import type { Seen } from './decide-server.ts'
import { look, unseen } from './look.ts'
import type * as store from '../store.ts'
import type { MemberRun } from './run.ts'

type Told = Extract<Seen, { kind: 'secured' }>

/** Age of an installation, in ms, after which its trouble is queried; after a failed one at once. */
const troubleAfterMs = 5_000
/** Intervals of further queries, in ms: longer if a trouble is known. A new stage is queried at once. */
const troubleEveryMs = { known: 15_000, unknown: 4_000 }

export function looking({ parts: { servers }, secrets }: MemberRun) {
  /** By wake-up: the time, attempt and stage of the last query. In memory only. */
  const asked = new Map<
    string,
    { readonly sends: number; readonly stage: string; readonly at: number; readonly told: Pick<Told, 'trouble' | 'isInstallSkipped' | 'last'> }
  >()

  return async (job: Job, m: store.MemberRow): Promise<Seen> => {
    try {
      // A restart clears the log, and only seconds lie between a failure and the restart.
      const isSlow = m.at === 'boot' || (m.at === 'install' && (m.sends > 1 || job.elapsedMs(m.at_since) > troubleAfterMs))
      const isJoining = m.wanted === 'joined' && m.secured_at === null
      const before = asked.get(job.key)
      const last = before?.sends === m.sends ? before : undefined
      const askTrouble = (stage: string) => {
        if (!isJoining) return false
        if (last?.stage !== stage) return isSlow || stage === 'rebooting'
        return job.now() - last.at >= (last.told.trouble === null ? troubleEveryMs.unknown : troubleEveryMs.known)
      }
      const expected = { expectSecured: m.send_intent_at !== null, askTrouble, askInstallation: isJoining }
      const seen = await look(await servers.connection(m.node_id), await secrets.talosAdmin(m.cluster_id), expected, job.signal)
      if (!isJoining) asked.delete(job.key)
      if (seen.kind !== 'secured' || !isJoining) return seen
      if (!seen.askedTrouble) return last?.stage === seen.stage ? { ...seen, ...last.told } : seen
      const { trouble, isInstallSkipped, last: lastWords } = seen
      asked.set(job.key, { sends: m.sends, stage: seen.stage, at: job.now(), told: { trouble, isInstallSkipped, last: lastWords } })
      return seen
    } catch (error) {
      return unseen(error, job.signal)
    }
  }
}

/**
 * Reads the configurations of a cluster's machines every few minutes with one call each (three
 * lines in the machine's log). Records the results and sends nothing.
 */
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import { inTransaction } from '../../../db/db.ts'
import { configuringQueue } from '../api.ts'
import { sentBy } from '../../../reading/asker.ts'
import { adminCredentials, type ConfigurationParts, type Core } from '../parts.ts'
import type { Trials } from '../trials/trials.ts'
import type { Drifts, Judged } from './drift.ts'

const everyMs = 120_000
const atOnce = 4
const deadlineMs = 10_000

/**
 * `other-kubernetes`: the machine's configuration has another Kubernetes authority. `strange`: the
 * machine's certificate has another issuer, as after a change of the authority: Talos issues its own
 * certificate from it too (Talos `secrets/api.go`), and TLS 1.3 shows that certificate first. A
 * machine that shows the known authority and refuses our certificate says nothing about authorities:
 * our clock may be ahead of the machine's, so that the certificate isn't valid yet.
 */
type Answer = 'told' | 'other-kubernetes' | 'strange' | 'silent'

export function sweeping(
  { db, engine, servers, clusters, read }: ConfigurationParts,
  { kept, isOfLayers }: Pick<Core, 'kept' | 'isOfLayers'>,
  drifts: Pick<Drifts, 'look'>,
  trials: Pick<Trials, 'running'>,
): (job: Job) => Promise<Outcome> {
  /**
   * Ends the wait for a configuration of an operation that has ended without an answer of the
   * machine, if the machine has the saved patches and has never got it.
   */
  const forgetUnsent = async (
    clusterId: string,
    nodeId: string,
    { configs, found }: Judged,
  ): Promise<void> => {
    const { held, newest } = configs
    if (newest.held_at !== null) return
    const [hasNewest, hasHeld] = await read(sentBy(nodeId), 'same', found.stored, [
      newest.yaml,
      held.yaml,
    ])
    if (hasNewest || !hasHeld || !(await isOfLayers(clusterId, nodeId, held.yaml))) return
    await inTransaction(db, async (tx) => {
      if (!(await kept.isCurrent(tx, clusterId, nodeId, configs))) return
      const { cluster_id, operation_id } = await servers.locked(tx, nodeId)
      if (cluster_id === clusterId && operation_id === null)
        await kept.keep(tx, clusterId, nodeId, held.yaml)
    })
  }

  const lookAt = async (job: Job, clusterId: string, nodeId: string): Promise<Answer> => {
    try {
      const [server] = await servers.forPlan(db, [nodeId])
      const keys = await clusters.talosCredentials(clusterId, adminCredentials)
      // During an operation the changes are Steelyard's own, so the machine isn't checked.
      if (!keys || !server?.cluster || server.status !== 'ready' || server.operation_id !== null)
        return 'silent'
      // Whoever began the trial may have given it up, such as an operation that was ended by force.
      if (await trials.running(nodeId)) {
        await inTransaction(db, (tx) => engine.wake(tx, configuringQueue, nodeId))
        return 'silent'
      }
      const connection = await servers.connection(nodeId)
      const judged = await connection.secure(keys, (client) => drifts.look(client, server), {
        signal: job.signal,
        deadlineMs,
        lane: 'contact',
      })
      if (judged) await forgetUnsent(clusterId, nodeId, judged)
      return judged?.hasOtherKubernetes ? 'other-kubernetes' : 'told'
    } catch (error) {
      if (job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
        throw error
      return error instanceof TalosError && error.kind === 'certificate' ? 'strange' : 'silent'
    }
  }

  return async (job) => {
    const clusterId = job.key
    const members = await clusters.joined(clusterId)
    if (members.length === 0) return undefined
    const answers: { answer: Answer; controlPlane: boolean }[] = []
    const waiting = [...members]
    const one = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift())
        answers.push({
          answer: await lookAt(job, clusterId, next.node_id),
          controlPlane: next.controlPlane,
        })
    }
    await Promise.all(Array.from({ length: atOnce }, one))
    // A single strange machine may belong to somebody else. If all answering control planes are
    // strange, the authority has changed.
    const heard = answers.filter((a) => a.controlPlane && a.answer !== 'silent')
    const all = (answer: Answer) => heard.every((a) => a.answer === answer)
    if (heard.length > 0)
      await clusters.noteLockedOut(
        clusterId,
        all('strange') ? 'talos_ca' : all('other-kubernetes') ? 'kubernetes_ca' : null,
      )
    await clusters.noteVersions(clusterId)
    return { againMs: everyMs }
  }
}

/** Changes of a server's layers: checked first, then saved together with the new generation. */
import { Problem } from '#contract/errors.ts'
import { problemSentence } from '#contract/patches.ts'
import type { Reach } from '#contract/network/sent-change.ts'
import { type LossConsent, undoAfter, undoRule } from '#contract/servers/losses.ts'
import { inTransaction, type Tx } from '../../../db/db.ts'
import { heldSentence, holdOf } from '../../../engine/holds.ts'
import type { Caller } from '../../../http/caller.ts'
import { configuringQueue, type Layering, type Sending } from '../api.ts'
import { knownOf, layersOf } from '../composing/render.ts'
import type { EffectsOfChanges } from '../effects/effects.ts'
import type { Drifts } from '../drift/drift.ts'
import { type ConfigurationParts, type Core, demandIdle } from '../parts.ts'
import type { Verdict } from './previewing.ts'
import type { Restarts } from './restarts.ts'
import { untriableSentence } from '../trials/judge.ts'
import { demandNoLoss } from '../../../http/errors.ts'

/**
 * The machine says that it restarts, which the table didn't know: nobody gets a way back promised.
 * @throws Problem loss_not_confirmed
 */
function demandForGood(name: string, consent: number | null | undefined): void {
  if (consent === null) return
  throw new Problem('loss_not_confirmed', untriableSentence(name), {
    confirmed_loss: name,
    undo_after_seconds: undoRule,
  })
}

export function changing(
  { db, engine, read, servers, layers, clusters }: ConfigurationParts,
  {
    kept,
    factsOf,
    baseOf,
    hold,
    renderAgain,
  }: Pick<Core, 'kept' | 'factsOf' | 'baseOf' | 'hold' | 'renderAgain'>,
  {
    verdict,
    whyNotRestart,
    drift,
    effectOfChange,
    lossOf,
    reachOfSaved,
  }: Pick<EffectsOfChanges, 'effectOfChange' | 'lossOf' | 'reachOfSaved'> & {
    readonly verdict: Verdict
    readonly whyNotRestart: Restarts['whyNot']
    readonly drift: Pick<Drifts, 'demandNone' | 'demandWell'>
  },
): Pick<Sending, 'change' | 'lockUnheld'> {
  /**
   * The merged configuration must be valid and usable and, on a server in a cluster, pass a dry run.
   */
  const demandAccepted = async (
    caller: Caller,
    nodeId: string,
    { stored, more, confirmedLoss }: Layering & { readonly confirmedLoss: readonly LossConsent[] },
  ): Promise<{ readonly consent: number | null | undefined }> => {
    const server = await factsOf(db, nodeId)
    const { yaml: base, context, isReal } = await baseOf(server)
    const before = await layers.ofServer(db, nodeId)
    const own =
      more[0]?.name ??
      stored.find((layer) => before.find(({ id }) => id === layer.id)?.body !== layer.body)?.name
    const held = await hold({ caller }, db, server, {
      base,
      context,
      layers: layersOf(server, context, stored, more),
      before: { layers: layersOf(server, context, before) },
      own: own ?? '',
    })
    const { yaml } = held
    const refused = held.refused.map(problemSentence)
    if (refused[0] !== undefined)
      throw new Problem('invalid', refused[0], { body: refused.slice(0, 20).join('\n') })
    const reach = await demandReached()
    const consent = reach === null ? undefined : undoAfter(server.name, confirmedLoss)
    if (!server.cluster) return { consent }
    if (await holdOf(db, nodeId)) throw new Problem('operation_running', heldSentence(server.name))
    demandIdle(server)
    const { kind, reason } = await verdict(server, yaml, { isReal, mayAsk: true })
    if (kind === 'not_allowed')
      throw new Problem('invalid', `Talos refuses it: ${reason}`, { body: reason })
    if (kind === 'unknown') throw new Problem('server_unreachable', reason)
    if (kind === 'reboot' && reach?.tried === true) demandForGood(server.name, consent)
    await drift.demandNone(server)
    await drift.demandWell(server)
    const why = kind === 'reboot' ? await whyNotRestart(server) : null
    if (why !== null) throw new Problem('cluster_not_ready', why)
    return { consent }

    /** If the server will be lost, which is confirmed then: whether a trial reaches the change. */
    async function demandReached(): Promise<Reach | null> {
      const effect = await effectOfChange({ caller }, server, {
        async without() {
          const present = layersOf(server, context, before)
          const now = await read({ caller }, 'compose', base, present, knownOf(context))
          return now.errors.length === 0 ? now.yaml : null
        },
        after: yaml,
      })
      if (effect.kind !== 'loses') return null
      const reach = await reachOfSaved(server, yaml)
      demandNoLoss(lossOf(server, effect, reach), confirmedLoss)
      return reach
    }
  }

  const locked = async (tx: Tx, caller: Caller, nodeId: string) => {
    const row = await servers.locked(tx, nodeId)
    if (row.cluster_id !== null) await clusters.demandUnheld(tx, caller, row.cluster_id)
    return row
  }

  return {
    lockUnheld: async (tx, caller, nodeId) => (await locked(tx, caller, nodeId)).cluster_id,
    async change(caller, nodeId, after, save) {
      const { cluster } = await factsOf(db, nodeId)
      if (cluster) await clusters.demandUnheld(db, caller, cluster.id)
      const { consent } = await demandAccepted(caller, nodeId, after)
      return inTransaction(db, async (tx) => {
        const row = await locked(tx, caller, nodeId)
        const { cluster_id } = row
        if (cluster_id !== null) demandIdle(row)
        const saved = await save(tx)
        if (cluster_id !== null && (await renderAgain(tx, cluster_id, nodeId))) {
          if (consent !== undefined) await kept.noteConsent(tx, cluster_id, nodeId, consent)
          await engine.wake(tx, configuringQueue, nodeId)
        }
        return saved
      })
    },
  }
}

/** Sends a server its newest generation for an operation on its cluster. */
import { stageSaid } from '#contract/servers/server.ts'
import { Problem } from '#contract/errors.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { type Found, readFound } from '#talos/client/found.ts'
import { readStage } from '#talos/client/inventory.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Job } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { sentBy } from '../../../reading/asker.ts'
import { apply, dryRun as askDry } from '../../../talos-fleet/apply.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { configuringQueue, type Delivery, type Sending } from '../api.ts'
import type { Drifts } from '../drift/drift.ts'
import type { EffectsOfChanges } from '../effects/effects.ts'
import { adminCredentials, type ConfigurationParts, type Core } from '../parts.ts'
import { againMs, isFollowedByOperation, patchesAttempt } from '../trials/judge.ts'
import type { Trials } from '../trials/trials.ts'
import type { Restarts } from './restarts.ts'

const callDeadlineMs = 60_000

export function sending(
  { db, engine, record, read, servers, clusters }: ConfigurationParts,
  { kept, factsOf }: Pick<Core, 'kept' | 'factsOf'>,
  drift: Pick<Drifts, 'look' | 'judge'>,
  { movedBy }: Pick<EffectsOfChanges, 'movedBy'>,
  trials: Trials,
  restarts: Restarts,
): Pick<Sending, 'applyNewest' | 'tryNewest' | 'deliver' | 'whyUndone' | 'whyNotRunning'> {
  const secure = async <T>(
    server: ServerFacts,
    act: (client: TalosClient) => Promise<T>,
    signal: AbortSignal,
    deadlineMs?: number,
  ): Promise<T> => {
    const keys = await clusters.talosCredentials(server.cluster!.id, adminCredentials)
    if (!keys)
      throw new Problem('server_not_in_cluster', `The cluster of ${server.name} has no credentials`)
    return (await servers.connection(server.id)).secure(keys, act, { signal, deadlineMs })
  }

  /**
   * Whether the machine runs the configuration, is restarting into it, or runs another one. Images
   * are compared as well, although they are no drift.
   */
  const placeOf = async (
    server: ServerFacts,
    yaml: string,
    found: Found,
  ): Promise<'held' | 'restarting' | 'other'> => {
    const equals = async (text: string): Promise<boolean> => {
      if (text === yaml) return true
      const { same, images } = await read(
        sentBy(server.id),
        'difference',
        yaml,
        text,
        talosOf(server),
      )
      return same && images === null
    }
    if (!(await equals(found.stored))) return 'other'
    return (await equals(found.active)) ? 'held' : 'restarting'
  }

  /** Records drift. Changed images are adopted, so a retry keeps them. */
  const changedByOthers = async (client: TalosClient, server: ServerFacts, isImages: boolean) => {
    await drift.look(client, server)
    const what = isImages ? 'Images' : 'The configuration'
    const next = isImages
      ? 'were changed outside of Steelyard: retry'
      : 'was changed outside of Steelyard: keep or overwrite the changes, then retry'
    return { kind: 'changed' as const, reason: `${what} of ${server.name} ${next}` }
  }

  const talosOf = (server: ServerFacts): string => server.talos_version ?? 'v1.13.0'

  /** The server's trial. `waits`: why the operation waits for it, if another change began it. */
  const trialNow = async (server: ServerFacts) => {
    const trial = await trials.running(server.id)
    if (trial === null || isFollowedByOperation(trial, server)) return { trial, waits: null }
    // Nobody follows the trial of an operation that has ended, before this is woken.
    await inTransaction(db, (tx) => engine.wake(tx, configuringQueue, server.id))
    return { trial, waits: `${server.name} gets this change after another one, which is on trial` }
  }

  return {
    async applyNewest(client, { cluster_id, node_id }, { mode, dryRun, deadlineMs, justBefore }) {
      const newest = await kept.newest(db, cluster_id, node_id)
      if (!newest) throw new Error(`The server ${node_id} has no configuration`)
      await justBefore?.()
      const { generation, yaml } = newest
      if (dryRun) await askDry(client, yaml, { deadlineMs })
      else if (
        (await trials.alone(node_id, () => apply(client, yaml, { mode }, { deadlineMs }))) === null
      )
        throw new Problem('operation_running', 'The server gets another configuration just now')
      return { generation }
    },

    async tryNewest(
      nodeId: string,
      signal: AbortSignal,
    ): Promise<Delivery | { readonly kind: 'ready'; readonly reboots: boolean }> {
      const server = await factsOf(db, nodeId)
      // While its trial is confirmed, the machine stores what is not known to be held.
      const { waits } = await trialNow(server)
      if (waits !== null) return { kind: 'silent', reason: waits }
      try {
        return await secure(
          server,
          async (client) => {
            const judged = await drift.judge(client, server)
            if (!judged)
              return { kind: 'silent', reason: `${server.name} has no configuration of Steelyard` }
            const { yaml } = judged.configs.newest
            const place = await placeOf(server, yaml, judged.found)
            if (place !== 'other') return { kind: place }
            if (!judged.same || judged.images !== null)
              return changedByOthers(client, server, judged.same)
            const reboots = await restarts.isNeeded(client, server, judged.found.active, yaml)
            return { kind: 'ready', reboots }
          },
          signal,
        )
      } catch (error) {
        return undelivered(server, error, signal)
      }
    },

    async deliver(
      job: Job,
      nodeId: string,
      { mayReboot, attempt, consent, mends, also }: Parameters<Sending['deliver']>[2],
    ): Promise<Delivery> {
      const before = await factsOf(db, nodeId)
      const { trial, waits } = await trialNow(before)
      if (waits !== null) return { kind: 'trying', reason: waits }
      if (trial) {
        const followed = await trials.advance(job, before, trial)
        if (followed.kind === 'trying')
          return { kind: 'trying', reason: followed.reason, againMs: againMs(trial, job.now()) }
      }
      const server = await factsOf(db, nodeId)
      const clusterId = server.cluster!.id
      const hold = (generation: number, after: object | null, moved: string | null = null) =>
        job.fence.write(async (tx) => {
          await kept.noteHeld(tx, clusterId, nodeId, generation)
          if (moved !== null) await servers.noteMoved(tx, nodeId, moved)
          await servers.noteDrift(tx, nodeId, null)
          await trials.clear(tx, nodeId)
          await also?.(tx)
          if (after !== null)
            await record(tx, system, {
              action: 'server.configured',
              target: { kind: 'server', id: nodeId, name: server.name },
              after,
            })
        })
      try {
        return await secure(
          server,
          async (client): Promise<Delivery> => {
            const judged = await drift.judge(client, server)
            if (!judged)
              return { kind: 'silent', reason: `${server.name} has no configuration of Steelyard` }
            const { yaml, generation } = judged.configs.newest
            const undone = await trials.wasUndone(nodeId, attempt, yaml)
            if (undone) return { kind: 'undone', reason: undone.reason! }
            const place = await placeOf(server, yaml, judged.found)
            const touching = <T>(send: () => Promise<T>, isRestart: boolean) =>
              clusters.touching(clusterId, nodeId, send, {
                signal: job.signal,
                ...(isRestart && { restarts: () => true }),
                ...(mends && { mends }),
              })
            if (place !== 'other') {
              // The machine also has it after an earlier attempt whose answer was lost. Noted before
              // the restart may have to wait: nobody takes back what is known to be there.
              await hold(generation, null)
              if (!(await restarts.isDue(server, client))) return { kind: place }
              if (!mayReboot) return mustRestart(server)
              // The others may have fallen ill since the configuration was sent.
              const restarted = await touching(() => restarts.order(job, server, client), true)
              return 'forbidden' in restarted
                ? { kind: 'due', reason: restarted.forbidden }
                : { kind: 'restarting' }
            }
            if (!judged.same || judged.images !== null)
              return changedByOthers(client, server, judged.same)
            const needsRestart = await restarts.needs(server, judged.found.active, yaml)
            if (needsRestart && !mayReboot) return mustRestart(server)
            if (needsRestart) await restarts.note(job, server, client, generation)
            const moved = await movedBy(server, judged.configs.held.yaml, yaml)
            const given = {
              yaml,
              generation,
              former: judged.found.stored,
              address: moved ?? server.address,
              attempt,
              consent,
            }
            const waiting = await trials.whyNot(job, server, given)
            if (waiting !== null) return { kind: 'trying', reason: waiting.reason }
            const send = () =>
              trials.give(job, server, client, given, async () => {
                const { mode, warnings } = await job.effect(`configure/${nodeId}`, () =>
                  apply(
                    client,
                    yaml,
                    { mode: mayReboot ? 'auto' : 'no-reboot' },
                    { deadlineMs: callDeadlineMs },
                  ),
                )
                await hold(generation, { mode, warnings }, moved)
                // No other control plane may be changed in between.
                if (needsRestart) await restarts.order(job, server, client)
                return mode
              })
            const touched = await touching(send, needsRestart)
            if ('forbidden' in touched) return { kind: 'forbidden', reason: touched.forbidden }
            if (touched.sent === null)
              return { kind: 'forbidden', reason: `${server.name} gets another configuration` }
            if ('trial' in touched.sent) {
              const { trial: begun } = touched.sent
              return begun.kind === 'trying' || begun.kind === 'refused'
                ? begun
                : { kind: 'trying', reason: `${server.name} gets its configuration` }
            }
            return { kind: 'sent', reboots: needsRestart || touched.sent.sent === 'reboot' }
          },
          job.signal,
          callDeadlineMs,
        )
      } catch (error) {
        return undelivered(server, error, job.signal)
      }
    },

    async whyUndone(clusterId, nodeId) {
      const newest = await kept.newest(db, clusterId, nodeId)
      const undone = newest && (await trials.wasUndone(nodeId, patchesAttempt, newest.yaml))
      return undone ? undone.reason : null
    },

    async whyNotRunning(nodeId: string, signal: AbortSignal): Promise<string | null> {
      const server = await factsOf(db, nodeId)
      const configs = await kept.all(db, server.cluster!.id, nodeId)
      try {
        return await secure(
          server,
          async (client) => {
            const [found, { stage }] = [await readFound(client), await readStage(client)]
            const place = await placeOf(server, configs!.newest.yaml, found)
            if (place === 'other')
              return `${server.name} does not have the configuration that was sent`
            if (place === 'restarting' || (await restarts.isDue(server, client)))
              return `${server.name} restarts to apply its configuration`
            return stage === 'running' ? null : `${server.name} is ${stageSaid(stage)}`
          },
          signal,
        )
      } catch (error) {
        return undelivered(server, error, signal).reason
      }
    },
  }
}

const mustRestart = ({ name }: ServerFacts) => ({
  kind: 'needs_reboot' as const,
  reason: `${name} must restart to apply its configuration, which the plan did not say: make a new plan`,
})

/** The result for an error of the machine. Throws other errors again. */
function undelivered(
  server: ServerFacts,
  error: unknown,
  signal: AbortSignal,
): { kind: 'refused' | 'needs_reboot' | 'silent'; reason: string } {
  if (signal.aborted || !(error instanceof TalosError || error instanceof Problem)) throw error
  if (!(error instanceof TalosError) || error.kind !== 'invalid_argument')
    return {
      kind: 'silent',
      reason: `${server.name} does not answer: ${server.silence ?? error.message}`,
    }
  // Talos `v1alpha1_server.go`, CanApplyImmediate.
  if (error.message.includes('in immediate mode')) return mustRestart(server)
  return { kind: 'refused', reason: `${server.name} refuses the configuration: ${error.message}` }
}

/**
 * Applies the newest rendered configuration to a server of a cluster. Safe to repeat, because Talos
 * ignores identical bytes. A configuration that Talos refuses is not sent again.
 */
import { createHash } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import type { MachineImages } from '#talos/facts/images.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readFound } from '#talos/client/found.ts'
import { inTransaction, type Tx } from '../../../db/db.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import { ours } from '../../../reading/asker.ts'
import { apply } from '../../../talos-fleet/apply.ts'
import type { Drifts } from '../drift/drift.ts'
import type { EffectsOfChanges } from '../effects/effects.ts'
import { adminCredentials, type ConfigurationParts, type Core } from '../parts.ts'
import { againMs, isFollowedByOperation, patchesAttempt } from '../trials/judge.ts'
import type { Trials } from '../trials/trials.ts'
import type { Restarts } from './restarts.ts'

const applyDeadlineMs = 60_000
/** Pause before what another server forbids is tried again, in ms. */
const forbiddenMs = 1_000
/** Pause before a restart is judged again that a dead member of etcd forbids, in ms. */
const deadMemberMs = 15_000
/** Pause between two looks at a server whose change is on trial, in ms. */
const lookMs = 500
/** Pause between two looks at whether the operation of a server has ended, in ms. */
const operationMs = 60_000

/**
 * Others have changed the machine's configuration, and no user has decided yet which version to
 * keep.
 */
class ChangedByOthers extends Error {
  override readonly name = 'ChangedByOthers'
  /** Digest of the configuration that a user had chosen to overwrite, or null. */
  readonly overwrite: string | null

  constructor(overwrite: string | null) {
    super('The configuration of the machine was changed by others')
    this.overwrite = overwrite
  }
}

/**
 * Others have set images in the machine's configuration that the rendered configuration doesn't
 * name.
 */
class OtherImages extends Error {
  override readonly name = 'OtherImages'
}

export function configuring(
  { db, record, servers, clusters, read }: ConfigurationParts,
  {
    kept,
    renderAgain,
    prepare,
    isOfLayers,
  }: Pick<Core, 'kept' | 'renderAgain' | 'prepare' | 'isOfLayers'>,
  drifts: Pick<Drifts, 'look'>,
  { movedBy }: Pick<EffectsOfChanges, 'movedBy'>,
  trials: Trials,
  restarts: Restarts,
): (job: Job) => Promise<Outcome> {
  /**
   * Makes the configuration with the saved patches the wanted one, after an operation that has ended
   * without saving its own. Does nothing while another operation holds the server.
   */
  const takeBack = (job: Job, nodeId: string, clusterId: string): Promise<void> =>
    job.fence.write(async (tx) => {
      const { cluster_id, operation_id } = await servers.locked(tx, nodeId)
      if (cluster_id === clusterId && operation_id === null) await prepare(tx, clusterId, nodeId)
    })

  return async (job) => {
    const [server] = await servers.forPlan(db, [job.key]).catch((error: unknown) => {
      // The server was removed meanwhile.
      if (error instanceof Problem && error.code === 'not_found') return []
      throw error
    })
    const cluster = server?.cluster
    if (!cluster) return undefined
    const trial = await trials.running(server.id)
    if (trial) {
      if (isFollowedByOperation(trial, server)) return { againMs: operationMs }
      const isSaved = trial.attempt === patchesAttempt
      const { kind } = await (isSaved ? trials.advance : trials.giveUp)(job, server, trial)
      if (kind === 'trying') return { againMs: againMs(trial, job.now()) }
      if (!isSaved) await takeBack(job, server.id, cluster.id)
      // Another configuration may have been saved meanwhile.
      const newest = await kept.state(db, cluster.id, server.id)
      return newest?.held_at ? undefined : { againMs: 0 }
    }
    const configs = await kept.all(db, cluster.id, server.id)
    const keys = await clusters.talosCredentials(cluster.id, adminCredentials)
    if (configs === null || !keys) return undefined
    const { yaml, generation, held_at } = configs.newest
    if (await trials.wasUndone(server.id, patchesAttempt, yaml)) return undefined
    // What an operation has prepared, only the operation sends, with its own attempt and drain.
    if (held_at === null && !(await isOfLayers(cluster.id, server.id, yaml))) {
      if (server.operation_id !== null) return { againMs: operationMs }
      await takeBack(job, server.id, cluster.id)
      return { againMs: 0 }
    }
    const tell = (
      result: 'ok' | 'invalid' | 'config_drifted',
      after: object,
      also?: (tx: Tx) => Promise<void>,
    ) =>
      inTransaction(db, async (tx) => {
        await also?.(tx)
        await record(tx, system, {
          action: 'server.configured',
          target: { kind: 'server', id: server.id, name: server.name },
          result,
          after,
        })
      })
    const consent = server.status === 'ready' ? await kept.consent(db, cluster.id, server.id) : null
    // Asked before the other control planes are, and before it is noted that the change is sent.
    const waits = await trials.whyNot(job, server, { yaml, former: configs.held.yaml, consent })
    if (waits !== null) {
      await job.fence.write((tx) => servers.notePending(tx, server.id, waits))
      return { againMs: forbiddenMs }
    }
    const hash = createHash('sha256').update(yaml).digest('hex')
    const connection = await servers.connection(server.id)
    const moved = await movedBy(server, configs.held.yaml, yaml)
    try {
      const send = () =>
        connection.secure(
          keys,
          async (client) => {
            // Checked on the same connection right before sending, because somebody may be using
            // talosctl.
            const judged = server.status === 'ready' ? await drifts.look(client, server) : null
            if (judged && !judged.same && judged.configs.overwrite !== judged.found.seen)
              throw new ChangedByOthers(judged.configs.overwrite)
            if (judged?.images && isMissing(await read(ours, 'images', yaml), judged.images))
              throw new OtherImages()
            const former = judged?.found.stored ?? configs.held.yaml
            if (await restarts.needs(server, former, yaml))
              await restarts.note(job, server, client, generation)
            const given = {
              yaml,
              generation,
              former,
              address: moved ?? server.address,
              attempt: patchesAttempt,
              consent,
            }
            return trials.give(job, server, client, given, () =>
              job.effect(`configure/${hash.slice(0, 16)}`, async () => {
                const applied = await apply(client, yaml, { mode: 'auto' })
                if (await restarts.isDue(server, client)) await client.reboot()
                return applied
              }),
            )
          },
          { signal: job.signal, deadlineMs: applyDeadlineMs },
        )
      const touched =
        server.status === 'ready'
          ? await clusters.touching(cluster.id, server.id, send, {
              signal: job.signal,
              restarts: () =>
                connection.secure(
                  keys,
                  async (client) =>
                    (await restarts.isDue(server, client)) ||
                    restarts.isNeeded(client, server, (await readFound(client)).stored, yaml),
                  { signal: job.signal, deadlineMs: applyDeadlineMs },
                ),
            })
          : { sent: await send() }
      // The other control planes are asked again, until all of them are well.
      if ('forbidden' in touched) {
        const { forbidden: reason, by, isBrief } = touched
        if (isBrief !== true)
          await job.fence.write((tx) =>
            servers.notePending(tx, server.id, { reason, waits_for: [...by] }),
          )
        return { againMs: by.length > 0 || isBrief ? forbiddenMs : deadMemberMs }
      }
      if (touched.sent === null) return { againMs: forbiddenMs }
      if ('trial' in touched.sent) {
        const { trial: begun } = touched.sent
        if (begun.kind === 'refused') await tell('invalid', { hash, reason: begun.reason })
        return begun.kind === 'refused' ? undefined : { againMs: lookMs }
      }
      const { mode, warnings } = touched.sent.sent
      await tell('ok', { hash, mode, warnings }, async (tx) => {
        await kept.noteHeld(tx, cluster.id, server.id, generation)
        await servers.noteDrift(tx, server.id, null)
        await trials.clear(tx, server.id)
        if (moved !== null) await servers.noteMoved(tx, server.id, moved)
      })
      return undefined
    } catch (error) {
      if (error instanceof OtherImages) {
        await job.fence.write(async (tx) => {
          // Whoever saves a patch stores a generation too, with the row of the server locked.
          const { cluster_id } = await servers.locked(tx, server.id)
          if (cluster_id === cluster.id) await renderAgain(tx, cluster.id, server.id)
        })
        return { againMs: 0 }
      }
      if (error instanceof ChangedByOthers) {
        const { overwrite } = error
        await tell('config_drifted', { hash }, async (tx) => {
          // A user may decide at this moment: that decision stays, and is carried out next.
          if (overwrite !== null)
            await clusters.allowOverwrite(tx, cluster.id, server.id, null, overwrite)
        })
        return undefined
      }
      if (!(error instanceof TalosError && error.kind === 'invalid_argument')) throw error
      await tell('invalid', { hash, reason: error.message }, (tx) =>
        servers.notePending(tx, server.id, null),
      )
      return undefined
    }
  }
}

/**
 * Whether the machine's configuration names images that a rendered configuration, which has `own`,
 * doesn't have.
 */
function isMissing(own: MachineImages, images: MachineImages): boolean {
  return (Object.keys(images) as (keyof MachineImages)[]).some(
    (name) => name !== 'install' && images[name] !== own[name],
  )
}

/**
 * Detects drift, which means that a machine no longer has the configuration that Steelyard sent,
 * and carries out the user's decision. Machines are checked before sending, on request, and every
 * few minutes (`sweep.ts`).
 */
import { isDeepStrictEqual } from 'node:util'
import { canConfigure, type Drift, driftSentence } from '#contract/servers/drift.ts'
import { Problem } from '#contract/errors.ts'
import { type LossConsent, undoAfter } from '#contract/servers/losses.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { type Found, readFound } from '#talos/client/found.ts'
import { inTransaction, type Tx } from '../../../db/db.ts'
import { type Caller, system } from '../../../http/caller.ts'
import { sentBy } from '../../../reading/asker.ts'
import { within } from '../../../reading/reader.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { configuringQueue, type KeptConfigs } from '../api.ts'
import type { EffectsOfChanges } from '../effects/effects.ts'
import { adminCredentials, type ConfigurationParts, type Core, demandIdle } from '../parts.ts'
import type { Difference } from './difference.ts'
import { demandNoLoss } from '../../../http/errors.ts'

export type Judged = Difference & { readonly found: Found; readonly configs: KeptConfigs }

export type Drifts = ReturnType<typeof drifts>

/** How often a machine is compared again because another configuration was sent meanwhile. */
const mostLooks = 3
const none: Drift = { state: 'none', reason: null, since: null, seen: null, diff: null, keep: null }

export function drifts(
  { db, record, engine, read, servers, layers, clusters }: ConfigurationParts,
  {
    kept,
    factsOf,
    refusedInsteadOf,
    renderAgain,
  }: Pick<Core, 'kept' | 'factsOf' | 'refusedInsteadOf' | 'renderAgain'>,
  {
    effectOfOverwrite,
    lossOf,
    reachOfChange,
  }: Pick<EffectsOfChanges, 'effectOfOverwrite' | 'lossOf' | 'reachOfChange'>,
) {
  const inCluster = (server: ServerFacts): { id: string; name: string } => {
    if (!server.cluster || server.status !== 'ready')
      throw new Problem(
        'server_not_in_cluster',
        `${server.name} runs in no cluster, so it has no configuration that others could change`,
      )
    return server.cluster
  }

  const differs = async (
    configs: KeptConfigs,
    found: Found,
    { id, talos_version }: ServerFacts,
  ): Promise<Difference> => {
    const from = sentBy(id)
    const talosVersion = talos_version ?? 'v1.13.0'
    const { held, newest } = configs
    // What the machine has stored counts: its active configuration differs from it during a trial,
    // and until a restart (Talos `machine_config.go`).
    const next = await read(from, 'difference', held.yaml, found.stored, talosVersion)
    if (next.same) return next
    // The newest configuration was sent, but the response was lost.
    if (newest.generation > held.generation) {
      const sent = await read(from, 'difference', newest.yaml, found.stored, talosVersion)
      if (sent.same) return sent
    }
    return next
  }

  /**
   * Returns false if another configuration was saved or sent during the comparison, so that it says
   * nothing.
   */
  const note = async (
    server: ServerFacts,
    { configs, images, same, found }: Judged,
  ): Promise<boolean> => {
    const cluster = server.cluster!
    const target = { kind: 'server', id: server.id, name: server.name }
    // `images` is null if others have changed the images back. If images were adopted before, the
    // current ones are adopted then too.
    const now =
      images ??
      (same && configs.images !== null
        ? await read(sentBy(server.id), 'images', found.stored)
        : null)
    const isNew = now !== null && !isDeepStrictEqual({ ...now }, { ...configs.images })
    const { drift } = await servers.get(server.id)
    // The usual case: nothing is new, so no row is locked.
    if (!isNew && (drift?.seen ?? null) === (same ? null : found.seen)) return true
    const isNoted = await inTransaction(db, async (tx) => {
      if (!(await kept.isCurrent(tx, cluster.id, server.id, configs))) return false
      if (isNew) {
        await clusters.noteImages(tx, cluster.id, server.id, now)
        await record(tx, system, {
          action: 'server.images_changed_outside',
          target,
          before: configs.images ?? {},
          after: now,
        })
      }
      const row = await servers.locked(tx, server.id)
      if (row.cluster_id !== cluster.id) return true
      if (!same && row.drift_seen !== found.seen)
        await record(tx, system, {
          action: 'server.config_changed_outside',
          target,
          after: { seen: found.seen },
        })
      await servers.noteDrift(tx, server.id, same ? null : found.seen)
      return true
    })
    if (isNoted && isNew) await clusters.noteVersions(cluster.id)
    return isNoted
  }

  const judge = async (client: TalosClient, server: ServerFacts): Promise<Judged | null> => {
    const cluster = inCluster(server)
    const configs = await kept.all(db, cluster.id, server.id)
    if (!configs) return null
    const found = await readFound(client)
    return { ...(await differs(configs, found, server)), found, configs }
  }

  const look = async (client: TalosClient, server: ServerFacts): Promise<Judged | null> => {
    for (let tries = 1; ; tries++) {
      const judged = await judge(client, server)
      if (!judged || (await note(server, judged)) || tries === mostLooks) return judged
    }
  }

  /** @throws Problem server_unreachable */
  const ask = async (server: ServerFacts): Promise<Judged | null> => {
    const cluster = inCluster(server)
    const keys = await clusters.talosCredentials(cluster.id, adminCredentials)
    if (!keys) return null
    try {
      const connection = await servers.connection(server.id)
      return await connection.secure(keys, (client) => look(client, server))
    } catch (error) {
      if (error instanceof TalosError)
        throw new Problem(
          'server_unreachable',
          `${server.name} did not return its configuration: ${error.message}`,
        )
      throw error
    }
  }

  const shown = async (
    nodeId: string,
    judged: Judged | null,
    overwriting: boolean,
  ): Promise<Drift> => {
    if (!judged || judged.same) return none
    const { drift } = await servers.get(nodeId)
    return {
      state: overwriting ? 'overwriting' : 'drifted',
      reason: driftSentence,
      since: drift?.since ?? null,
      seen: judged.found.seen,
      diff: judged.diff,
      keep: judged.keep,
    }
  }

  /**
   * Reads the machine's configuration again and compares it with the one that the user was shown.
   */
  const demandSeen = async (
    nodeId: string,
    seen: string,
  ): Promise<{ server: ServerFacts; judged: Judged }> => {
    const server = await factsOf(db, nodeId)
    demandIdle(server)
    const judged = await ask(server)
    if (!judged || judged.same)
      throw new Problem('stale', `The configuration of ${server.name} is already what it should be`)
    if (judged.found.seen !== seen)
      throw new Problem(
        'stale',
        `The configuration of ${server.name} has changed again since you looked: look at the difference again`,
      )
    return { server, judged }
  }

  /**
   * Locks the server's row and returns its cluster's id. @throws Problem operation_running; stale if
   * another configuration was sent since the comparison
   */
  const demandSameGeneration = async (
    tx: Tx,
    server: ServerFacts,
    judged: Judged,
  ): Promise<string> => {
    const row = await servers.locked(tx, server.id)
    demandIdle(row)
    const now = row.cluster_id === null ? null : await kept.all(tx, row.cluster_id, server.id)
    if (
      row.cluster_id === null ||
      row.cluster_id !== server.cluster?.id ||
      now?.held.generation !== judged.configs.held.generation
    )
      throw new Problem(
        'stale',
        `${server.name} has received another configuration in the meantime: look at the difference again`,
      )
    return row.cluster_id
  }

  /**
   * Throws if the server is a control plane and another one is not well. Called before saving a
   * change that would be sent to it. @throws Problem cluster_not_ready
   */
  const demandWell = async (server: ServerFacts): Promise<void> => {
    if (server.cluster === null || server.status !== 'ready') return
    const why = await clusters.whyNotRequest(server.cluster.id, server.id)
    if (why !== null)
      throw new Problem(
        'cluster_not_ready',
        `${server.name} can be changed when the other control planes are well. ${why}. A change of the patches of the cluster can mend it`,
      )
  }

  /**
   * Throws if what Steelyard would send can't work, and the machine's own configuration can. Changed
   * secrets can't be kept, so they are overwritten anyway. @throws Problem invalid
   */
  const demandUsable = async (
    { id, name, cluster }: ServerFacts,
    judged: Judged,
  ): Promise<void> => {
    if (judged.keep?.how === 'secrets') return
    const [first] = await refusedInsteadOf(cluster!.id, id, judged.found.stored)
    if (first !== undefined)
      throw new Problem(
        'invalid',
        `What Steelyard would send to ${name} can't work. ${first}. Keep the changes, then change the patch`,
      )
  }

  const keepAsPatch = async (
    tx: Tx,
    caller: Caller,
    nodeId: string,
    clusterId: string,
    { patch, found }: Judged,
    links: readonly string[],
  ): Promise<object> => {
    const name = await layers.keep(tx, caller, nodeId, patch!, links)
    await kept.keep(tx, clusterId, nodeId, found.stored)
    return { kept_as: 'patch', patch: name }
  }

  /**
   * Removes patches that the machine's configuration contains already, because they become part of
   * the base. A patch that was saved but never sent stays.
   */
  const keepAsBase = async (
    tx: Tx,
    caller: Caller,
    nodeId: string,
    clusterId: string,
    { configs, found }: Judged,
  ): Promise<object> => {
    const absorbed = await layers.absorb(tx, caller, nodeId, configs.held.created_at)
    await kept.adopt(tx, clusterId, nodeId, found.stored)
    return { kept_as: 'base', patches: absorbed }
  }

  return {
    /**
     * Compares the machine's configuration with the sent one, on a connection with admin
     * credentials, and records the result: changed images are adopted, and a difference is stored
     * with the server. Null if Steelyard has sent the machine no configuration.
     */
    look,

    /**
     * Like `look`, but records nothing: while Steelyard itself changes the images, the machine's
     * current ones are not adopted.
     */
    judge,

    /**
     * Queries the machine and returns its drift, or the last known drift if the machine doesn't
     * answer. @throws Problem not_found, server_not_in_cluster
     */
    async get(nodeId: string): Promise<Drift> {
      const server = await factsOf(db, nodeId)
      try {
        const judged = await ask(server)
        return await shown(
          nodeId,
          judged,
          judged !== null && judged.configs.overwrite === judged.found.seen,
        )
      } catch (error) {
        if (!(error instanceof Problem) || error.code === 'server_not_in_cluster') throw error
        const { drift } = await servers.get(nodeId)
        return {
          ...none,
          state: 'unknown',
          reason: error.message,
          since: drift?.since ?? null,
          seen: drift?.seen ?? null,
        }
      }
    },

    /**
     * @throws Problem stale if the configuration is no longer the one that the user was shown;
     * held_by_files, operation_running
     */
    async keep(caller: Caller, nodeId: string, seen: string): Promise<Drift> {
      const { cluster } = await factsOf(db, nodeId)
      if (cluster) await clusters.demandUnheld(db, caller, cluster.id)
      const { server, judged } = await demandSeen(nodeId, seen)
      if (judged.keep?.how === 'secrets') throw new Problem('conflict', judged.keep.reason)
      const links = judged.patch === null ? [] : await read({ caller }, 'links', judged.patch)
      await inTransaction(db, async (tx) => {
        const clusterId = await demandSameGeneration(tx, server, judged)
        await clusters.demandUnheld(tx, caller, clusterId)
        const how =
          judged.patch === null
            ? await keepAsBase(tx, caller, nodeId, clusterId, judged)
            : await keepAsPatch(tx, caller, nodeId, clusterId, judged, links)
        await clusters.allowOverwrite(tx, clusterId, nodeId, null)
        await servers.noteDrift(tx, nodeId, null)
        await record(tx, caller, {
          action: 'server.drift_kept',
          target: { kind: 'server', id: nodeId, name: server.name },
          after: how,
        })
        const rendered = await renderAgain(tx, clusterId, nodeId)
        if (!rendered) return
        // The machine already has the rendered configuration. If a patch was saved meanwhile, the
        // reconciler sends the new configuration.
        const { newest } = (await kept.all(tx, clusterId, nodeId))!
        const isHeld = (
          await within(read, tx)(
            sentBy(server.id),
            'difference',
            rendered.yaml,
            judged.found.stored,
            server.talos_version ?? 'v1.13.0',
          )
        ).same
        if (isHeld) await kept.noteHeld(tx, clusterId, nodeId, newest.generation)
        else await engine.wake(tx, configuringQueue, nodeId)
      })
      return none
    },

    /** @throws Problem stale like `keep`; invalid; loss_not_confirmed */
    async overwrite(
      caller: Caller,
      nodeId: string,
      seen: string,
      confirmedLoss: readonly LossConsent[] = [],
    ): Promise<Drift> {
      const { server, judged } = await demandSeen(nodeId, seen)
      await demandWell(server)
      const { found, configs } = judged
      await demandUsable(server, judged)
      const effect = await effectOfOverwrite(server, found.active, configs.newest.yaml)
      const isLost = effect.kind === 'loses'
      if (isLost) {
        const reach = await reachOfChange(server, found.stored, configs.newest.yaml)
        demandNoLoss(lossOf(server, effect, reach), confirmedLoss)
      }
      // Read before the commit: the server may be removed right after it.
      const answer = await shown(nodeId, judged, true)
      await inTransaction(db, async (tx) => {
        const clusterId = await demandSameGeneration(tx, server, judged)
        await clusters.allowOverwrite(tx, clusterId, nodeId, seen)
        await record(tx, caller, {
          action: 'server.drift_overwritten',
          target: { kind: 'server', id: nodeId, name: server.name },
          after: { seen },
        })
        // The images that others have set are kept and not overwritten.
        await renderAgain(tx, clusterId, nodeId)
        const consent = isLost ? undoAfter(server.name, confirmedLoss) : undefined
        if (consent !== undefined) await kept.noteConsent(tx, clusterId, nodeId, consent)
        await engine.wake(tx, configuringQueue, nodeId)
      })
      return answer
    },

    demandWell,

    /**
     * Throws if the machine has drifted. Called before saving a change that would be sent to it.
     * @throws Problem config_drifted, server_unreachable
     */
    async demandNone(server: ServerFacts): Promise<void> {
      const judged = await ask(server)
      if (!judged || judged.same) return
      const verdict = canConfigure({
        name: server.name,
        drift: { since: '', seen: judged.found.seen },
      })
      if (!verdict.ok) throw Problem.of('config_drifted', verdict)
    },
  }
}

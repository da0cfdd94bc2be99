/** Changes of patches: checked first, then saved together with the resulting configuration. */
import { isDeepStrictEqual } from 'node:util'
import { Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import { canChangePatch, type NewPatch, type Patch } from '#contract/patches.ts'
import { inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { heldSentence, holdOf } from '../../engine/holds.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import { type For, ours } from '../../reading/reader.ts'
import { demand } from '../../http/errors.ts'
import { existing, type Versions } from '../../http/tags.ts'
import { configuringQueue } from './configuring.ts'
import type { Drifts } from './drift/drift.ts'
import type { Previewing } from './previewing.ts'
import {
  audienceOf,
  isSystemLayer,
  noSuchPatch,
  type PatchCore,
  type PatchPlatform,
  present,
} from './reading.ts'
import { demandValid, layersOf, sentenceOf } from './render.ts'
import { audited, type PatchChange, type PatchRow } from './store.ts'

/** Somebody else has changed the patch between its checks and its saving. */
class Overtaken extends Problem {}
const mostTries = 10

/** Converts a violated unique name to a Problem; other errors are unchanged. */
const asNameTaken = (error: unknown): unknown => {
  const { taken } = nameSentences('Patch')
  return violatedConstraint(error) === 'patch_name'
    ? new Problem('name_taken', taken, { name: taken })
    : error
}

const demandWritable = (patchId: string): void =>
  demand(canChangePatch({ read_only: isSystemLayer(patchId) }), 'patch_read_only')

export function patchWriting(
  { db, clock, record, engine, servers, access }: PatchPlatform,
  { store, read, factsOf, baseOf }: PatchCore,
  { verdict, drift }: Pick<Previewing, 'verdict'> & { drift: Drifts },
) {
  const demandBody = async (who: For, body: string): Promise<void> => {
    const errors = await read(who, 'check', body)
    const [first] = errors
    if (first)
      throw new Problem('invalid', sentenceOf(first), {
        body: errors.slice(0, 20).map(sentenceOf).join('\n'),
      })
  }

  /**
   * Checks a change of patches: the merged configuration must be valid and, on a server in a
   * cluster, pass a dry run.
   */
  const rehearse = async (
    caller: Caller,
    nodeId: string,
    change: (stored: PatchRow[]) => PatchRow[],
    more: readonly NewPatch[] = [],
  ): Promise<void> => {
    const server = await factsOf(db, nodeId)
    const base = await baseOf(server)
    const layers = layersOf(server, base.context, change(await store.ofServer(db, nodeId)), more)
    const { yaml } = demandValid(
      server,
      await read({ caller }, 'compose', base.yaml, layers, base.context),
    )
    if (!server.cluster) return
    if (await holdOf(db, nodeId)) throw new Problem('operation_running', heldSentence(server.name))
    if (server.operation_id)
      throw new Problem('operation_running', `An operation on ${server.name} has not ended`)
    const { kind, reason } = await verdict(server, yaml, { isReal: base.isReal, mayAsk: true })
    if (kind === 'not_allowed')
      throw new Problem('invalid', `Talos refuses it: ${reason}`, { body: reason })
    if (kind === 'unknown') throw new Problem('server_unreachable', reason)
    await drift.demandNone(server)
  }

  /**
   * Called after a change of patches, in its transaction: records the number of patches, renders
   * the configuration again and wakes the reconciler.
   */
  const follow = async (
    tx: Tx,
    caller: Caller,
    nodeId: string,
    clusterId: string | null,
  ): Promise<void> => {
    await servers.patched(tx, caller, nodeId, await store.sums(tx, nodeId))
    if (clusterId && (await access.renderAgain(tx, clusterId, nodeId)))
      await engine.wake(tx, configuringQueue, nodeId)
  }

  const insert = async (
    tx: Tx,
    caller: Caller,
    nodeId: string,
    patch: NewPatch,
    links: readonly string[],
  ): Promise<PatchRow> => {
    const made = await store.insert(
      tx,
      nodeId,
      { ...patch, links, created_by_name: callerName(caller) },
      new Date(clock.now()),
    )
    await record(tx, caller, {
      action: 'patch.created',
      target: { kind: 'server', id: nodeId },
      after: audited(made),
      event: { version: made.version, object: { kind: 'patch', id: made.id } },
    })
    return made
  }

  const changeOne = <T>(change: (tx: Tx) => Promise<T>): Promise<T> =>
    inTransaction(db, change).catch((error: unknown) => {
      throw asNameTaken(error)
    })

  const updateOnce = async (
    caller: Caller,
    nodeId: string,
    patchId: string,
    asked: PatchChange,
    ifMatch: Versions,
  ): Promise<Patch> => {
    const known = existing(await store.one(db, nodeId, patchId), 'patch', ifMatch)
    const body =
      asked.body === undefined
        ? undefined
        : await read({ caller }, 'unmask', asked.body, known.body, audienceOf(caller))
    if (body !== undefined) await demandBody({ caller }, body)
    const change = { ...asked, body }
    const isMerged = change.weight !== undefined || body !== undefined
    const reorders =
      (change.weight !== undefined && change.weight !== known.weight) ||
      (body !== undefined && body !== known.body)
    const defined = Object.fromEntries(
      Object.entries(change).filter(([, value]) => value !== undefined),
    ) as Partial<NewPatch>
    if (reorders)
      await rehearse(caller, nodeId, (stored) =>
        stored.map((p) => (p.id === patchId ? { ...p, ...defined } : p)),
      )
    const links = body === undefined ? undefined : await read({ caller }, 'links', body)
    // Masked before the commit, because the reader may refuse, and a saved patch must not be
    // answered with a refusal.
    const shown = body ?? known.body
    const { text } = await read({ caller }, 'mask', shown, audienceOf(caller))
    /** Another request may have saved another body meanwhile. */
    const answer = async (row: PatchRow): Promise<Patch> =>
      present(
        row,
        row.body === shown ? text : (await read(ours, 'mask', row.body, audienceOf(caller))).text,
      )
    return changeOne(async (tx) => {
      const { cluster_id } = await servers.locked(tx, nodeId)
      const before = existing(await store.one(tx, nodeId, patchId), 'patch', ifMatch)
      // The saved patch must be the one that was checked.
      if (isMerged && before.version !== known.version)
        throw new Overtaken('stale', 'Other requests keep changing this object. Please try again.')
      if (
        Object.entries(defined).every(([key, value]) =>
          isDeepStrictEqual(value, before[key as keyof NewPatch]),
        )
      )
        return answer(before)
      const after = await store.update(
        tx,
        before,
        { ...change, ...(links && { links }) },
        new Date(clock.now()),
      )
      await record(tx, caller, {
        action: 'patch.updated',
        target: { kind: 'server', id: nodeId },
        before: audited(before),
        after: audited(after),
        event: { version: after.version, object: { kind: 'patch', id: patchId } },
      })
      if (reorders) await follow(tx, caller, nodeId, cluster_id)
      return answer(after)
    })
  }

  return {
    /** On a server in a cluster the patch is checked by a dry run, saved, and then applied. */
    async create(caller: Caller, nodeId: string, patch: NewPatch): Promise<Patch> {
      await demandBody({ caller }, patch.body)
      await rehearse(caller, nodeId, (stored) => stored, [patch])
      const links = await read({ caller }, 'links', patch.body)
      const { text } = await read({ caller }, 'mask', patch.body, audienceOf(caller))
      return changeOne(async (tx) => {
        const { cluster_id } = await servers.locked(tx, nodeId)
        const made = await insert(tx, caller, nodeId, patch, links)
        await follow(tx, caller, nodeId, cluster_id)
        return present(made, text)
      })
    },

    async update(
      caller: Caller,
      nodeId: string,
      patchId: string,
      asked: PatchChange,
      ifMatch?: Versions,
    ): Promise<Patch> {
      demandWritable(patchId)
      // Without If-Match the last write wins: if another user saves the patch during the checks,
      // these are repeated, and that user's change is overwritten.
      for (let tries = 1; ; tries++) {
        try {
          return await updateOnce(caller, nodeId, patchId, asked, ifMatch)
        } catch (error) {
          if (!(error instanceof Overtaken) || tries === mostTries) throw error
        }
      }
    },

    async remove(
      caller: Caller,
      nodeId: string,
      patchId: string,
      ifMatch?: Versions,
    ): Promise<void> {
      demandWritable(patchId)
      if (!(await store.one(db, nodeId, patchId))) throw noSuchPatch()
      await rehearse(caller, nodeId, (stored) => stored.filter((p) => p.id !== patchId))
      await changeOne(async (tx) => {
        const { cluster_id } = await servers.locked(tx, nodeId)
        const before = existing(await store.one(tx, nodeId, patchId), 'patch', ifMatch)
        await store.remove(tx, patchId)
        await record(tx, caller, {
          action: 'patch.removed',
          target: { kind: 'server', id: nodeId },
          before: audited(before),
          event: { version: before.version, object: { kind: 'patch', id: patchId } },
        })
        await follow(tx, caller, nodeId, cluster_id)
      })
    },

    /**
     * For the creation of a cluster: checks and stores a patch in the caller's transaction; nothing
     * is applied.
     * @throws Problem `invalid` with the line, `name_taken`
     */
    async createIn(tx: Tx, caller: Caller, nodeId: string, patch: NewPatch): Promise<void> {
      await demandBody(ours, patch.body)
      const links = await read(ours, 'links', patch.body)
      await insert(tx, caller, nodeId, patch, links).catch((error: unknown) => {
        throw asNameTaken(error)
      })
      await servers.patched(tx, caller, nodeId, await store.sums(tx, nodeId))
    },
  }
}

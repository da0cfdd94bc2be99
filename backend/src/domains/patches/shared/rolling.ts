/** Requests of roll-outs and of their undo. What each server gets is fixed with the request. */
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { hasEnded, type Operation, operationTable } from '#contract/operations.ts'
import {
  sharedPatchRefusals,
  type sharedPatchRollOut,
  type sharedPatchUndo,
} from '#contract/shared-patches/shared-patches.ts'
import { no, yes } from '#contract/rule.ts'
import type { LossConsent } from '#contract/servers/losses.ts'
import { type Db, inTransaction, type Tx } from '../../../db/db.ts'
import { appliedSetOf, type Caller, callerName } from '../../../http/caller.ts'
import { checkVersion, existing, type Versions } from '../../../http/tags.ts'
import type { NewStep } from '../../operations/api.ts'
import { demandFilled, type LinksByValues } from './filling.ts'
import type { SharedParts } from './parts.ts'
import { demandFew } from './previewing.ts'
import type { RolledServer, SharedPatchRow, SharedStore } from './store.ts'
import { layerOf } from '../sets.ts'
import { inRollOutOrder, type State, statesOf, type TargetServer } from './targets.ts'

/** Queue of shared patches; the key is the patch's id. */
export const sharedPatchQueue = 'shared-patch'
export const stepOf = (serverId: string): string => `roll-out/${serverId}`

/** @throws Problem operation_running while a roll-out of the patch runs */
export async function demandIdle(
  { operations }: Pick<SharedParts, 'operations'>,
  on: Db | Tx,
  { id, name }: Pick<SharedPatchRow, 'id' | 'name'>,
): Promise<void> {
  const [open] = await operations.open(on, 'shared_patch', id)
  if (open) throw new Problem('operation_running', sharedPatchRefusals.busy(name))
}

/**
 * Only the newest roll-out or undo of a patch can be retried: an earlier one would put back what
 * servers had before.
 */
export function guardRollOutRetries({
  operations,
  store,
}: Pick<SharedParts, 'operations' | 'store'>): void {
  operations.guardRetry(sharedPatchQueue, {
    async may(tx, { id, key }) {
      const patch = await store.lock(tx, key)
      if (!patch) return no('The shared patch was removed')
      return (await store.lastOperationOf(tx, key)) === id
        ? yes
        : no(
            `${patch.name} was rolled out or undone again since: roll it out for the servers that are behind`,
          )
    },
  })
}

type RollOut = Awaited<ReturnType<SharedStore['rollOuts']>>[number]

export function rolling(parts: SharedParts) {
  const { db, clock, store, servers, clusters, operations, filling } = parts

  /** @throws Problem held_by_files if other files hold a cluster of these servers */
  const demandUnheld = async (tx: Tx, caller: Caller, those: readonly TargetServer[]) => {
    for (const id of new Set(those.flatMap((one) => one.cluster_id ?? [])))
      (await clusters.find(tx, id))?.demandUnheld(caller)
  }

  /** @throws Problem transition_refused if a cluster would never be changed in its window */
  const demandWindows = async (tx: Tx, those: readonly TargetServer[]) => {
    const without: string[] = []
    for (const id of new Set(those.flatMap((one) => one.cluster_id ?? []))) {
      const cluster = await clusters.find(tx, id)
      if (cluster && !cluster.has_window) without.push(cluster.name)
    }
    if (without.length > 0)
      throw new Problem('transition_refused', sharedPatchRefusals.noWindow(without))
  }

  const begin = async (
    tx: Tx,
    caller: Caller,
    patch: SharedPatchRow,
    {
      kind,
      undoes,
      those,
      rolled,
      skipped = new Map(),
      arguments: args,
    }: {
      kind: 'sharedPatchRollOut' | 'sharedPatchUndo'
      undoes: string | null
      those: readonly TargetServer[]
      rolled: readonly (() => Promise<RolledServer>)[]
      skipped?: ReadonlyMap<string, string>
      arguments: { in_window: boolean; confirmed_loss: LossConsent[]; applied_set: string | null }
    },
  ): Promise<{ operation: Operation }> => {
    const at = new Date(clock.now())
    const title = operationTable[kind].steps['roll-out']
    const operation = await operations.create(tx, caller, {
      kind,
      target: { id: patch.id, name: patch.name },
      arguments: args,
      queue: sharedPatchQueue,
      steps: those.map(({ id, name }): NewStep => {
        const reason = skipped.get(id)
        return {
          key: stepOf(id),
          title: title({ name }),
          node_id: id,
          ...(reason !== undefined && {
            before: {
              status: 'skipped',
              attempt: 0,
              started_at: null,
              ended_at: at.toISOString(),
              reason,
            },
          }),
        }
      }),
      audit: { after: { servers: those.length - skipped.size } },
    })
    const { id: patch_id, revision, name, weight, body, targets } = patch
    await store.insertRollOut(tx, {
      patch_id,
      operation_id: operation.id,
      undoes,
      revision,
      created_by_name: callerName(caller),
      created_at: at,
      definition: { name, weight, body, targets },
      servers: rolled,
    })
    await parts.tell(tx, caller, {
      name: 'shared_patch.updated',
      object: { kind: 'shared_patch', id: patch_id },
    })
    return { operation }
  }

  /**
   * The servers that a roll-out changes, of those that are named if some are. @throws Problem
   * transition_refused, invalid
   */
  const concernedBy = async (
    on: Db | Tx,
    patch: SharedPatchRow,
    node_ids: readonly string[] | undefined,
  ): Promise<{ server: TargetServer; state: State }[]> => {
    const held = await store.held(on, { patch: patch.id })
    const states = await statesOf(patch, await store.servers(on), held)
    const chosen = node_ids && new Set(node_ids)
    const strange = node_ids?.find((one) => !states.some(({ server }) => server.id === one))
    if (strange !== undefined)
      throw new Problem(
        'transition_refused',
        `${patch.name} is not for the server ${strange}: change its targets first`,
      )
    const concerned = states.filter(
      ({ server, state }) => state !== 'current' && (chosen?.has(server.id) ?? true),
    )
    if (concerned.length === 0)
      throw new Problem(
        'transition_refused',
        states.length === 0
          ? sharedPatchRefusals.noServer(patch.name)
          : sharedPatchRefusals.allCurrent,
      )
    demandFew(concerned)
    return concerned
  }
  /** The patch, filled for each server that is behind. `links`: those of texts, once read. */
  const filledFor = async (
    on: Db | Tx,
    patch: SharedPatchRow,
    concerned: Awaited<ReturnType<typeof concernedBy>>,
    links: LinksByValues,
  ) => {
    const getting = concerned.flatMap(({ server, state }) => (state === 'behind' ? [server] : []))
    const facts = await servers.forPlan(
      on,
      getting.map((one) => one.id),
    )
    const byId = new Map(facts.map((one) => [one.id, one]))
    return filling.fillFor(patch, patch.revision, getting, byId, links)
  }

  return {
    /**
     * @throws Problem not_found, stale, invalid with the names of servers without a value,
     * operation_running, transition_refused if no server is behind, held_by_files
     */
    rollOut: async (
      caller: Caller,
      id: string,
      { node_ids, canary_id, in_window, confirmed_loss }: Input<typeof sharedPatchRollOut>['body'],
      ifMatch?: Versions,
    ): Promise<{ operation: Operation }> => {
      // To read what is filled in takes seconds for many servers, and other requests wait for the
      // row of the patch, each with a connection of the pool. So no transaction waits for it.
      const links: LinksByValues = new Map()
      const known = existing(await store.one(db, id), 'shared patch', ifMatch)
      await demandIdle(parts, db, known)
      for (const one of await filledFor(db, known, await concernedBy(db, known, node_ids), links))
        if ('values' in one) await one.readLinks()
      return inTransaction(db, async (tx) => {
        const patch = existing(await store.lock(tx, id), 'shared patch', ifMatch)
        await demandIdle(parts, tx, patch)
        // It may have changed since the check that this transaction relies on.
        checkVersion([known.version], patch.version)
        const concerned = await concernedBy(tx, patch, node_ids)
        const order = inRollOutOrder(concerned.map(({ server }) => server))
        const canary = order.find((one) => one.id === canary_id)
        if (canary_id !== undefined && !canary)
          throw new Problem(
            'transition_refused',
            'The canary is not one of the servers that would be changed',
          )
        const first = canary ?? order[0]!
        const inTurn = (one: TargetServer): number =>
          one === first ? 0 : one.cluster_id === first.cluster_id ? 1 : 2
        const those = order.toSorted((a, b) => inTurn(a) - inTurn(b))
        await demandUnheld(tx, caller, those)
        if (in_window) await demandWindows(tx, those)
        const filled = await filledFor(tx, patch, concerned, links)
        demandFilled(filled)
        const after = new Map(
          filled.flatMap((one) => ('layer' in one ? [[one.server.id, one.layer] as const] : [])),
        )
        return begin(tx, caller, patch, {
          kind: 'sharedPatchRollOut',
          undoes: null,
          those,
          rolled: those.map((one) => async () => ({
            server_id: one.id,
            before: await layerNow(store, tx, one.id, id),
            after: (await after.get(one.id)?.()) ?? null,
          })),
          arguments: {
            in_window,
            confirmed_loss: [...confirmed_loss],
            applied_set: appliedSetOf(caller),
          },
        })
      })
    },

    /** @throws Problem not_found, operation_running, transition_refused, held_by_files */
    undo: (
      caller: Caller,
      id: string,
      { in_window, confirmed_loss }: Input<typeof sharedPatchUndo>['body'],
    ): Promise<{ operation: Operation }> =>
      inTransaction(db, async (tx) => {
        const patch = existing(await store.lock(tx, id), 'shared patch')
        await demandIdle(parts, tx, patch)
        const [last, ...earlier] = await store.rollOuts(tx, id, 100)
        if (!last)
          throw new Problem('transition_refused', sharedPatchRefusals.neverRolledOut(patch.name))
        const undone = last.undone && (await lastUndo(tx, last.id))
        if (undone && hasEnded(undone) && undone.status === 'done')
          throw new Problem('transition_refused', sharedPatchRefusals.undone)
        const all = await store.servers(tx)
        const overtaken = await store.overtaken(tx, last.id)
        const those: TargetServer[] = []
        const skipped = new Map<string, string>()
        for (const { server_id, applied_at } of await store.rolled(tx, last.id)) {
          const server = all.find((one) => one.id === server_id)
          if (!server || applied_at === null) continue
          const [kept, now] = [
            (await store.rolledServer(tx, last.id, server_id))!,
            await layerNow(store, tx, server_id, id),
          ]
          // An earlier attempt of the undo has brought it back.
          if (undone && JSON.stringify(now) === JSON.stringify(kept.before)) continue
          those.push(server)
          if (
            overtaken.has(server_id) ||
            (now?.revision ?? null) !== (kept.after?.revision ?? null)
          )
            skipped.set(
              server_id,
              `${server.name} keeps what it has: somebody has changed this patch on it since the roll-out`,
            )
        }
        const touched = inRollOutOrder(those)
        await demandUnheld(tx, caller, touched)
        if (in_window) await demandWindows(tx, touched)
        if (those.length === skipped.size)
          throw new Problem(
            'transition_refused',
            skipped.size === 0
              ? 'The last roll-out changed no server'
              : [...skipped.values()].slice(0, 3).join('. '),
          )
        const begun = await begin(tx, caller, patch, {
          kind: 'sharedPatchUndo',
          undoes: last.id,
          those: touched,
          rolled: touched.map((one) => async () => ({
            server_id: one.id,
            before: await layerNow(store, tx, one.id, id),
            after: (await store.rolledServer(tx, last.id, one.id))!.before,
          })),
          skipped,
          arguments: {
            in_window,
            confirmed_loss: [...confirmed_loss],
            applied_set: appliedSetOf(caller),
          },
        })
        // The former patch is the wanted one again, unless somebody has saved another meanwhile.
        const former =
          patch.revision === last.revision ? await formerOf(tx, last, earlier) : undefined
        if (former) {
          const definition = await store.definitionOf(tx, former)
          await parts.restore(tx, caller, patch, definition, former.revision)
        }
        return begun
      }),
  }

  /** The newest roll-out of another revision that has changed a server and was not undone. */
  async function formerOf(
    tx: Tx,
    last: RollOut,
    earlier: readonly RollOut[],
  ): Promise<RollOut | undefined> {
    for (const one of earlier)
      if (
        !one.undone &&
        one.revision !== last.revision &&
        (await store.rolled(tx, one.id)).some(({ applied_at }) => applied_at !== null)
      )
        return one
    return undefined
  }

  async function lastUndo(tx: Tx, rollOutId: string): Promise<Operation | undefined> {
    const operationId = await store.lastUndoOf(tx, rollOutId)
    return operationId === undefined ? undefined : operations.read(tx, operationId)
  }
}

const layerNow = async (store: SharedStore, tx: Tx, serverId: string, patchId: string) => {
  const row = await store.layerOf(tx, serverId, patchId)
  return row ? layerOf(row) : null
}

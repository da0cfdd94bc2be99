/**
 * Operations: work that outlives a request. Other domains create, advance and end them in their own
 * transactions; users watch, cancel and retry.
 */
import * as z from 'zod/mini'
import type { Input } from '#contract/operation.ts'
import {
  type ArgumentsOf,
  type KindWithArguments,
  type Operation,
  operationCancel,
  operationGet,
  operationList,
  operationRetry,
  operationRetryDisks,
  operationTable,
} from '#contract/operations.ts'
import type { Page } from '#contract/page.ts'
import type { Scope } from '#contract/permissions.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Work } from '../../engine/engine.ts'
import type { SystemCaller, UserCaller } from '../../http/caller.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import type { Operations, Tried } from './api.ts'
import { maySee, type OperationParts, serialised, type View, viewing } from './present.ts'
import { delays } from './delays.ts'
import { removeOld, unknownOperation } from './removing.ts'
import { requests } from './requests.ts'
import { stoppedUpgrade } from './stopped.ts'
import * as judged from './store-judged.ts'
import * as store from './store.ts'
import { writing } from './writing.ts'

export function operations(parts: OperationParts): Operations & Domain {
  const view = viewing(parts)
  const writes = writing(parts, view)
  parts.engine.carriedBy({
    carried: view.carried,
    halted: (...args) => writes.halted(...args),
    resumed: (...args) => writes.resumed(...args),
    origin: (object) => store.originOf(parts.db, view.wholes(object)),
  })
  const reads = reading(parts, view)
  const asked = requests(parts, view)
  return {
    name: 'operations',
    routes(app) {
      const on = serve(app)
      on(operationList, async ({ caller, query }) =>
        serialised(await reads.list(signedIn(caller), query)),
      )
      on(operationGet, ({ caller, params }) => reads.get(signedIn(caller), params.id))
      on(operationCancel, ({ caller, params }) => asked.cancel(signedIn(caller), params.id))
      on(operationRetry, ({ caller, params, body }) =>
        asked.retry(signedIn(caller), params.id, body.confirmed_disks),
      )
      on(operationRetryDisks, ({ caller, params }) => asked.retryDisks(signedIn(caller), params.id))
    },
    ...reads,
    ...writes,
    ...asked,
    ...delays(parts.db),
    worksPerServer: view.worksPerServer,
    removeOld: async () => void (await removeOld(parts)),
  }
}

const reading = (
  { db, engine, config }: OperationParts,
  { shown, whole, plain, wholes }: View,
) => ({
  async list(
    caller: UserCaller,
    query: Input<typeof operationList>['query'],
  ): Promise<Page<Operation>> {
    const { rows, total } = await store.page(db, query, caller.scopes)
    return { items: await shown(db, rows), page: query.page, per_page: query.per_page, total }
  },

  /** @throws Problem not_found, also if the caller may not see the target */
  async get(caller: UserCaller, id: string): Promise<Operation> {
    const found = await store.get(db, id)
    if (!found || !maySee(caller, found.row)) throw unknownOperation({ config })
    return (await shown(db, [found]))[0]!
  },

  stoppedUpgrades: async (on: Db | Tx) =>
    (await judged.stoppedUpgrades(on)).flatMap(stoppedUpgrade),
  failedScheduled: judged.failedScheduled,
  async haltedOperations(on: Db | Tx) {
    const objects = await engine.halted(on)
    if (objects.length === 0) return []
    return (await store.openWith(on, objects.flatMap(wholes))).map((row) => ({
      operation_id: row.id,
      title: `${operationTable[row.kind].title} ${row.target_name}`,
    }))
  },
  touched: async (on: Db | Tx, endedSince: Date) =>
    (await judged.touched(on, endedSince)).map(({ server_id, since }) => ({
      server_id: server_id!,
      since,
    })),
  about: async (
    scopes: readonly Scope[],
    objects: readonly string[],
    from: Date,
    to: Date,
    limit: number,
  ): Promise<Tried[]> =>
    (await judged.about(db, scopes, objects, { from, to, limit })).map((row) => ({
      kind: row.kind,
      target: { kind: row.target_kind, id: row.target_id, name: row.target_name },
      status: row.status,
      reason: row.reason,
      created_by: row.created_by_name,
      created_at: row.created_at.toISOString(),
    })),
  /** For the overview: the newest running operations, or the latest failures. */
  recent: async (
    which: 'running' | 'failed',
    scopes: readonly Scope[],
    limit: number,
  ): Promise<Operation[]> => shown(db, await store.recent(db, which, scopes, limit)),

  /** Operations on hold after a restore. */
  held: async (on: Db | Tx): Promise<Operation[]> =>
    Promise.all((await store.heldOf(on)).map((row) => whole(on, row.id))),

  /** Open operations on an object. */
  open: store.openOf,

  /** For reconcilers: reads without a permission check. */
  async read(on: Db | Tx, id: string): Promise<Operation | undefined> {
    const found = await store.get(on, id)
    return found && plain(found)
  },

  /** For reconcilers: the open operation of a queue's object. */
  async carriedBy(
    on: Db | Tx,
    work: Work,
  ): Promise<{ operation: Operation; caller: SystemCaller; isCancelled: boolean } | undefined> {
    const found = await store.carriedBy(on, work)
    return (
      found && {
        operation: plain(found),
        caller: onBehalfOf(found.row),
        isCancelled: found.row.cancel_requested_at !== null,
      }
    )
  },

  /** All open operations of a queue's object, oldest first. For reconcilers. */
  async allCarriedBy(
    on: Db | Tx,
    work: Work,
  ): Promise<
    { operation: Operation; caller: SystemCaller; isCancelled: boolean; round: number }[]
  > {
    const found = await store.allCarriedBy(on, work)
    return found.map((one) => ({
      operation: plain(one),
      caller: onBehalfOf(one.row),
      isCancelled: one.row.cancel_requested_at !== null,
      round: one.row.round,
    }))
  },

  /**
   * Average duration in seconds of the steps of a cluster's earlier operations, by the prefix of
   * their keys.
   */
  durations: store.durations,

  /**
   * For reconcilers: the operation's arguments; default arguments if the operation is of another
   * kind.
   */
  async argumentsOf<K extends KindWithArguments>(
    on: Db | Tx,
    id: string,
    kind: K,
  ): Promise<ArgumentsOf<K>> {
    const row = await store.argumentsOf(on, id)
    return z.parse(
      operationTable[kind].arguments,
      row?.kind === kind ? row.arguments : {},
    ) as ArgumentsOf<K>
  },

  /** For reconcilers: adds what they have to know after a restart to the arguments. */
  async amend<K extends KindWithArguments>(
    tx: Tx,
    id: string,
    fields: Partial<ArgumentsOf<K>>,
  ): Promise<void> {
    await store.amend(tx, id, fields)
  },

  /**
   * For reconcilers: what users want the operation to do (cancel, retry). `round` counts from 1 and
   * increases with each retry by a user.
   */
  state: store.state,
})

const onBehalfOf = ({ created_by, created_by_name }: store.OperationRow): SystemCaller => ({
  kind: 'system',
  name: created_by_name,
  userId: created_by ?? undefined,
})

/**
 * The history: what happened to servers, clusters and datacenters. The stores write its entries in
 * the transactions of the changes (`history.ts`); this domain shows and prunes them.
 */
import { Problem } from '#contract/errors.ts'
import {
  type Beginning,
  type HistoryEntry,
  historyGet,
  historyKept,
  historyList,
} from '#contract/history/history.ts'
import type { HistoryKind } from '#contract/history/kind-names.ts'
import { type HistoryObject, historyObjects } from '#contract/history/kind-names.ts'
import { findingObjects } from '#contract/findings/kinds.ts'
import { knownSaid } from '#contract/history/known.ts'
import type { Answer, Input } from '#contract/operation.ts'
import { permits } from '#contract/permissions.ts'
import { inTransaction, tryLock } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { History } from './api.ts'
import { digestOf } from './digest.ts'
import { past } from './moment.ts'
import { fold, isRemoved, statesAfter } from './states.ts'
import * as store from './store.ts'
import { page, type Place } from './store-pages.ts'
import * as storePast from './store-simulated.ts'

type HistoryParts = Pick<Platform, 'db' | 'clock' | 'config'>

/** Number of entries that are removed in one transaction. */
const batch = 2_000
const dayMs = 24 * 3_600_000

const unknown = () => new Problem('not_found', 'There is no such entry')

const present = (row: store.HistoryRow): HistoryEntry => ({
  id: row.id,
  at: row.at.toISOString(),
  kind: row.kind as HistoryKind,
  object: { kind: row.object_kind, id: row.object_id, name: row.object_name },
  cluster: row.cluster_id === null ? null : { id: row.cluster_id, name: row.cluster_name ?? '' },
  message: row.message,
  by: { kind: row.actor_kind, name: row.actor_name },
  operation:
    row.operation_id === null
      ? null
      : { id: row.operation_id, kind: row.operation_kind, by: row.requested_by },
  before: row.before,
  after: row.after,
  has_log: row.has_log,
  simulated: row.simulated,
})

const visibleTo = (caller: UserCaller): HistoryObject[] =>
  historyObjects.filter((o) => permits(caller.scopes, findingObjects[o].read).ok)

/** The place after which a page begins, as `historyList` checks it. */
function placeOf(cursor: string | undefined): Place | null {
  if (cursor === undefined) return null
  const [ms, id] = cursor.split('-').map(Number)
  return { at: new Date(ms!), id: id! }
}

export function history({ db, clock, config }: HistoryParts): History & Domain {
  const { historyDays: days, historyEntries: mostEntries } = config

  /** Whether older entries were removed. */
  const isCutAt = ({ since, first, last }: store.Extent): boolean =>
    // Numbers may have gaps, also at the beginning.
    first !== null &&
    first > 1 &&
    (clock.now() - since.getTime() >= days * dayMs || last! > mostEntries)

  /** The first time of which all states are known. */
  const beginningOfStates = async (on: store.On): Promise<Date> => {
    const [kept, base] = [await store.beginning(on), await store.lastBase(on)]
    return new Date(
      Math.max(
        kept.since.getTime(),
        isCutAt(kept) ? (kept.oldest_at?.getTime() ?? 0) : 0,
        base?.getTime() ?? 0,
      ),
    )
  }

  /** @param id of the object whose timeline it is */
  const beginning = async (
    id: string | undefined,
    visible: readonly HistoryObject[],
  ): Promise<Beginning> => {
    const [kept, [base]] = await Promise.all([
      store.beginning(db),
      id === undefined ? [] : store.basesOf(db, [id]),
    ])
    const { since, oldest_at } = kept
    const isCut = isCutAt(kept)
    const oldest = oldest_at?.getTime() ?? Infinity
    return {
      at: new Date(isCut ? oldest : Math.min(oldest, since.getTime())).toISOString(),
      is_cut: isCut,
      known:
        base !== undefined && visible.includes(base.object_kind)
          ? knownSaid(base.object_kind, base.state)
          : null,
    }
  }

  const list = async (
    caller: UserCaller,
    query: Input<typeof historyList>['query'],
  ): Promise<Answer<typeof historyList>> => {
    const visible = visibleTo(caller)
    const { rows, readTo } = await inTransaction(db, (tx) =>
      page(tx, query, {
        after: placeOf(query.after),
        objects: visible.length === historyObjects.length ? null : visible,
        limit: query.per_page + 1,
      }),
    )
    const shown = rows.slice(0, query.per_page)
    const last = rows.length > shown.length ? shown.at(-1) : readTo
    return {
      items: shown.map(present),
      next: last ? `${last.at.getTime()}-${last.id}` : null,
      read_to: rows.length > shown.length ? null : (readTo?.at.toISOString() ?? null),
      now: new Date(clock.now()).toISOString(),
      beginning: await beginning(query.object ?? query.cluster, visible),
    }
  }

  const get = async (caller: UserCaller, id: number): Promise<Answer<typeof historyGet>> => {
    const row = await store.find(db, id)
    if (!row || !permits(caller.scopes, findingObjects[row.object_kind].read).ok) throw unknown()
    return { ...present(row), log: row.log?.split('\n') ?? null }
  }

  /** Removes one batch of the oldest entries. Their last states become the new base. */
  const pruneOnce = (): Promise<number> =>
    inTransaction(db, async (tx) => {
      // Another process removes the same entries.
      if (!(await tryLock(tx, 'steelyard history'))) return 0
      const old = new Date(clock.now() - days * dayMs)
      const { entries } = await store.kept(tx)
      const tooMany = Math.max(0, entries - mostEntries)
      const oldest = await store.oldest(tx, batch)
      const first = oldest.findIndex(({ at }, i) => i >= tooMany && at >= old)
      const steps = first === -1 ? oldest : oldest.slice(0, first)
      const last = steps.at(-1)
      if (last === undefined) return 0
      const ids = [...new Set(steps.map((s) => s.object_id))]
      const real = steps.filter((s) => !s.simulated)
      const states = [...fold(await store.basesOf(tx, ids), real).values()]
      const [gone, there] = [states.filter(isRemoved), states.filter((s) => !isRemoved(s))]
      await store.putBases(tx, there, last.at)
      await store.dropBases(
        tx,
        gone.map((s) => s.object_id),
      )
      await store.remove(tx, last.id)
      return steps.length
    })

  const prune = async (): Promise<number> => {
    let removed = 0
    for (;;) {
      const more = await pruneOnce()
      removed += more
      if (more < batch) return removed
    }
  }

  return {
    name: 'history',
    prune,
    digest: (caller, since, until = new Date(clock.now())) =>
      digestOf(db, visibleTo(caller), { since, until }),
    writeSimulated: (tx, entries) => storePast.insertSimulated(tx, entries),
    past: past({ db, clock }, beginningOfStates),
    at: async (tx, at) => statesAfter(await store.bases(tx), await store.upTo(tx, at)),
    routes(app) {
      const on = serve(app)
      on(historyList, ({ caller, query }) => list(signedIn(caller), query))
      on(historyGet, ({ caller, params }) => get(signedIn(caller), params.id))
      on(historyKept, async () => {
        const { entries, bytes, oldest_at } = await store.kept(db)
        return {
          entries,
          most_entries: mostEntries,
          bytes,
          days,
          oldest_at: oldest_at?.toISOString() ?? null,
        }
      })
    },
    removeOld: async () => void (await prune()),
  }
}

/** What the history knows of servers and clusters at a time of the past. */
import { Problem } from '#contract/errors.ts'
import type { ClusterState, HistoryValues, ServerState } from '#contract/history/kinds.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import type { Platform } from '../../platform.ts'
import { isRemoved, type Kept, valuesOf } from './states.ts'
import * as store from './store.ts'
import * as storeMoment from './store-moment.ts'

/** The entry that last set a field. */
interface Origin {
  readonly at: Date
  readonly by: string
  /** Why, if the entry says so. */
  readonly reason: string | null
}

/** An object as it was. */
export interface Known<S> {
  readonly id: string
  /** Without the fields of which nothing is known. */
  readonly state: Partial<S>
  /** Null: longer ago than the history goes back. */
  readonly origins: { readonly [K in keyof S]?: Origin }
  readonly addedAt: Date | null
  readonly isRemoved: boolean
}

export interface Past {
  /** @throws Problem bad_request for a time in the future, before_history */
  readonly demand: (at: Date) => Promise<void>
  /** All servers, also those that had been removed by then, without the parts of their hardware. */
  readonly servers: (at: Date) => Promise<readonly Known<ServerState>[]>
  readonly clusters: (at: Date) => Promise<readonly Known<ClusterState>[]>
  /** Undefined if there was none with this id. With the servers that belonged to it. */
  readonly cluster: (
    at: Date,
    id: string,
  ) => Promise<
    | {
        readonly cluster: Known<ClusterState>
        readonly servers: readonly Known<ServerState>[]
      }
    | undefined
  >
  /** Undefined if there was none with this id. */
  readonly server: (at: Date, id: string) => Promise<Known<ServerState> | undefined>
}

/** Number of objects that are read together. */
const portion = 250
/** Number of moments whose objects stay in memory: lists are sorted, filtered and paged there. */
const mostKept = 3
/** After this time no transaction that began before a moment is open any more. */
const settledMs = 600_000
const partsOfHardware: ReadonlySet<string> = new Set(['hardware', 'links_up'])
const nothing: ReadonlySet<string> = new Set()

/** What the entries say of each object; none of those of which they say nothing. */
function knownFrom(
  bases: readonly store.Base[],
  steps: readonly storeMoment.Trace[],
): Known<HistoryValues>[] {
  const found = new Map<
    string,
    { state: HistoryValues; origins: Record<string, Origin>; addedAt: Date | null }
  >()
  for (const { object_id, state } of bases)
    found.set(object_id, { state, origins: {}, addedAt: null })
  for (const step of steps) {
    const values = valuesOf(step)
    if (values === null) continue
    const known = found.get(step.object_id) ?? { state: {}, origins: {}, addedAt: null }
    const { reason } = step.after
    const origin = {
      at: step.at,
      by: step.actor_name,
      reason: typeof reason === 'string' ? reason : null,
    }
    found.set(step.object_id, {
      state: { ...known.state, ...values },
      origins: {
        ...known.origins,
        ...Object.fromEntries(Object.keys(values).map((field) => [field, origin])),
      },
      addedAt: step.kind.endsWith('_added') ? step.at : known.addedAt,
    })
  }
  return Array.from(found, ([id, known]) => ({ id, ...known, isRemoved: isRemoved(known) }))
}

async function readSome(
  tx: Tx,
  of: Kept,
  ids: readonly string[],
  which: { readonly at: Date; readonly leftOut: ReadonlySet<string> },
): Promise<Known<HistoryValues>[]> {
  const [bases, steps] = [
    await store.basesOf(tx, ids),
    await storeMoment.lastSteps(tx, of, ids, which),
  ]
  return knownFrom(
    bases.map((base) => ({
      ...base,
      state: Object.fromEntries(
        Object.entries(base.state).filter(([field]) => !which.leftOut.has(field)),
      ),
    })),
    steps,
  )
}

/** @param beginningOf when the history begins of which states can be computed */
export function past(
  { db, clock }: Pick<Platform, 'db' | 'clock'>,
  beginningOf: (on: store.On) => Promise<Date>,
): Past {
  /** @throws Problem bad_request, before_history */
  const demandKept = async (on: store.On, at: Date): Promise<void> => {
    if (at.getTime() > clock.now())
      throw new Problem('bad_request', `${at.toISOString()} is in the future`, {
        at: 'The time is in the future',
      })
    const begins = await beginningOf(on)
    if (at < begins) {
      const sentence = `The history begins at ${begins.toISOString()}: nothing is known of ${at.toISOString()}`
      throw new Problem('before_history', sentence, { at: sentence })
    }
  }

  const reading = <T>(at: Date, read: (tx: Tx) => Promise<T>): Promise<T> =>
    inTransaction(db, async (tx) => {
      await storeMoment.beginReading(tx)
      await demandKept(tx, at)
      return read(tx)
    })

  const readAll = (of: Kept, at: Date): Promise<readonly Known<HistoryValues>[]> =>
    reading(at, async (tx) => {
      const ids = await storeMoment.idsAt(tx, of, at)
      const all: Known<HistoryValues>[] = []
      for (let from = 0; from < ids.length; from += portion)
        all.push(
          ...(await readSome(tx, of, ids.slice(from, from + portion), {
            at,
            leftOut: partsOfHardware,
          })),
        )
      return all
    })

  const kept = new Map<string, Promise<readonly Known<HistoryValues>[]>>()
  const all = async (of: Kept, at: Date): Promise<readonly Known<HistoryValues>[]> => {
    if (at.getTime() > clock.now() - settledMs) return readAll(of, at)
    const key = `${of} ${at.getTime()}`
    const known = kept.get(key)
    if (known !== undefined) {
      // The history may have been pruned since.
      await demandKept(db, at)
      return known
    }
    for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - mostKept + 1)))
      kept.delete(oldest)
    const made = readAll(of, at)
    kept.set(key, made)
    made.catch(() => kept.delete(key))
    return made
  }

  return {
    demand: (at) => demandKept(db, at),
    servers: (at) => all('server', at),
    clusters: (at) => all('cluster', at),
    cluster: (at, id) =>
      reading(at, async (tx) => {
        const which = { at, leftOut: partsOfHardware }
        const [cluster] = await readSome(tx, 'cluster', [id], which)
        if (cluster === undefined) return undefined
        const ids = await storeMoment.everIn(tx, id, at)
        const servers = (await readSome(tx, 'server', ids, which)) as Known<ServerState>[]
        return {
          cluster,
          servers: servers.filter((one) => !one.isRemoved && one.state.cluster?.id === id),
        }
      }),
    server: (at, id) =>
      reading(at, async (tx) => {
        const [known] = await readSome(tx, 'server', [id], { at, leftOut: nothing })
        return known
      }),
  }
}

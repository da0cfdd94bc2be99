import type { EventKind } from '#contract/events.ts'

/** Ids of changed objects by kind; null: anything may have changed. */
export type Gathered = ReadonlyMap<EventKind, ReadonlySet<string>> | null

/** Changes within this time, in ms, are fetched together. */
const gatherMs = 120
/**
 * Each further change prolongs this time, so that a thousand servers that change after each other
 * aren't fetched many times. In ms.
 */
const perChangeMs = 10
/** The time is no longer than this, in ms. */
const mostGatherMs = 2_000
/**
 * `changed` without a kind counts as this many changes: the server has sent more than that, or
 * doesn't store them any more.
 */
const everything = 256
/** After this time, in ms, a fetch no longer delays the next one. */
const mostFetchMs = 3_000

/**
 * Gathers changes and passes them to `fetch` together. One change is fetched soon, many later.
 * While a fetch runs, and for as long again, changes wait, because the next fetch would cancel the
 * running one, and a page whose objects change all the time would never show a response.
 */
export function gathering(fetch: (changed: Gathered) => Promise<unknown>): {
  changed: (kind?: EventKind, id?: string) => void
  stop: () => void
} {
  let objects: Map<EventKind, Set<string>> | null = new Map()
  let count = 0
  let since = 0
  let isFetching = false
  let isStopped = false
  let timer = 0

  const flush = async () => {
    timer = 0
    const left =
      since + Math.min(mostGatherMs, gatherMs + perChangeMs * (count - 1)) - performance.now()
    if (left > 0) return wait(left)
    const now = objects
    objects = new Map()
    count = 0
    isFetching = true
    const begun = performance.now()
    const limit = Promise.withResolvers<void>()
    const timeout = setTimeout(limit.resolve, mostFetchMs)
    // A failed fetch is the query's own concern.
    await Promise.race([fetch(now).catch(() => undefined), limit.promise])
    clearTimeout(timeout)
    isFetching = false
    if (count > 0) wait(performance.now() - begun)
  }
  const wait = (ms: number) => {
    if (!isFetching && !isStopped && timer === 0) timer = window.setTimeout(() => void flush(), ms)
  }
  return {
    changed(kind, id = '*') {
      if (count === 0) since = performance.now()
      count += kind === undefined ? everything : 1
      if (kind === undefined) objects = null
      else objects?.set(kind, (objects.get(kind) ?? new Set()).add(id))
      wait(gatherMs)
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

import { useCallback, useMemo, useState } from 'react'

/** The selection after toggling `key` or, for a range, all rows from `last` to `key`. */
export function toggled(
  now: ReadonlySet<string>,
  key: string,
  last: string | null,
  range: readonly string[] | null,
): Set<string> {
  const next = new Set(now)
  const on = !now.has(key)
  const [a, b] =
    range === null || last === null ? [-1, -1] : [range.indexOf(last), range.indexOf(key)]
  const touched = a < 0 || b < 0 ? [key] : range!.slice(Math.min(a, b), Math.max(a, b) + 1)
  for (const k of touched) {
    if (on) next.add(k)
    else next.delete(k)
  }
  return next
}

/** Selected rows, by key. */
export function useSelection() {
  const [state, setState] = useState<{ keys: ReadonlySet<string>; last: string | null }>({
    keys: new Set(),
    last: null,
  })
  return useMemo(
    () => ({
      keys: state.keys,
      size: state.keys.size,
      has: (key: string) => state.keys.has(key),
      /**
       * `range`: the keys in page order if Shift is held, else null. With `range`, all rows from
       * the last toggled row to this row get the new state.
       */
      toggle: (key: string, range: readonly string[] | null) =>
        setState((now) => ({ keys: toggled(now.keys, key, now.last, range), last: key })),
      set: (keys: Iterable<string>) => setState({ keys: new Set(keys), last: null }),
      clear: () => setState({ keys: new Set(), last: null }),
    }),
    [state],
  )
}
export type Selection = ReturnType<typeof useSelection>

/**
 * The selected rows in order of selection, including rows that a filter or another page hides now,
 * so that a bulk action reaches every counted row. `remember` adds rows that are selected without
 * having been shown. `keyOf` must be a stable function.
 */
export function useChosen<Row>(
  keys: ReadonlySet<string>,
  shown: readonly Row[] | undefined,
  keyOf: (row: Row) => string,
) {
  const [known, setKnown] = useState<{
    of: readonly Row[] | undefined
    rows: ReadonlyMap<string, Row>
  }>({ of: undefined, rows: new Map() })
  if (known.of !== shown)
    setKnown({ of: shown, rows: knownAfter(known.rows, keys, shown ?? [], keyOf) })
  const chosen = useMemo(
    () => [...keys].flatMap((key) => known.rows.get(key) ?? []),
    [keys, known.rows],
  )
  const remember = useCallback(
    (rows: readonly Row[]) =>
      setKnown((now) => ({
        ...now,
        rows: new Map([...now.rows, ...rows.map((row) => [keyOf(row), row] as const)]),
      })),
    [keyOf],
  )
  return { chosen, remember }
}

/**
 * Rows to remember when other rows are shown: the shown rows, and earlier rows that are selected.
 */
export const knownAfter = <Row>(
  known: ReadonlyMap<string, Row>,
  keys: ReadonlySet<string>,
  shown: readonly Row[],
  keyOf: (row: Row) => string,
) =>
  new Map([
    ...[...known].filter(([key]) => keys.has(key)),
    ...shown.map((row) => [keyOf(row), row] as const),
  ])

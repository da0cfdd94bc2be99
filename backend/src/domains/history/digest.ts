/** What happened in a period, in short. */
import type { HistoryDigest } from '#contract/history/digest.ts'
import type { HistoryKind } from '#contract/history/kind-names.ts'
import type { HistoryObject } from '#contract/history/kind-names.ts'
import { kindsOfDigest } from '#contract/history/outcomes.ts'
import type { Db } from '../../db/db.ts'
import * as store from './store-digest.ts'

/** The most entries that are counted. */
const most = 10_000

/** @param objects the kinds of objects that the reader may see */
export async function digestOf(
  db: Db,
  objects: readonly HistoryObject[],
  { since, until }: { readonly since: Date; readonly until: Date },
): Promise<HistoryDigest> {
  const counted = await store.counts(db, objects, { since, until, limit: most })
  const groups = [...Map.groupBy(counted, ({ kind }) => kind as HistoryKind)]
    .map(([kind, rows]) => {
      const sum = (of: (row: store.Counted) => number) => rows.reduce((n, row) => n + of(row), 0)
      const last = rows.toSorted((a, b) => b.at.getTime() - a.at.getTime())[0]!
      return {
        kind,
        entries: sum((row) => row.entries),
        objects: last.objects,
        simulated: sum((row) => row.simulated),
        outcomes: rows.flatMap(({ outcome, entries }) =>
          outcome === null ? [] : [{ outcome, entries }],
        ),
        last: {
          at: last.at.toISOString(),
          object: { kind: last.object_kind, id: last.object_id, name: last.object_name },
          message: last.message,
        },
      }
    })
    .toSorted((a, b) => kindsOfDigest.indexOf(a.kind) - kindsOfDigest.indexOf(b.kind))
  const entries = groups.reduce((n, group) => n + group.entries, 0)
  return {
    since: since.toISOString(),
    until: until.toISOString(),
    entries,
    is_cut: entries === most,
    groups,
  }
}

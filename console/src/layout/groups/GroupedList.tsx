import { keepPreviousData, useQuery, type UseQueryOptions } from '@tanstack/react-query'
import { Suspense, useMemo, useState } from 'react'
import type { Grouping } from '#contract/labels/grouping.ts'
import { mostGroups } from '#contract/labels/groups.ts'
import { no } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import type { ListSearch } from '../../lib/list-search.ts'
import type { SetSearch } from '../../lib/router.ts'
import { sentence } from '../../lib/text.ts'
import { count } from '../../lib/units.ts'
import { ErrorState, NoMatch, SkeletonRows, Stale } from '../../ui/feedback/States.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { later } from '../../ui/part.tsx'
import type { DataTableProps, WidthFrom } from '../../ui/table/DataTable.tsx'
import { type Grouped, groupingOf, groupingSaid, groupOf, type Groups, keyOf } from './grouping.ts'
import css from './GroupedList.module.css'
import { type OfGroups, OneGroup } from './OneGroup.tsx'

const BulkBar = later(() => import('../../ui/table/BulkBar.tsx'))

/** Headings at first, and how many more each press of the button adds. */
const portion = 100
/** Most groups that are opened at once: each shows a page of its items. */
const mostOpened = 10

export interface GroupedProps<T extends Grouped> extends Pick<OfGroups<T>, 'itemsOf'> {
  /** What the URL says to group by. */
  by: string
  search: ListSearch
  setSearch: SetSearch<ListSearch>
  /** What the list shows when it isn't grouped. */
  table: DataTableProps<T> & Pick<OfGroups<T>, 'selection'>
  /** The chosen items. */
  chosen: readonly T[]
  remember: OfGroups<T>['remember']
}
interface GroupedListProps<T extends Grouped> extends GroupedProps<T>, Pick<OfGroups<T>, 'kind'> {
  /** The query for the groups of a list. */
  groupsOf: (
    by: string,
    search: ListSearch,
  ) => Pick<UseQueryOptions<Groups>, 'queryKey' | 'queryFn'>
}

/**
 * A list in groups: a heading for each, and below it the items of those that are open, in pages of
 * their own. So a list of ten thousand servers costs as many rows as are looked at, and each count
 * is that of the whole group.
 */
export function GroupedList<T extends Grouped>(props: GroupedListProps<T>) {
  const { kind, by, setSearch } = props
  const grouping = groupingOf(kind.list, by)
  return grouping === null ? (
    <ErrorState
      boxed
      error={new Error(`${sentence(kind.list.nouns[1])} can't be grouped by ${by}.`)}
      onRetry={() => setSearch({ group: undefined })}
    />
  ) : (
    <InGroups key={by} {...props} grouping={grouping} />
  )
}

function InGroups<T extends Grouped>({
  kind,
  groupsOf,
  itemsOf,
  grouping,
  by,
  search,
  setSearch,
  table,
  chosen,
  remember,
}: GroupedListProps<T> & { grouping: Grouping }) {
  const [one, many] = kind.list.nouns
  const said = groupingSaid(kind, grouping)
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery({
    ...groupsOf(by, search),
    placeholderData: keepPreviousData,
  })
  const [most, setMost] = useState(portion)
  const opened = search['open'] ?? ''
  const open = useMemo(() => new Set(opened.split(',').filter(Boolean)), [opened])
  const openOnly = (keys: Iterable<string>) => setSearch({ open: [...keys].join(',') })
  /** How many of each group are chosen. */
  const chosenIn = useMemo(() => {
    const counts = new Map<string, number>()
    for (const item of chosen) {
      const key = keyOf(groupOf(kind, grouping, item))
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    return counts
  }, [kind, grouping, chosen])
  const { selection, bulk, ...ofGroups } = table
  const columns = useWidths(table)
  const onRetry = () => void refetch()

  if (data === undefined)
    return (
      <div className={css['groups']}>
        {error === null ? (
          <SkeletonRows rows={6} widths={[180, 70]} />
        ) : (
          <ErrorState error={error} onRetry={onRetry} />
        )}
      </div>
    )
  if (data.total === 0)
    return (
      <div className={css['groups']}>
        {table.filtered && table.onReset ? (
          <NoMatch what={`No ${one}`} onReset={table.onReset} />
        ) : (
          table.empty
        )}
      </div>
    )

  const shown = data.items.slice(0, most)
  const keys = shown.map(({ value }) => keyOf(value))
  const left = data.items.length - shown.length
  return (
    <section aria-label={`${sentence(many)} by ${said}`}>
      <div className={css['bar']}>
        <span aria-live="polite">
          {counted(data.total, 'group')} by {said}
        </span>
        <span className="row right">
          <Button
            size="small"
            can={
              data.total > mostOpened
                ? no(`At most ${mostOpened} groups are opened at once: open those that you need`)
                : undefined
            }
            onClick={() => openOnly(keys)}
          >
            Open all
          </Button>
          <Button
            size="small"
            can={open.size === 0 ? no('No group is open') : undefined}
            onClick={() => openOnly([])}
          >
            Close all
          </Button>
        </span>
      </div>
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
      <div className={css['groups']} data-groups="">
        {shown.map((group, i) => {
          const key = keys[i]!
          return (
            <OneGroup
              key={key}
              group={group}
              isOpen={open.has(key)}
              onOpen={(on) => openOnly(on ? [...open, key] : [...open].filter((k) => k !== key))}
              chosen={chosenIn.get(key) ?? 0}
              of={{
                kind,
                itemsOf,
                grouping,
                search,
                table: { ...ofGroups, columns },
                chosen,
                selection,
                remember,
              }}
            />
          )
        })}
      </div>
      {(left > 0 || data.total > data.items.length) && (
        <div className={css['bar']}>
          <span>
            {data.total > data.items.length
              ? `${count(shown.length)} of ${count(data.total)} groups. At most ${count(mostGroups)} are listed: filter the list to see the others.`
              : `${count(shown.length)} of ${count(data.total)} groups`}
          </span>
          {left > 0 && (
            <Button size="small" onClick={() => setMost(most + portion)}>
              Show {count(Math.min(portion, left))} more
            </Button>
          )}
        </div>
      )}
      {selection.size > 0 && bulk && (
        <Suspense fallback={null}>
          <BulkBar selection={selection} {...bulk} />
        </Suspense>
      )}
    </section>
  )
}

/**
 * The columns, as wide in each group as the items of the whole list need, so that the columns of
 * the groups are in line.
 */
function useWidths<T extends Grouped>({ rows, columns }: GroupedProps<T>['table']) {
  // Only the first rows: other columns render every row again.
  const [all, setAll] = useState(rows)
  if (all === undefined && rows !== undefined) setAll(rows)
  return useMemo(
    () =>
      columns.map((column) => {
        const { width } = column
        return all === undefined || typeof width !== 'function'
          ? column
          : {
              ...column,
              width: (from: WidthFrom, own: readonly T[]) => width(from, [...all, ...own]),
            }
      }),
    [columns, all],
  )
}

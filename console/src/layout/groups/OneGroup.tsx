import { useQuery, type UseQueryOptions } from '@tanstack/react-query'
import { type KeyboardEvent, useId, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { findingKinds } from '#contract/findings/kinds.ts'
import type { Grouping } from '#contract/labels/grouping.ts'
import type { Page } from '#contract/page.ts'
import { counted } from '#contract/words.ts'
import { queryClient } from '../../api/query.ts'
import { everyPage } from '../../lib/every-page.ts'
import type { ListSearch } from '../../lib/list-search.ts'
import { reasonOf } from '../../lib/reason.ts'
import { sentence } from '../../lib/text.ts'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { ErrorState, Stale } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Checkbox } from '../../ui/inputs/Choices.tsx'
import { DataTable, type DataTableProps } from '../../ui/table/DataTable.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import type { Selection } from '../../ui/table/selection.ts'
import {
  countOf,
  type Group,
  type Grouped,
  type GroupedKind,
  groupOf,
  hrefOf,
  keyOf,
  nameOf,
  searchOf,
} from './grouping.ts'
import css from './GroupedList.module.css'

const perPage = 50
const tooLong = new Error('The filter by labels leaves no room for the label of this group.')

const idOf = ({ id }: Grouped): string => id

/** What all groups of a list share. */
export interface OfGroups<T extends Grouped> {
  kind: GroupedKind<T>
  /** The query for a page of the list. */
  itemsOf: (
    search: ListSearch,
  ) => Pick<
    UseQueryOptions<Page<T>>,
    'queryKey' | 'queryFn' | 'placeholderData' | 'structuralSharing'
  >
  grouping: Grouping
  search: ListSearch
  /** What the tables of all groups have in common. */
  table: Omit<DataTableProps<T>, 'bulk' | 'selection'>
  /** The chosen items of all groups. */
  chosen: readonly T[]
  selection: Selection
  /** Keeps items that are chosen without having been shown. */
  remember: (items: readonly T[]) => void
}

interface OneGroupProps<T extends Grouped> {
  group: Group
  isOpen: boolean
  onOpen: (isOpen: boolean) => void
  /** Number of its items that are chosen. */
  chosen: number
  of: OfGroups<T>
}

/** A group's heading, and its items if it is open. */
export function OneGroup<T extends Grouped>({
  group,
  isOpen,
  onOpen,
  chosen,
  of,
}: OneGroupProps<T>) {
  const { kind, itemsOf, grouping, search, table, selection, remember } = of
  const [one, many] = kind.list.nouns
  const size = countOf(kind.list, group)
  const items = counted(size, one, many)
  const id = useId()
  const name = nameOf(kind, grouping, group)
  const own = searchOf(grouping, group.value, search)
  const [page, setPage] = useState(1)
  const answer = useQuery({
    ...itemsOf({ ...(own ?? search), page: String(page), size: String(perPage) }),
    enabled: isOpen && own !== null,
  })
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = answer
  const tick = useTick(group, own, of)
  const shown = useMemo(() => (data?.items ?? []).map(idOf), [data])
  const ownSelection = useMemo(
    () => selectionOf(selection, data?.items ?? [], remember),
    [selection, data, remember],
  )
  // Exactly these are the items of the group, as far as they were read.
  const all = data !== undefined && data.total === shown.length ? shown : tick.known
  const isAll = all.length === size && all.every((key) => selection.has(key))
  const onRetry = () => void refetch()
  return (
    <section className={css['group']} aria-labelledby={`${id}-name`}>
      <div className={css['head']}>
        <Checkbox
          hideLabel
          label={`Select all of ${name}: ${items}`}
          checked={isAll || tick.isBusy}
          indeterminate={chosen > 0 && !isAll && !tick.isBusy}
          disabled={own === null}
          onChange={(on) => void tick.choose(on)}
        />
        <IconButton
          size="small"
          icon={isOpen ? 'chevron-down' : 'chevron-right'}
          label={`${sentence(many)} of ${name}`}
          aria-expanded={isOpen}
          aria-controls={id}
          data-group=""
          onClick={() => onOpen(!isOpen)}
          onKeyDown={walk}
        />
        <h2 className={css['name']} id={`${id}-name`}>
          <a href={hrefOf(kind, grouping, group, search)}>{name}</a>
        </h2>
        <span className={css['count']}>{items}</span>
        {group.finding && (
          <span className={css['finding']}>
            <StatusDot tone={findingTones[group.finding.severity]} why={group.finding.reason}>
              {findingKinds[group.finding.kind].word}
            </StatusDot>
          </span>
        )}
      </div>
      <div id={id} className={css['body']} hidden={!isOpen}>
        {isOpen &&
          (own === null ? (
            <ErrorState error={tooLong} />
          ) : (
            <DataTable
              {...table}
              grows
              selection={ownSelection}
              label={name}
              rows={data?.items}
              error={error}
              onRetry={onRetry}
              notice={
                isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />
              }
              filtered={false}
              empty={<p className={css['none']}>No {one} is in this group any more.</p>}
              onFirstPage={(data?.total ?? 0) > 0 && (() => setPage(1))}
              foot={
                data !== undefined &&
                data.total > perPage && (
                  <Pager
                    page={page}
                    perPage={perPage}
                    total={data.total}
                    plural={many}
                    onPage={setPage}
                  />
                )
              }
            />
          ))}
      </div>
    </section>
  )
}

/**
 * The selection as one table shows it: its tick for the page leaves the items of others alone, and
 * the page remembers the items that are chosen in it.
 */
function selectionOf<T extends Grouped>(
  selection: Selection,
  shown: readonly T[],
  remember: OfGroups<T>['remember'],
): Selection {
  const own = new Set(shown.map(idOf))
  return {
    ...selection,
    toggle: (key, range) => {
      remember(shown)
      selection.toggle(key, range)
    },
    set: (keys) => {
      remember(shown)
      selection.set([...[...selection.keys].filter((key) => !own.has(key)), ...keys])
    },
  }
}

/** The arrow keys move between the buttons that open groups, Home and End to the first and last. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  const target = event.currentTarget
  const all = [
    ...(target.closest('[data-groups]')?.querySelectorAll<HTMLElement>('[data-group]') ?? []),
  ]
  const at = all.indexOf(target)
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key]
  if (to === undefined) return
  event.preventDefault()
  all[Math.max(0, Math.min(all.length - 1, to))]?.focus()
}

/** Chooses all items of a group, of all pages, or none of them. */
function useTick<T extends Grouped>(
  { value }: Group,
  own: ListSearch | null,
  { kind, itemsOf, grouping, chosen, selection, remember }: OfGroups<T>,
) {
  const [known, setKnown] = useState<readonly string[]>([])
  const [isBusy, setBusy] = useState(false)
  // The user may choose others while the items of this group are read.
  const latest = useRef(selection)
  useLayoutEffect(() => {
    latest.current = selection
  })
  const choose = async (on: boolean): Promise<void> => {
    if (isBusy) return
    if (!on) {
      const key = keyOf(value)
      const mine = new Set([
        ...known,
        ...chosen.flatMap((one) => (keyOf(groupOf(kind, grouping, one)) === key ? [one.id] : [])),
      ])
      return selection.set([...selection.keys].filter((id) => !mine.has(id)))
    }
    setBusy(true)
    try {
      const all = await everyPage((at) =>
        queryClient.fetchQuery<Page<T>>(itemsOf({ ...own, page: String(at), size: undefined })),
      )
      const ids = all.map(idOf)
      remember(all)
      setKnown(ids)
      latest.current.set([...latest.current.keys, ...ids])
    } catch (error) {
      toast.error(reasonOf(error))
    } finally {
      setBusy(false)
    }
  }
  return { known, isBusy, choose }
}

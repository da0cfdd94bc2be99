import { useQuery } from '@tanstack/react-query'
import {
  type ComponentProps,
  type KeyboardEvent,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { findingKinds } from '#contract/findings/kinds.ts'
import type { ListedServer } from '#contract/servers/server.ts'
import { counted } from '#contract/words.ts'
import { queryClient } from '../../../api/query.ts'
import { everyPage } from '../../../lib/every-page.ts'
import type { ListSearch } from '../../../lib/list-search.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { findingTones } from '../../../ui/feedback/finding-tones.ts'
import { ErrorState, Stale } from '../../../ui/feedback/States.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { IconButton } from '../../../ui/inputs/Button.tsx'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { Pager } from '../../../ui/table/Pager.tsx'
import type { Selection } from '../../../ui/table/selection.ts'
import { serversQuery } from '../server-queries.ts'
import {
  groupOf,
  hrefOf,
  keyOf,
  nameOf,
  searchOf,
  type ServerGroup,
  type ServerGrouping,
} from './grouping.ts'
import css from './GroupedServers.module.css'

const perPage = 50
const idOf = (server: ListedServer): string => server.id
const tooLong = new Error('The filter by labels leaves no room for the label of this group.')

/** What all groups of a list share. */
export interface OfGroups {
  grouping: ServerGrouping
  search: ListSearch
  /** What the tables of all groups have in common. */
  table: Omit<ComponentProps<typeof DataTable<ListedServer>>, 'bulk' | 'selection'>
  /** The chosen servers of all groups. */
  chosen: readonly ListedServer[]
  selection: Selection
  /** Keeps servers that are chosen without having been shown. */
  remember: (servers: readonly ListedServer[]) => void
}

interface OneGroupProps {
  group: ServerGroup
  isOpen: boolean
  onOpen: (isOpen: boolean) => void
  /** Number of its servers that are chosen. */
  chosen: number
  of: OfGroups
}

/** A group's heading, and its servers if it is open. */
export function OneGroup({ group, isOpen, onOpen, chosen, of }: OneGroupProps) {
  const { grouping, search, table, selection, remember } = of
  const servers = counted(group.servers, 'server')
  const id = useId()
  const name = nameOf(grouping, group)
  const own = searchOf(grouping, group.value, search)
  const [page, setPage] = useState(1)
  const answer = useQuery({
    ...serversQuery({ ...(own ?? search), page: String(page), size: String(perPage) }),
    enabled: isOpen && own !== null,
  })
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = answer
  const tick = useTick(group, own, of)
  const shown = useMemo(() => (data?.items ?? []).map(idOf), [data])
  const ownSelection = useMemo(
    () => selectionOf(selection, data?.items ?? [], remember),
    [selection, data, remember],
  )
  // Exactly these are the servers of the group, as far as they were read.
  const all = data !== undefined && data.total === shown.length ? shown : tick.known
  const isAll = all.length === group.servers && all.every((one) => selection.has(one))
  const onRetry = () => void refetch()
  return (
    <section className={css['group']} aria-labelledby={`${id}-name`}>
      <div className={css['head']}>
        <Checkbox
          hideLabel
          label={`Select all of ${name}: ${servers}`}
          checked={isAll || tick.isBusy}
          indeterminate={chosen > 0 && !isAll && !tick.isBusy}
          disabled={own === null}
          onChange={(on) => void tick.choose(on)}
        />
        <IconButton
          size="small"
          icon={isOpen ? 'chevron-down' : 'chevron-right'}
          label={`Servers of ${name}`}
          aria-expanded={isOpen}
          aria-controls={id}
          data-group=""
          onClick={() => onOpen(!isOpen)}
          onKeyDown={walk}
        />
        <h2 className={css['name']} id={`${id}-name`}>
          <a href={hrefOf(grouping, group, search)}>{name}</a>
        </h2>
        <span className={css['count']}>{servers}</span>
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
              empty={<p className={css['none']}>No server is in this group any more.</p>}
              onFirstPage={(data?.total ?? 0) > 0 && (() => setPage(1))}
              foot={
                data !== undefined &&
                data.total > perPage && (
                  <Pager
                    page={page}
                    perPage={perPage}
                    total={data.total}
                    plural="servers"
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
 * The selection as one table shows it: its tick for the page leaves the servers of others alone, and
 * the page remembers the servers that are chosen in it.
 */
function selectionOf(
  selection: Selection,
  shown: readonly ListedServer[],
  remember: OfGroups['remember'],
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

/** Chooses all servers of a group, of all pages, or none of them. */
function useTick(
  { value }: ServerGroup,
  own: ListSearch | null,
  { grouping, chosen, selection, remember }: OfGroups,
) {
  const [known, setKnown] = useState<readonly string[]>([])
  const [isBusy, setBusy] = useState(false)
  // The user may choose others while the servers of this group are read.
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
        ...chosen.flatMap((one) => (keyOf(groupOf(grouping, one)) === key ? [one.id] : [])),
      ])
      return selection.set([...selection.keys].filter((id) => !mine.has(id)))
    }
    setBusy(true)
    try {
      const all = await everyPage((at) =>
        queryClient.fetchQuery(serversQuery({ ...own, page: String(at), size: undefined })),
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

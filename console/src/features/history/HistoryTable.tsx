import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import {
  beginningSaid,
  history,
  type HistoryEntry,
  historyKept,
} from '#contract/history/history.ts'
import type { List } from '#contract/list.ts'
import { count, counted } from '#contract/words.ts'
import { query } from '../../api/query.ts'
import { everyCluster } from '../../api/every.ts'
import { choosePeriod, sinceChoices, withTime } from '../../layout/lists/period.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import type { ListSearch } from '../../lib/list-search.ts'
import { exact } from '../../lib/time/time.ts'
import { memory } from '../../lib/units.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { Badge } from '../../ui/feedback/Status.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { CursorPager } from '../../ui/table/CursorPager.tsx'
import { DataTable, nameWidth } from '../../ui/table/DataTable.tsx'
import { EventTime } from '../../ui/table/EventTable.tsx'
import { listColumns } from '../../ui/table/list-columns.tsx'
import { historyQuery, type Subject } from './history-queries.ts'
import { pageOf, whoSaid } from './history-entry.ts'
import css from './History.module.css'
import { HistoryDetail } from './HistoryDetail.tsx'

const { object: _object, cluster, ...filters } = history.filters
const withCluster = { ...filters, cluster }
type Narrower = List<HistoryEntry, typeof history.columns, typeof filters>
/** The filters of the history of one object. */
const ofOne: Narrower = { ...history, filters }
/** The filters of the history of everything. */
const ofAll: Narrower = { ...history, filters: withCluster }

const columns = listColumns(history, {
  at: { fixed: true, card: 'fact', width: 128, cell: (e) => <EventTime at={e.at} /> },
  object: {
    from: 'md',
    width: nameWidth,
    cell: (e) => (
      <a className="clip" href={pageOf(e)} title={e.object.name}>
        {e.object.name}
      </a>
    ),
  },
  message: {
    fixed: true,
    card: 'name',
    cell: (e, from) => (
      <span className={css['what']}>
        <span className="row">
          <span className="clip" title={e.message}>
            {e.message}
          </span>
          {e.simulated && <Badge title="Made up by the simulation of the demo">simulated</Badge>}
        </span>
        {!from.md && <span className="fs12 t3 clip">{`${e.object.name}, ${whoSaid(e)}`}</span>}
      </span>
    ),
  },
  by: {
    from: 'md',
    width: 240,
    cell: (e) => (
      <span className="clip" title={whoSaid(e)}>
        {whoSaid(e)}
      </span>
    ),
  },
})

const detailOf = (entry: HistoryEntry) => <HistoryDetail entry={entry} />

interface HistoryTableProps {
  search: ListSearch
  setSearch: SetListSearch
  subject?: Subject
  /** What it is the history of, for the empty state: "this server". */
  of: string
}

const everything: Subject = {}

/** What happened, with who and why. Pages are read by cursors, which are in the URL. */
export function HistoryTable({ search, setSearch, subject = everything, of }: HistoryTableProps) {
  const isOfAll = subject.object === undefined && subject.cluster === undefined
  const answer = useQuery({
    ...historyQuery(search, subject),
    // The list has no total: a page is taken for the whole.
    select: (page) => ({ ...page, page: 1, per_page: history.perPage, total: page.items.length }),
  })
  const { data } = answer
  /** Another filter or order begins with its first page. */
  const set: SetListSearch = useMemo(
    () => (change, how) => setSearch({ after: undefined, ...change }, how),
    [setSearch],
  )
  const state = useList(isOfAll ? ofAll : ofOne, columns, { search, setSearch: set }, answer)
  const { data: clusters } = useQuery({ ...everyCluster, enabled: isOfAll })
  const { since, until, by, after, sort } = search
  // Periods end at the server's time: the browser's clock may be wrong.
  const periods = useMemo(() => (data ? sinceChoices(Date.parse(data.now)) : []), [data])
  const people = [
    ...new Set(
      [by, ...(data?.items ?? []).flatMap((e) => [e.operation?.by, e.by.name])].filter(
        (name) => name !== undefined && name !== null && name !== '' && name !== 'Steelyard',
      ) as string[],
    ),
  ]
  const options = {
    by: [
      { value: 'Steelyard', text: 'Steelyard', hint: 'by itself' },
      ...people.map((name) => ({ value: name, text: name })),
    ],
    cluster: (clusters?.items ?? []).map((c) => ({ value: c.id, text: c.name })),
    since: withTime(periods, since),
    until: withTime([], until),
  }
  const next = data?.next ?? null
  const isNewestFirst = sort !== 'at'
  const isAtBeginning = isNewestFirst ? next === null : after === undefined
  const readTo = data?.read_to ?? null
  const part = readTo !== null && (
    <span>
      {`Read ${isNewestFirst ? 'back' : 'forward'} to `}
      <time dateTime={readTo}>{exact(readTo)}</time>
      {`. ${isNewestFirst ? 'Older' : 'Newer'} entries may match.`}
    </span>
  )
  const goOn = next !== null && (
    <Button size="small" onClick={() => setSearch({ after: next }, { push: true })}>
      Go on
    </Button>
  )
  return (
    <>
      <ListToolbar
        state={state}
        placeholder="Words, names or reasons"
        options={options}
        saves={false}
      >
        <Button
          icon="filter"
          onClick={() =>
            choosePeriod({
              since,
              until,
              onPeriod: (period) => set({ page: undefined, ...period }),
            })
          }
        >
          Choose a period
        </Button>
      </ListToolbar>
      <DataTable
        {...state.table}
        // A page that was only read to some time may be empty, and is not past the end.
        onFirstPage={after !== undefined && readTo === null && (() => set({}))}
        {...(readTo !== null && { filtered: false })}
        foot={
          data !== undefined &&
          data.items.length > 0 && (
            <CursorPager
              text={counted(data.items.length, 'entry', 'entries')}
              words={isNewestFirst ? ['Newest', 'Older'] : ['Oldest', 'Newer']}
              onFirst={after === undefined ? null : () => setSearch({ after: undefined })}
              onNext={next === null ? null : () => setSearch({ after: next }, { push: true })}
            />
          )
        }
        rowKey={(e) => String(e.id)}
        rowName={(e) => e.message}
        detail={detailOf}
        empty={
          readTo !== null ? (
            <Empty title="No match so far" text={part} actions={goOn} />
          ) : (
            <Empty
              title="Nothing happened yet"
              text={`What happens to ${of} is kept here, with who did it and why: contact, stages, versions, hardware, patches, operations and findings.`}
            />
          )
        }
      />
      {readTo !== null && data !== undefined && data.items.length > 0 && (
        <p className={`row t2 fs13 ${css['note']}`} role="note" aria-label="Part that was read">
          {part} {goOn}
        </p>
      )}
      {data !== undefined && isAtBeginning && (
        <p className={`t3 fs13 ${css['note']}`} role="note" aria-label="Beginning of the history">
          History begins <time dateTime={data.beginning.at}>{exact(data.beginning.at)}</time>.{' '}
          {beginningSaid(data.beginning, isOfAll ? 'all' : 'object')}
        </p>
      )}
      {isOfAll && <Kept />}
    </>
  )
}

/** How much is kept, and how long. */
function Kept() {
  const { data } = useQuery(query(historyKept, {}))
  if (data === undefined) return null
  const { entries, most_entries, bytes, days } = data
  return (
    <p className="t3 fs13" role="note" aria-label="Kept history">
      {`${counted(entries, 'entry', 'entries')} ${entries === 1 ? 'takes' : 'take'} ${memory(bytes)}. Entries are kept for ${counted(days, 'day')}, at most ${count(most_entries)}: settings `}
      <code>STEELYARD_HISTORY_DAYS</code> and <code>STEELYARD_HISTORY_ENTRIES</code>.
    </p>
  )
}

/** The history of all servers, clusters and datacenters. */
export const HistoryPage = (props: Pick<HistoryTableProps, 'search' | 'setSearch'>) => (
  <HistoryTable {...props} of="servers and clusters" />
)

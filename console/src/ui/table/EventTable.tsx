import type { ReactNode } from 'react'
import { paths } from '../../lib/paths.ts'
import { exact, moment } from '../../lib/time/time.ts'
import { clock } from '../../lib/time/clock.ts'
import { serverNow } from '../../lib/time/server-time.ts'
import { type Column, columns, DataTable } from './DataTable.tsx'
import { Empty } from '../feedback/States.tsx'
import { Badge } from '../feedback/Status.tsx'

/** An event of an object. */
export interface Happened {
  id: string
  /** ISO 8601; null if the machine does not know the time. */
  at: string | null
  message: string
  type: string
  by: string | null
  /** The operation that the event started. */
  operation_id: string | null
  /** Source of the event, if there are several. */
  source?: 'talos' | 'steelyard'
  /** How often it happened; `at` is then the last time. */
  count?: number
  /** When it happened first; null if it happened once. */
  first_at?: string | null
}

/** Times of today show seconds, because many events fall within one minute. */
const atOf = (iso: string): string =>
  new Date(iso).toDateString() === new Date(serverNow()).toDateString() ? clock(iso) : moment(iso)

/** The time of an event, with the exact time on hover. */
export const EventTime = ({ at }: { at: string }) => (
  <time className="num" dateTime={at} title={exact(at)}>
    {atOf(at)}
  </time>
)
const timeOf = (e: Happened) =>
  e.at === null ? <span className="t3">Unknown</span> : <EventTime at={e.at} />

/** "12 times since 14:02:11"; null if it happened once. */
const repeatedOf = ({ count = 1, first_at: first = null }: Happened): string | null =>
  count === 1 || first === null ? null : `${count} times since ${atOf(first)}`

/** The count comes first, because a long message is cut off. */
const messageOf = (e: Happened) => {
  const repeated = repeatedOf(e)
  return e.operation_id === null ? (
    <span title={repeated === null ? e.message : `${e.message} (${repeated})`}>
      {repeated !== null && <span className="t3 num">{e.count}× </span>}
      {e.message}
    </span>
  ) : (
    <a href={paths.operation(e.operation_id)} title={e.message}>
      {e.message}
    </a>
  )
}

const ofOne = columns<Happened>([
  { id: 'at', head: 'Time', width: 150, card: 'fact', cell: timeOf },
  { id: 'message', head: 'What happened', card: 'name', cell: messageOf },
  {
    id: 'type',
    head: 'Type',
    width: 264,
    from: 'md',
    cell: (e) => <span className="mono fs12 t3">{e.type}</span>,
  },
  {
    id: 'by',
    head: 'By',
    width: 190,
    from: 'sm',
    cell: (e) => e.by ?? <span className="t3">–</span>,
  },
])
const source: Column<Happened> = {
  id: 'source',
  head: 'From',
  width: 110,
  card: 'state',
  cell: (e) => <Badge>{e.source === 'talos' ? 'Talos' : 'Steelyard'}</Badge>,
}
const ofSeveral = [
  ...ofOne.slice(0, 2),
  source,
  ...ofOne.slice(2).map((column) => ({ ...column, from: 'md' as const })),
]

interface EventTableProps {
  noun: string
  rows: readonly Happened[] | undefined
  sources?: boolean
  /** Shown above the events, for instance that they may be out of date. */
  notice?: ReactNode
  error: unknown
  onRetry: () => void
}

/**
 * Events of an object, newest first. `noun` is the kind of object. `sources` adds a column for the
 * source.
 */
export function EventTable({
  noun,
  rows,
  sources = false,
  notice,
  error,
  onRetry,
}: EventTableProps) {
  return (
    <DataTable
      label="Events"
      rows={rows}
      columns={sources ? ofSeveral : ofOne}
      rowKey={(e) => e.id}
      rowName={(e) => e.message}
      notice={notice}
      error={error}
      onRetry={onRetry}
      grows
      empty={
        <Empty
          title="No events yet"
          text={`Events of this ${noun} appear here, with who caused them.`}
        />
      }
    />
  )
}

import { useQuery } from '@tanstack/react-query'
import type * as z from 'zod/mini'
import { type ServerEvent, serverEvents } from '#contract/servers.ts'
import { query } from '../../api/query.ts'
import { clock, exact, moment } from '../../lib/time.ts'
import { columns, DataTable } from '../../ui/DataTable.tsx'
import { Empty } from '../../ui/States.tsx'
import { Alert, Badge } from '../../ui/Status.tsx'

type Event = z.infer<typeof ServerEvent>

/** Talos's own events are not in the live stream: asked anew this often, in ms. */
const talosMs = 30_000

/** To the second today: many of them come within one minute. */
const atOf = (iso: string): string => (new Date(iso).toDateString() === new Date().toDateString() ? clock(iso) : moment(iso))

const eventColumns = columns<Event>([
  {
    id: 'at',
    head: 'Time',
    width: 150,
    card: 'fact',
    cell: (e) =>
      e.at === null ? (
        <span className="t3">Unknown</span>
      ) : (
        <time className="num" dateTime={e.at} title={exact(e.at)}>
          {atOf(e.at)}
        </time>
      ),
  },
  { id: 'message', head: 'What happened', card: 'name', cell: (e) => <span title={e.message}>{e.message}</span> },
  { id: 'source', head: 'From', width: 110, card: 'state', cell: (e) => <Badge>{e.source === 'talos' ? 'Talos' : 'Steelyard'}</Badge> },
  { id: 'type', head: 'Type', width: 220, from: 'md', cell: (e) => <span className="mono fs12 t3">{e.type}</span> },
  { id: 'by', head: 'By', width: 180, from: 'md', cell: (e) => e.by ?? <span className="t3">–</span> },
])

/** What happened to the server: ours and, while it answers, Talos's own. */
export function ServerEvents({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({ ...query(serverEvents, { params: { id } }), refetchInterval: talosMs })
  return (
    <div className="stack stack3">
      {data !== undefined && !data.talos.ok && <Alert tone="info">Talos's own events are missing: {data.talos.reason ?? 'the server did not answer'}.</Alert>}
      <DataTable
        label="Events"
        rows={data?.items}
        columns={eventColumns}
        rowKey={(e) => e.id}
        rowName={(e) => e.message}
        error={error}
        onRetry={() => void refetch()}
        empty={<Empty title="Nothing happened yet" text="What is done to this server, and by whom, is written down here." />}
      />
    </div>
  )
}

import { useQuery } from '@tanstack/react-query'
import { serverEvents } from '#contract/servers/servers.ts'
import { query } from '../../../api/query.ts'
import { EventTable } from '../../../ui/table/EventTable.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'

/** Poll interval in ms. Talos's own events are not in the live stream. */
const talosMs = 30_000

/** Steelyard's events of the server and, while it answers, Talos's own. */
export function ServerEvents({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({ ...query(serverEvents, { params: { id } }), refetchInterval: talosMs })
  return (
    <div className="stack stack3">
      {data !== undefined && !data.talos.ok && <Alert tone="info">Talos's own events are missing: {data.talos.reason ?? 'the server did not answer'}.</Alert>}
      <EventTable noun="server" rows={data?.items} sources error={error} onRetry={() => void refetch()} />
    </div>
  )
}

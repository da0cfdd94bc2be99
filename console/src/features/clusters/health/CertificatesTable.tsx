import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import {
  certificateKinds,
  clusterCertificates,
  type ClusterCertificate,
} from '#contract/clusters/certificates.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { count } from '#contract/words.ts'
import { query } from '../../../api/query.ts'
import { paths } from '../../../lib/paths.ts'
import { serverNow } from '../../../lib/time/server-time.ts'
import { until } from '../../../lib/time/time.ts'
import { Empty, Stale } from '../../../ui/feedback/States.tsx'
import { StatusReason } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { columns, DataTable } from '../../../ui/table/DataTable.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { changeActions } from '../change/change-actions.ts'

const renewers: Readonly<Record<ClusterCertificate['renewed_by'], string>> = {
  rotation: 'A rotation',
  talos: 'Talos, automatically',
  steelyard: 'Steelyard, automatically',
  nobody: 'Nobody',
}

function stateOf({ ends_at, ending }: ClusterCertificate): string {
  if (ends_at === null) return 'Unknown'
  if (!ending) return `Expires ${until(ends_at)}`
  return Date.parse(ends_at) <= serverNow() ? 'Expired' : 'Expires soon'
}

const certificateColumns = columns<ClusterCertificate>([
  { id: 'what', head: 'Certificate', card: 'name', cell: (c) => certificateKinds[c.kind].title },
  {
    id: 'of',
    head: 'Of',
    width: 170,
    card: 'fact',
    cell: (c) =>
      c.node_id === null ? (
        <span className="t3">The cluster</span>
      ) : (
        <a href={paths.server(c.node_id)}>{c.name}</a>
      ),
  },
  {
    id: 'renewed',
    head: 'Renewed by',
    width: 176,
    from: 'md',
    cell: (c) => renewers[c.renewed_by],
  },
  {
    id: 'ends',
    head: 'Ends',
    width: 120,
    from: 'sm',
    cell: (c) =>
      c.ends_at === null ? <span className="t3">Unknown</span> : <Time at={c.ends_at} />,
  },
  {
    id: 'state',
    head: 'State',
    card: 'state',
    cell: (c) => (
      <StatusReason
        tone={c.ends_at === null ? 'off' : c.ending ? 'warn' : 'ok'}
        word={stateOf(c)}
        why={c.reason}
        tall
      />
    ),
  },
])

const shownFirst = 12

/**
 * The certificates of a cluster, read from its servers when the page opens. Those that need an
 * action come first, then those that expire first.
 */
export function CertificatesTable({ cluster }: { cluster: Cluster }) {
  const { data, error, isRefetchError, dataUpdatedAt, refetch } = useQuery({
    ...query(clusterCertificates, { params: { id: cluster.id } }),
    staleTime: 300_000,
  })
  const onRetry = () => void refetch()
  const [all, setAll] = useState(false)
  const rows = useMemo(
    () =>
      data?.items.toSorted(
        (a, b) =>
          Number(b.ending) - Number(a.ending) || (a.ends_at ?? '').localeCompare(b.ends_at ?? ''),
      ),
    [data],
  )
  const shown = all ? rows : rows?.slice(0, shownFirst)
  return (
    <section className="stack stack2">
      <div className="row wrap">
        <h2 className="h2 grow">Certificates</h2>
        {changeActions(cluster, ['rotate']).map((action) => (
          <ActionButton key={action.label} {...action} size="small" />
        ))}
      </div>
      <DataTable
        label={`Certificates of ${cluster.name}`}
        rows={shown}
        columns={certificateColumns}
        rowKey={(c) => `${c.kind} ${c.node_id}`}
        rowName={(c) => certificateKinds[c.kind].title}
        error={error}
        onRetry={onRetry}
        notice={isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={onRetry} />}
        grows
        empty={<Empty title="No certificates" />}
      />
      {rows !== undefined && shown !== undefined && shown.length < rows.length && (
        <Button size="small" kind="ghost" onClick={() => setAll(true)}>
          Show all {count(rows.length)} certificates
        </Button>
      )}
    </section>
  )
}

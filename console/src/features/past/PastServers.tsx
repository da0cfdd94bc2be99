/** Servers as they were. */
import { useQuery } from '@tanstack/react-query'
import {
  type PastServer as Server,
  serverGetPast,
  serverListPast,
} from '#contract/servers/past-server.ts'
import { paths } from '../../lib/paths.ts'
import type { Place } from '../../lib/router.ts'
import { moment } from '../../lib/time/time.ts'
import { disk, memory } from '../../lib/units.ts'
import { StatusDot, StatusReason } from '../../ui/feedback/Status.tsx'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { Empty } from '../../ui/feedback/States.tsx'
import { Search } from '../../ui/inputs/Search.tsx'
import { columns, DataTable } from '../../ui/table/DataTable.tsx'
import { Pager } from '../../ui/table/Pager.tsx'
import { KeyValue, PageHeader, Panel } from '../../ui/text/Panel.tsx'
import css from './Past.module.css'
import { change, pastQuery } from './past-queries.ts'
import {
  Acts,
  acts,
  FindingThen,
  isPast,
  notRecorded,
  orNotRecorded,
  Unrecorded,
} from './PastParts.tsx'
import { Button } from '../../ui/inputs/Button.tsx'

/** Rows of a page. */
const perPage = 50

const words = { ready: 'Ready', maintenance: 'Maintenance', deleted: 'Removed' } as const
function stateOf({ status, finding, talos, quarantine }: Server) {
  const isBad = finding !== null && finding.severity !== 'attention'
  return {
    tone: isBad
      ? findingTones[finding.severity]
      : status === 'ready'
        ? ('ok' as const)
        : ('idle' as const),
    word: isBad
      ? findingKinds[finding.kind].word
      : status === null
        ? 'Not recorded'
        : words[status],
    why: finding?.reason ?? talos.reason ?? quarantine?.reason ?? null,
  }
}
const hardwareOf = ({ hardware: { model, cores, memory_bytes, disk_bytes } }: Server) =>
  [
    model,
    cores === null ? null : `${cores} cores`,
    memory_bytes === null ? null : memory(memory_bytes),
    disk_bytes === null ? null : disk(disk_bytes),
  ]
    .filter((part) => part !== null)
    .join(' · ')
const roles = { control_plane: 'control plane', worker: 'worker', unknown: '' } as const
const clusterOf = ({ cluster, type }: Server) =>
  cluster === null ? '–' : [cluster.name, type && roles[type]].filter(Boolean).join(' · ')

const serverColumns = columns<Server>([
  {
    id: 'name',
    head: 'Name',
    card: 'name',
    sortable: true,
    fixed: true,
    width: 210,
    cell: (s) => s.name ?? notRecorded,
  },
  {
    id: 'status',
    head: 'State',
    card: 'state',
    sortable: true,
    cell: (s) => <StatusReason {...stateOf(s)} />,
  },
  {
    id: 'datacenter',
    head: 'Place',
    from: 'md',
    sortable: true,
    cell: (s) => [s.datacenter?.code, s.placement].filter(Boolean).join(', ') || '–',
  },
  { id: 'cluster', head: 'Cluster and role', card: 'fact', sortable: true, cell: clusterOf },
  {
    id: 'hardware',
    head: 'Hardware',
    from: 'lg',
    sortable: true,
    cell: (s) => hardwareOf(s) || notRecorded,
  },
  {
    id: 'talos_version',
    head: 'Talos',
    from: 'md',
    sortable: true,
    width: 90,
    cell: (s) => s.talos.version ?? 'Unknown',
  },
])

interface ListProps {
  at: string
  place: Place
  search: Readonly<Record<string, string>>
}

export function PastServers({ at, place, search }: ListProps) {
  const { q, sort, page = '1', status, cluster, datacenter } = search
  const asked = { q, sort, page, status, cluster, datacenter, per_page: perPage }
  const known = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))
  const { data, error, refetch } = useQuery(pastQuery(serverListPast, { query: { ...known, at } }))
  return (
    <>
      <div className={css['controls']}>
        <Search
          label="Search servers"
          placeholder="Name, id, serial, address or cluster"
          value={q ?? ''}
          onValue={(text) => change(place, { q: text || undefined, page: undefined })}
        />
        <Button can={isPast}>Add servers</Button>
      </div>
      <DataTable<Server>
        label="Servers as they were"
        noun="server"
        rows={error ? undefined : data?.items}
        columns={serverColumns}
        rowKey={(s) => s.id}
        rowName={(s) => s.name ?? s.id}
        href={(s) => `${paths.server(s.id)}?at=${at}`}
        actions={() => acts('Rename', 'Reboot', 'Reset', 'Remove')}
        sort={sort ?? 'name'}
        onSort={(to) => change(place, { sort: to, page: undefined })}
        empty={<Empty title="There were no servers" />}
        filtered={q !== undefined}
        onReset={() => change(place, { q: undefined, page: undefined })}
        error={error}
        onRetry={() => void refetch()}
        foot={
          data && (
            <Pager
              page={data.page}
              perPage={perPage}
              total={data.total}
              plural="servers"
              onPage={(to) => change(place, { page: String(to) })}
            />
          )
        }
      />
    </>
  )
}

export function PastServer({ at, id }: { at: string; id: string }) {
  const found = useQuery(pastQuery(serverGetPast, { params: { id }, query: { at } }))
  const s = found.data
  if (s === undefined || found.error) return <Pending of={found} />
  const state = stateOf(s)
  return (
    <>
      <PageHeader
        name={s.name ?? id}
        status={
          <StatusDot tone={state.tone} why={state.why} whole>
            {state.word}
          </StatusDot>
        }
        actions={<Acts labels={['Reboot', 'Patch', 'Remove']} />}
      />
      <div className={css['halves']}>
        <Panel title="As it was">
          <KeyValue
            rows={[
              ['Stage', s.talos.stage?.replaceAll('_', ' ') ?? notRecorded],
              [
                'Contact',
                s.talos.reachable === null
                  ? 'Unknown'
                  : s.talos.reachable
                    ? 'It answered'
                    : `No answer${s.talos.unreachable_since ? ` since ${moment(s.talos.unreachable_since)}` : ''}`,
              ],
              s.finding && ['Finding', <FindingThen finding={s.finding} />],
              [
                'Cluster',
                s.cluster && <a href={`${paths.cluster(s.cluster.id)}?at=${at}`}>{clusterOf(s)}</a>,
              ],
              s.kubernetes && [
                'In Kubernetes',
                s.kubernetes.ready === true
                  ? 'Ready'
                  : `${s.kubernetes.ready === null ? 'Unknown' : 'Not ready'}${s.kubernetes.reason ? `: ${s.kubernetes.reason}` : ''}`,
              ],
              ['Datacenter', s.datacenter?.code],
              ['Rack', s.placement],
              ['Addresses', orNotRecorded(s.nodeAddresses?.join(', '))],
              ['Talos', s.talos.version ?? 'Unknown'],
              ['Schematic', s.talos.schematic],
              ['Identity', orNotRecorded(s.identity.state)],
              ['Serial', orNotRecorded(s.identity.serial)],
              s.failure && ['Failure', s.failure.reason ?? notRecorded],
              s.drift && ['Configuration', 'It was changed outside of Steelyard'],
              s.quarantine && ['Quarantine', s.quarantine.reason],
              [
                'Labels',
                s.labels === null
                  ? notRecorded
                  : Object.entries(s.labels)
                      .map(([key, value]) => `${key}=${value}`)
                      .join(', '),
              ],
            ]}
          />
        </Panel>
        <Panel title="Hardware" note={hardwareOf(s)}>
          {s.parts === null || s.parts.length === 0 ? (
            notRecorded
          ) : (
            <ul className={css['parts']}>
              {s.parts.map((part) => (
                <li key={part}>{part}</li>
              ))}
            </ul>
          )}
        </Panel>
      </div>
      <Unrecorded fields={s.not_recorded} />
    </>
  )
}

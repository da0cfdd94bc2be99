/** The overview as it was. */
import { useQuery } from '@tanstack/react-query'
import { findingKinds, findingSeverities } from '#contract/findings/kinds.ts'
import { historyKinds } from '#contract/history/kinds.ts'
import { overviewGetPast, type PastOverview as Overview } from '#contract/history/past-overview.ts'
import { count, counted } from '#contract/words.ts'
import { paths } from '../../lib/paths.ts'
import { moment } from '../../lib/time/time.ts'
import { disk, memory } from '../../lib/units.ts'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Meter } from '../../ui/pictures/Meter.tsx'
import { type PlainColumn, PlainTable } from '../../ui/table/PlainTable.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import css from './Past.module.css'
import { pastQuery } from './past-queries.ts'
import { isPast, orNotRecorded } from './PastParts.tsx'

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const words = { down: 'down', degraded: 'degraded', attention: 'needed attention' } as const

type Sums = Overview['capacity'][number]
type Finding = Overview['findings']['items'][number]
const hrefOf = ({ object: { kind, id } }: Finding, at: string): string | null =>
  kind === 'server'
    ? `${paths.server(id)}?at=${at}`
    : kind === 'cluster'
      ? `${paths.cluster(id)}?at=${at}`
      : null

export function PastOverview({ at }: { at: string }) {
  const found = useQuery(pastQuery(overviewGetPast, { query: { at } }))
  const o = found.data
  if (o === undefined || found.error) return <Pending of={found} />
  const then = clock.format(Date.parse(o.at))
  return (
    <>
      <h1 className="sr">Overview</h1>
      <FindingsThen findings={o.findings} at={at} then={then} />
      <div className={css['halves']}>
        <Panel title="The 24 hours before" flush>
          <Before of={o.last_day} />
        </Panel>
        <Panel title={`Servers and clusters at ${then}`}>
          <Counts of={o} at={at} />
        </Panel>
      </div>
      <Panel title={`Capacity at ${then}`} flush>
        <Capacity rows={o.capacity} />
      </Panel>
    </>
  )
}

function FindingsThen({
  findings: { total, items },
  at,
  then,
}: {
  findings: Overview['findings']
  at: string
  then: string
}) {
  return (
    <Panel
      title={`Findings at ${then}`}
      flush
      note={findingSeverities
        .map((severity) => [items.filter((f) => f.severity === severity).length, severity] as const)
        .filter(([n]) => n > 0)
        .map(([n, severity]) => `${n} ${words[severity]}`)
        .join(', ')}
    >
      {items.length === 0 ? (
        <p className={css['line']}>Nothing needed anybody.</p>
      ) : (
        <ul className={css['rows']}>
          {items.map((f) => {
            const href = hrefOf(f, at)
            return (
              <li key={f.id}>
                <StatusDot tone={findingTones[f.severity]}>{findingKinds[f.kind].word}</StatusDot>
                <span className={css['what']}>
                  {href === null ? f.object.name : <a href={href}>{f.object.name}</a>}{' '}
                  <span className="t2">{orNotRecorded(f.reason)}</span>
                </span>
                <span className="t3 num">{f.since && `since ${moment(f.since)}`}</span>
                <Button size="small" can={isPast}>
                  Acknowledge
                </Button>
              </li>
            )
          })}
        </ul>
      )}
      {total > items.length && (
        <p className={css['line']}>{counted(total - items.length, 'more')}</p>
      )}
    </Panel>
  )
}

const Before = ({ of: { groups } }: { of: Overview['last_day'] }) =>
  groups.length === 0 ? (
    <p className={css['line']}>Nothing happened.</p>
  ) : (
    <ol className={css['rows']}>
      {groups.slice(0, 8).map(({ kind, entries, last }) => (
        <li key={kind}>
          <time className="t3 num" dateTime={last.at}>
            {clock.format(Date.parse(last.at))}
          </time>
          <span className={css['what']}>
            {historyKinds[kind].title}: {last.object.name}. {last.message}.{' '}
            {entries > 1 && <span className="t3">{count(entries)} in all</span>}
          </span>
        </li>
      ))}
    </ol>
  )

const Counts = ({ of: { servers, clusters }, at }: { of: Overview; at: string }) => (
  <>
    <p>
      <a href={`${paths.servers()}?at=${at}`}>{counted(servers.total, 'server')}</a>:{' '}
      {servers.ready} in clusters, {servers.maintenance} in maintenance, {servers.unreachable}{' '}
      without an answer
    </p>
    <p>
      <a href={`${paths.clusters()}?at=${at}`}>{counted(clusters.total, 'cluster')}</a>
      {Object.entries(clusters.by_status).map(
        ([status, n], i) => `${i === 0 ? ': ' : ', '}${n} ${status}`,
      )}
    </p>
  </>
)

const capacityColumns = (most: number): readonly PlainColumn<Sums>[] => [
  { head: 'Datacenter', cell: (c) => c.datacenter?.code ?? 'In no datacenter' },
  { head: 'Servers', className: 'num', cell: (c) => c.servers },
  { head: 'vCPU, same scale', className: css['wide'], cell: (c) => meterOf(c, most) },
  { head: 'Free', className: 'num', cell: (c) => count(c.vcpu.free) },
  { head: 'Free memory', className: 'num', cell: (c) => memory(c.memory_bytes.free) },
  { head: 'Free disk', className: css['wide'], cell: (c) => disk(c.disk_bytes.free) },
  {
    head: 'Unknown',
    className: 'num',
    cell: (c) => (c.unknown_servers === 0 ? '–' : counted(c.unknown_servers, 'server')),
  },
]

const meterOf = ({ vcpu, datacenter }: Sums, most: number) => (
  <Meter
    value={vcpu.in_clusters}
    of={vcpu.total}
    scale={most}
    label={`vCPU in clusters of ${datacenter?.code ?? 'no datacenter'}`}
  />
)

function Capacity({ rows }: { rows: Overview['capacity'] }) {
  if (rows.length === 0) return <p className={css['line']}>There were no servers.</p>
  const most = Math.max(...rows.map(({ vcpu }) => vcpu.total), 1)
  return (
    <PlainTable
      className={css['capacity']}
      label="Capacity"
      rows={rows}
      columns={capacityColumns(most)}
    />
  )
}

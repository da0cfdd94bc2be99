import { useQuery } from '@tanstack/react-query'
import { type Finding, findingAffected, findingList } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { everyCluster, everyDatacenter } from '../../api/every.ts'
import { query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { findingActions } from '../../layout/findings/finding-actions.ts'
import { pageOfFinding, remedyActions } from '../../layout/findings/remedies.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import type { ListSearch } from '../../lib/list-search.ts'
import { paths } from '../../lib/paths.ts'
import { sentence } from '../../lib/text.ts'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import { DataTable, nameWidth } from '../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../ui/table/list-columns.tsx'
import { KeyValue } from '../../ui/text/Panel.tsx'
import css from './Findings.module.css'
import { findingsQuery } from './finding-queries.ts'

const findingColumns = listColumns(findingList.list, {
  kind: {
    fixed: true,
    card: 'state',
    width: 150,
    cell: (f) => (
      <StatusDot tone={f.ended_at === null ? findingTones[f.severity] : 'off'}>
        {findingKinds[f.kind].word}
      </StatusDot>
    ),
  },
  severity: { from: 'lg', width: 100, cell: (f) => sentence(f.severity) },
  object: {
    card: 'name',
    width: (from) => (from.md ? nameWidth : undefined),
    cell: (f, from) => (
      <span className={css['what']}>
        <span className="strong clip">{f.object.name}</span>
        {!from.md && (
          <span className="fs12 t3 clip" title={f.reason}>
            {f.reason}
          </span>
        )}
      </span>
    ),
  },
  reason: { from: 'md', cell: (f) => <span title={f.reason}>{f.reason}</span> },
  since: {
    card: 'fact',
    width: (from) => (from.md ? 120 : 84),
    cell: (f) => <Time at={f.since} />,
  },
  ended_at: { from: 'md', width: 120, cell: (f) => f.ended_at && <Time at={f.ended_at} /> },
  id: { from: 'md', width: 290, cell: (f) => <span className="mono">{f.id}</span> },
})

const idOf = (f: Finding) => f.id

/** The servers that a finding about several servers concerns. */
function AffectedServers({ finding }: { finding: Finding }) {
  const answer = useQuery(query(findingAffected, { params: { id: finding.id } }))
  if (answer.data === undefined) return <Pending of={answer} boxed={false} rows={2} />
  return (
    <ul aria-label={`Servers of the finding about ${finding.object.name}`}>
      {answer.data.items.map((s) => (
        <li key={s.id}>
          <a href={paths.server(s.id)}>{s.name}</a>{' '}
          <span className="t3">
            since <Time at={s.since} />
            {s.ended_at !== null && (
              <>
                , until <Time at={s.ended_at} />
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  )
}

const Details = ({ finding: f }: { finding: Finding }) => (
  <KeyValue
    rows={[
      ['Finding', findingKinds[f.kind].title],
      ['Why', f.reason],
      [
        'Of',
        <a key="of" href={pageOfFinding(f)}>
          {f.object.name}
        </a>,
      ],
      f.cluster && f.cluster.id !== f.object.id
        ? [
            'Cluster',
            <a key="c" href={paths.cluster(f.cluster.id)}>
              {f.cluster.name}
            </a>,
          ]
        : null,
      [
        'Began',
        f.count === 1 ? (
          <Time key="s" at={f.since} />
        ) : (
          <span key="s">
            {f.count} times, last <Time at={f.since} />
          </span>
        ),
      ],
      f.ended_at === null ? null : ['Ended', <Time key="e" at={f.ended_at} />],
      f.acknowledged === null
        ? null
        : [
            'Acknowledged',
            `${f.acknowledged.by}${f.acknowledged.note === null ? '' : `: ${f.acknowledged.note}`}`,
          ],
      f.affected === null || !allowed(findingAffected).ok
        ? null
        : ['Servers', <AffectedServers key="a" finding={f} />],
    ]}
  />
)

const details = (f: Finding) => (
  <div className={css['detail']}>
    <Details finding={f} />
  </div>
)

/** What is wrong now, or what was. */
export function FindingsPage({
  search,
  setSearch,
}: {
  search: ListSearch
  setSearch: SetListSearch
}) {
  const answer = useQuery(findingsQuery(search))
  const state = useList(findingList.list, findingColumns, { search, setSearch }, answer)
  const { data: clusters } = useQuery(everyCluster)
  const { data: datacenters } = useQuery(everyDatacenter)
  const named = (clusters?.items ?? []).map((c) => ({ value: c.name, text: c.name }))
  // A link from the page of a server names its id.
  const object = search['object']
  const of = clusters?.items.some((c) => c.id === object)
    ? undefined
    : (answer.data?.items.find((f) => f.object.id === object)?.object ??
      (object ? { id: object, name: object } : undefined))
  const options = {
    cluster: named,
    datacenter: (datacenters?.items ?? []).map((d) => ({ value: d.code, text: d.code })),
    object: [
      ...(clusters?.items ?? []).map((c) => ({ value: c.id, text: c.name })),
      ...(of === undefined ? [] : [{ value: of.id, text: of.name }]),
    ],
    // Only a link from an incident names one.
    incident: search['incident'] ? [{ value: search['incident'], text: 'This incident' }] : [],
  }
  return (
    <>
      <PageCount n={answer.data?.total} />
      <ListToolbar
        state={state}
        placeholder="Name, cluster, datacenter or reason"
        options={options}
      >
        {null}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={idOf}
        rowName={(f) => `${findingKinds[f.kind].title}: ${f.object.name}`}
        detail={details}
        actions={(f) => [...remedyActions(f), ...findingActions(f)]}
        empty={
          <Empty
            title="No findings"
            text="What is wrong with servers, clusters, datacenters, channels and Steelyard itself is listed here, with what mends it."
          />
        }
      />
    </>
  )
}

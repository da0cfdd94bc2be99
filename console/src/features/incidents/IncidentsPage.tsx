import { useQuery } from '@tanstack/react-query'
import { effects } from '#contract/incidents/effects.ts'
import { type Incident, incidentList } from '#contract/incidents/incidents.ts'
import { everyCluster, everyDatacenter } from '../../api/every.ts'
import type { PageProps } from '../../api/page.ts'
import { remedyActions } from '../../layout/findings/remedies.ts'
import { incidentActions } from '../../layout/incidents/incident-actions.ts'
import { incidentsQuery } from '../../layout/incidents/incident-queries.ts'
import { incidentSaid, lasted, mended } from '../../layout/incidents/incident-text.ts'
import { ListToolbar, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { paths } from '../../lib/paths.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, none, Time } from '../../ui/table/list-columns.tsx'
import css from './Incidents.module.css'

const incidentColumns = listColumns(incidentList.list, {
  severity: {
    fixed: true,
    card: 'state',
    width: 112,
    cell: (i) => {
      const { tone, word } = incidentSaid(i)
      return <StatusDot tone={tone}>{word}</StatusDot>
    },
  },
  title: {
    fixed: true,
    card: 'name',
    fits: true,
    width: (from) => ({ least: from.md ? 260 : 180 }),
    cell: (i) => (
      <span className={css['what']}>
        <span className="strong">{i.title}</span>
      </span>
    ),
  },
  reason: {
    from: 'lg',
    cell: (i) => (
      <span className="t2 clip" title={i.reason}>
        {i.reason}
      </span>
    ),
  },
  effect: { from: 'xl', width: 190, cell: (i) => effects[i.effect].title },
  assigned: {
    from: 'md',
    width: 130,
    cell: (i) => i.assigned?.to.name ?? <span className="t3">Nobody yet</span>,
  },
  since: {
    card: 'fact',
    width: (from) => (from.md ? 150 : 96),
    cell: (i) => (
      <>
        <Time at={i.since} /> <span className="t3">{lasted(i)}</span>
      </>
    ),
  },
  ended_at: { from: 'md', width: 120, cell: (i) => (i.ended_at ? <Time at={i.ended_at} /> : none) },
  id: { from: 'md', width: 290, cell: (i) => <span className="mono">{i.id}</span> },
})

const idOf = (i: Incident) => i.id
const actionsOf = (i: Incident) => [...remedyActions(mended(i)), ...incidentActions(i)]

/** What has happened, in the order of effect: what is open, or what has ended. */
export function IncidentsPage({ search, setSearch }: PageProps<'/incidents'>) {
  const answer = useQuery(incidentsQuery(search))
  const state = useList(incidentList.list, incidentColumns, { search, setSearch }, answer)
  const { data: clusters } = useQuery(everyCluster)
  const { data: datacenters } = useQuery(everyDatacenter)
  const object = search['object']
  const of = answer.data?.items.flatMap((i) => i.objects).find(({ id }) => id === object)
  const options = {
    cluster: (clusters?.items ?? []).map((c) => ({ value: c.name, text: c.name })),
    datacenter: (datacenters?.items ?? []).map((d) => ({ value: d.code, text: d.code })),
    object: object ? [{ value: object, text: of?.name ?? object }] : [],
  }
  const isPast = search['ended'] === 'true'
  return (
    <>
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Incident, name or reason" options={options}>
        <ActionButton
          icon="bookmark"
          label={isPast ? 'Open incidents' : 'Ended incidents'}
          to={isPast ? paths.incidents() : paths.incidents({ ended: 'true', sort: '-ended_at' })}
        />
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={idOf}
        rowName={(i) => i.title}
        href={(i) => paths.incident(i.id)}
        actions={actionsOf}
        empty={
          <Empty
            title={isPast ? 'Nothing has ended yet' : 'Nothing needs anybody'}
            text="What happens to servers, clusters, datacenters, channels and Steelyard itself is listed here: one incident for all findings with one cause, with what mends it."
            actions={<ActionButton label="All findings" to={paths.findings()} />}
          />
        }
      />
    </>
  )
}

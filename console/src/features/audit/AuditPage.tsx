import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import {
  auditActions,
  auditCsv,
  auditList,
  auditNdjson,
  type AuditRow,
  auditSentence,
  auditVerify,
} from '#contract/audit.ts'
import { userList } from '#contract/users.ts'
import { download } from '../../api/client.ts'
import { query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { AdminPage } from '../../layout/admin/AdminPage.tsx'
import { choosePeriod, sinceChoices, withTime } from '../../layout/lists/period.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import { type ListSearch, narrowingOf } from '../../lib/list-search.ts'
import { reasonOf } from '../../lib/reason.ts'
import { sentence } from '../../lib/text.ts'
import { serverNow } from '../../lib/time/server-time.ts'
import type { Action } from '../../ui/actions.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusReason } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { EventTime } from '../../ui/table/EventTable.tsx'
import { listColumns, none } from '../../ui/table/list-columns.tsx'
import { widest } from '../../ui/table/text-width.ts'
import { actorSaid, objectPage, objectSaid, resultSaid } from './audit-entry.ts'
import { auditQuery } from './audit-queries.ts'
import css from './AuditPage.module.css'
import { EntryDetail } from './EntryDetail.tsx'

const verifyAudit = dialog(() => import('./VerifyAudit.tsx'))

const auditColumns = listColumns(auditList.list, {
  at: { fixed: true, card: 'fact', width: 112, cell: (e) => <EventTime at={e.at} /> },
  actor: {
    from: 'md',
    width: 200,
    cell: (e) => <span className={e.actor === null ? 'clip t3' : 'clip'}>{actorSaid(e)}</span>,
  },
  action: {
    fixed: true,
    card: 'name',
    cell: (e, from) => (
      <span className={css['what']}>
        <span className="clip">{auditSentence(e.action, e.after)}</span>
        {!from.md && (
          <span className="fs12 t3 clip">
            {[...new Set([objectSaid(e), actorSaid(e)])].filter((part) => part !== null).join(', ')}
          </span>
        )}
      </span>
    ),
  },
  target: {
    from: 'md',
    width: (from, rows) => ({
      least: 210,
      most: widest(
        rows.map((e) => `${objectSaid(e) ?? ''} ${e.target?.kind ?? ''}`),
        { least: 210, most: from.xl ? 400 : 330, more: 26 },
      ),
    }),
    cell: (e) => <ObjectOf entry={e} />,
  },
  result: {
    card: 'state',
    width: (from) => (from.md ? 170 : 150),
    cell: (e) => <ResultOf entry={e} />,
  },
  ip: {
    from: 'lg',
    width: 140,
    cell: (e) => (e.ip === null ? none : <span className="mono">{e.ip}</span>),
  },
  seq: { from: 'lg', width: 92, numeric: true },
})

function ObjectOf({ entry }: { entry: AuditRow }) {
  if (entry.target === null) return none
  const { kind } = entry.target
  const page = objectPage(entry)
  const shown = objectSaid(entry) ?? ''
  return (
    <span className={css['object']}>
      {page === null ? (
        <span className="clip">{shown}</span>
      ) : (
        <a className="clip" href={page} title={shown}>
          {shown}
        </a>
      )}
      <span className="fs12 t3">{sentence(kind).toLowerCase()}</span>
    </span>
  )
}

function ResultOf({ entry }: { entry: AuditRow }) {
  const { tone, word, why } = resultSaid(entry)
  return (
    <span title={why ?? undefined}>
      <StatusReason tone={tone} word={word} />
    </span>
  )
}

const detailOf = (entry: AuditRow) => <EntryDetail entry={entry} />

const save = (format: 'CSV' | 'NDJSON', search: ListSearch): Promise<unknown> =>
  download(
    format === 'CSV' ? auditCsv : auditNdjson,
    { query: narrowingOf(auditList, search) },
    `audit.${format.toLowerCase()}`,
  ).catch((error: unknown) =>
    toast.error(`The audit log could not be exported: ${reasonOf(error)}`),
  )

interface AuditPageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** Who did what to which object, when, from where, with what result. */
export const AuditPage = (props: AuditPageProps) => (
  <AdminPage tab="audit">
    <AuditLog {...props} />
  </AdminPage>
)

function AuditLog({ search, setSearch }: AuditPageProps) {
  const answer = useQuery(auditQuery(search))
  const { data: page, refetch } = answer
  const state = useList(auditList.list, auditColumns, { search, setSearch }, answer)
  const { data: users } = useQuery({
    ...query(userList, { query: { per_page: 1000 } }),
    enabled: allowed(userList).ok,
  })
  const [periods] = useState(() => sinceChoices(serverNow()))
  const { about, since, until } = search
  const given = (key: string) => (search[key] ? [{ value: search[key], text: search[key] }] : [])
  const options = {
    action: auditActions
      .filter((action) => about === undefined || about === '' || action.startsWith(`${about}.`))
      .map((action) => ({ value: action, text: action })),
    actor: [
      { value: 'Steelyard', text: 'Steelyard', hint: 'by itself' },
      ...(users?.items ?? []).map((u) => ({ value: u.email, text: u.email, hint: u.name })),
    ],
    target: given('target'),
    ip: given('ip'),
    since: withTime(periods, since),
    until: withTime([], until),
  }
  const [verify, more] = useMemo<[Action, Action[]]>(
    () => [
      { label: 'Verify', icon: 'lock', can: allowed(auditVerify), run: () => verifyAudit() },
      [
        {
          label: 'Choose a period',
          icon: 'filter',
          run: () =>
            choosePeriod({
              since,
              until,
              onPeriod: (period) => setSearch({ page: undefined, ...period }),
            }),
        },
        {
          label: 'Export as CSV',
          icon: 'download',
          can: allowed(auditCsv),
          run: () => save('CSV', search),
        },
        {
          label: 'Export as NDJSON',
          icon: 'download',
          can: allowed(auditNdjson),
          run: () => save('NDJSON', search),
        },
      ],
    ],
    [search, setSearch, since, until],
  )
  const commands = useMemo(
    () => [{ ...verify, label: 'Verify the audit log' }, ...more],
    [verify, more],
  )
  useCommands('Audit log', commands)
  return (
    <>
      <PageCount n={page?.total} />
      <ListToolbar state={state} placeholder="Who, action or object" options={options}>
        <Menu
          label="More actions"
          items={[
            { label: 'Refresh', icon: 'refresh', run: () => void refetch() },
            verify,
            ...more,
          ]}
          trigger={<IconButton icon="more" label="More actions" />}
        />
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(e) => String(e.seq)}
        rowName={(e) => `entry ${e.seq}`}
        detail={detailOf}
        empty={
          <Empty
            title="No entries yet"
            text="Everything that users and Steelyard change is recorded here, and so are refused sign-ins."
          />
        }
      />
    </>
  )
}

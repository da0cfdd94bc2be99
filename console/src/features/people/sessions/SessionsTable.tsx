import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { no, yes } from '#contract/rule.ts'
import { type Session, sessionEnd, sessionList } from '#contract/sessions.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { ListToolbar, type SetListSearch, useList } from '../../../layout/lists/use-list.tsx'
import { PageCount } from '../../../layout/navigation/Breadcrumbs.tsx'
import type { ListSearch } from '../../../lib/list-search.ts'
import { programOf } from '../user-agent.ts'
import { type Action, confirm } from '../../../ui/actions.ts'
import { Empty } from '../../../ui/feedback/States.tsx'
import { Badge } from '../../../ui/feedback/Status.tsx'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../../ui/table/list-columns.tsx'
import { sessionsQuery, type Whose } from '../people-queries.ts'

const nameOf = (s: Session) => `${programOf(s.user_agent)}, ${s.ip}`

const sessionColumns = listColumns(sessionList.list, {
  id: { from: 'xl', width: 290, cell: (s) => <span className="mono">{s.id}</span> },
  user: {
    from: 'sm',
    width: (from) => (from.md ? 220 : 178),
    cell: (s) => <span className="clip">{s.user.email}</span>,
  },
  program: {
    card: 'name',
    cell: (s) => (
      <span className="row">
        <span className="clip" title={s.user_agent}>
          {programOf(s.user_agent)}
        </span>
        {s.current && <Badge tone="accent">This session</Badge>}
      </span>
    ),
  },
  ip: {
    card: 'state',
    width: (from) => (from.md ? 150 : from.sm ? 106 : undefined),
    cell: (s, from) => (
      <>
        {!from.sm && <span className="clip">{s.user.email}</span>}
        <span className="mono">{s.ip}</span>
      </>
    ),
  },
  last_used_at: {
    card: 'fact',
    width: (from) => (from.md ? 120 : 92),
    cell: (s) => <Time at={s.last_used_at} />,
  },
  expires_at: { from: 'md', width: 110 },
})

const actionsOf = (s: Session): Action[] => [
  {
    label: 'End session',
    icon: 'log-out',
    danger: true,
    can: s.current ? no('This is the session that you are using: log out instead') : yes,
    run: () =>
      confirm({
        title: `End the session of ${s.user.email}?`,
        label: 'End session',
        text: `${nameOf(s)} is signed out at once. Unsaved changes there are lost, except for drafts.`,
        danger: true,
        act: async () => {
          await call(sessionEnd, { params: { id: s.id } })
          await invalidate(sessionList)
        },
      }),
  },
]

interface SessionsTableProps {
  search: ListSearch
  setSearch: SetListSearch
  whose: Whose
  children?: ReactNode
}

/** Active sessions: signed-in devices and programs. */
export function SessionsTable({ search, setSearch, whose, children }: SessionsTableProps) {
  const answer = useQuery(sessionsQuery(search, whose))
  const state = useList(sessionList.list, sessionColumns, { search, setSearch }, answer)
  return (
    <>
      <PageCount n={whose === undefined ? undefined : answer.data?.total} />
      <ListToolbar state={state} placeholder="Address, program or user" options={{}} saves={false}>
        {children}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(s) => s.id}
        rowName={nameOf}
        actions={actionsOf}
        grows
        empty={<Empty title="No active sessions" />}
      />
    </>
  )
}

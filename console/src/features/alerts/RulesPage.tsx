import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ComponentProps, useMemo } from 'react'
import {
  type AlertRule,
  alertRuleCreate,
  alertRuleList,
  alertRuleRemove,
  alertRuleUpdate,
  matchersText,
  ruleTime,
} from '#contract/alerts/rules.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { reasonOf } from '../../lib/reason.ts'
import { type Action, confirm } from '../../ui/actions.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusReason } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns } from '../../ui/table/list-columns.tsx'
import { ownNames } from '../../ui/table/text-width.ts'
import { AlertsFrame } from './AlertsFrame.tsx'
import type EditRule from './EditRule.tsx'

const editRule = dialog<ComponentProps<typeof EditRule>>(() => import('./EditRule.tsx'))

const ruleColumns = listColumns(alertRuleList.list, {
  name: {
    fixed: true,
    card: 'name',
    width: ownNames,
  },
  what: { card: 'fact', cell: (r) => <span className="clip">{matchersText(r)}</span> },
  channels: { from: 'md' },
  when: { card: 'fact', width: 150, cell: (r) => ruleTime(r) },
  remind_hours: { from: 'md', width: 110 },
  paused: {
    card: 'state',
    width: 110,
    cell: (r) => (
      <StatusReason tone={r.paused ? 'off' : 'ok'} word={r.paused ? 'Paused' : 'Active'} />
    ),
  },
})

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** Which findings are sent to which channels. */
export function RulesPage({ search, setSearch }: PageProps) {
  const answer = useQuery({
    ...query(alertRuleList, { query: askedOf(alertRuleList, search) }),
    placeholderData: keepPreviousData,
  })
  const state = useList(alertRuleList.list, ruleColumns, { search, setSearch }, answer)
  const add = useMemo<Action>(
    () => ({
      label: 'Add rule',
      icon: 'add',
      can: allowed(alertRuleCreate),
      run: () => editRule({}),
    }),
    [],
  )
  useCommands(
    'Rules',
    useMemo(() => [add], [add]),
  )
  return (
    <AlertsFrame tab="rules">
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Name" options={{}}>
        {!state.isEmpty && <ActionButton {...add} kind="primary" />}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(r) => r.id}
        rowName={(r) => r.name}
        actions={ruleActions}
        empty={
          <Empty
            title="No rules"
            text="Without a rule, no channel is notified."
            actions={<ActionButton {...add} kind="primary" />}
          />
        }
      />
    </AlertsFrame>
  )
}

const pause = async ({ id, version, paused }: AlertRule): Promise<void> => {
  try {
    await call(alertRuleUpdate, { params: { id }, body: { paused: !paused } }, { version })
    await invalidate(alertRuleList)
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

const ruleActions = (rule: AlertRule): Action[] => [
  { label: 'Edit', icon: 'edit', can: allowed(alertRuleUpdate), run: () => editRule({ rule }) },
  {
    label: rule.paused ? 'Resume' : 'Pause',
    can: allowed(alertRuleUpdate),
    run: () => pause(rule),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: allowed(alertRuleRemove),
    run: () =>
      confirm({
        title: `Remove ${rule.name}?`,
        label: 'Remove rule',
        text: 'Channels are still notified when the findings that it sent end.',
        danger: true,
        act: async () => {
          await call(alertRuleRemove, { params: { id: rule.id } }, { version: rule.version })
          await invalidate(alertRuleList)
        },
      }),
  },
]

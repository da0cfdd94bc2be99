import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import {
  type Silence,
  silenceCreate,
  silencedText,
  silenceList,
  silenceRemove,
  silenceStates,
} from '#contract/alerts/silences.ts'
import { windowText } from '#contract/clusters/changes/window.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { mayChangeObject } from '../../layout/findings/finding-actions.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { useNow } from '../../lib/time/use-now.ts'
import { type Action, both, confirm } from '../../ui/actions.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusReason, type Tone } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../ui/table/list-columns.tsx'
import { AlertsFrame } from './AlertsFrame.tsx'
import { removalOf, stateNow } from './silence-removal.ts'

const addSilence = dialog(() => import('./AddSilence.tsx'))

const tones: Readonly<Record<Silence['state'], Tone>> = {
  active: 'busy',
  waiting: 'idle',
  ended: 'off',
}

function State({ silence }: { silence: Silence }) {
  const state = stateNow(silence, useNow(true))
  return <StatusReason tone={tones[state]} word={silenceStates[state]} />
}

const silenceColumns = listColumns(silenceList.list, {
  note: { fixed: true, card: 'name', cell: (s) => <span className="clip">{s.note}</span> },
  what: { card: 'fact', cell: (s) => <span className="clip">{silencedText(s)}</span> },
  state: {
    card: 'state',
    width: 110,
    cell: (s) => <State silence={s} />,
  },
  starts_at: { from: 'lg', width: 130, cell: (s) => <Time at={s.starts_at} /> },
  ends_at: { from: 'md', width: 130, cell: (s) => <Time at={s.ends_at} /> },
  repeats: {
    from: 'lg',
    cell: (s) =>
      s.repeats === null ? null : <span className="clip">{windowText(s.repeats)}</span>,
  },
  by: { from: 'lg', width: 180, cell: (s) => <span className="clip">{s.by}</span> },
})

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** Findings that are not sent for a time. */
export function SilencesPage({ search, setSearch }: PageProps) {
  const answer = useQuery({
    ...query(silenceList, { query: askedOf(silenceList, search) }),
    placeholderData: keepPreviousData,
  })
  const state = useList(silenceList.list, silenceColumns, { search, setSearch }, answer)
  const add = useMemo<Action>(
    () => ({
      label: 'Add silence',
      icon: 'add',
      can: allowed(silenceCreate),
      run: () => addSilence(),
    }),
    [],
  )
  useCommands(
    'Silences',
    useMemo(() => [add], [add]),
  )
  return (
    <AlertsFrame tab="silences">
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Why or who" options={{}}>
        {!state.isEmpty && <ActionButton {...add} kind="primary" />}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(s) => s.id}
        rowName={(s) => s.note}
        actions={silenceActions}
        empty={
          <Empty
            title="Nothing is silenced"
            text="A silence keeps findings from being sent for a time, such as during works in a datacenter. They are still found and shown."
            actions={<ActionButton {...add} kind="primary" />}
          />
        }
      />
    </AlertsFrame>
  )
}

const silenceActions = (silence: Silence): Action[] => {
  const { action, ...words } = removalOf(silence)
  return [
    {
      label: action,
      icon: 'trash',
      danger: true,
      can: both(allowed(silenceRemove), mayChangeObject(silence.object)),
      run: () =>
        confirm({
          ...words,
          act: async () => {
            await call(silenceRemove, { params: { id: silence.id } }, { version: silence.version })
            await invalidate(silenceList)
          },
        }),
    },
  ]
}

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ComponentProps, useMemo } from 'react'
import {
  type Channel,
  channelCreate,
  channelList,
  channelPlace,
  channelRemove,
  channelTest,
  channelUpdate,
} from '#contract/alerts/channels.ts'
import { deliveryList } from '#contract/alerts/deliveries.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { paths } from '../../lib/paths.ts'
import { reasonOf } from '../../lib/reason.ts'
import { duration } from '../../lib/time/time.ts'
import { type Action, confirm } from '../../ui/actions.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusReason } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../ui/table/list-columns.tsx'
import { ownNames } from '../../ui/table/text-width.ts'
import { AlertsFrame } from './AlertsFrame.tsx'
import type EditChannel from './EditChannel.tsx'

const editChannel = dialog<ComponentProps<typeof EditChannel>>(() => import('./EditChannel.tsx'))

const stateOf = ({ paused, problem, verified_at }: Channel) => {
  if (paused) return { tone: 'off', word: 'Paused' } as const
  if (problem !== null) return { tone: 'danger', word: 'Failing' } as const
  return verified_at === null
    ? ({ tone: 'idle', word: 'Not tested' } as const)
    : ({ tone: 'ok', word: 'Works' } as const)
}

const channelColumns = listColumns(channelList.list, {
  name: {
    fixed: true,
    card: 'name',
    width: ownNames,
  },
  kind: { card: 'fact', width: 120 },
  place: { from: 'md', cell: (c) => <span className="mono clip">{channelPlace(c)}</span> },
  verified_at: {
    from: 'md',
    width: 120,
    cell: (c) =>
      c.verified_at === null ? <span className="t3">Never</span> : <Time at={c.verified_at} />,
  },
  problem: {
    card: 'state',
    cell: (c) => <StatusReason {...stateOf(c)} why={c.paused ? null : c.problem} tall />,
  },
})

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** Where findings are sent. */
export function ChannelsPage({ search, setSearch }: PageProps) {
  const answer = useQuery({
    ...query(channelList, { query: askedOf(channelList, search) }),
    placeholderData: keepPreviousData,
  })
  const state = useList(channelList.list, channelColumns, { search, setSearch }, answer)
  const add = useMemo<Action>(
    () => ({
      label: 'Add channel',
      icon: 'add',
      can: allowed(channelCreate),
      run: () => editChannel({}),
    }),
    [],
  )
  useCommands(
    'Channels',
    useMemo(() => [add], [add]),
  )
  return (
    <AlertsFrame tab="channels">
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Name or host" options={{}}>
        {!state.isEmpty && <ActionButton {...add} kind="primary" />}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(c) => c.id}
        rowName={(c) => c.name}
        actions={channelActions}
        empty={
          <Empty
            title="Nobody is notified yet"
            text="Findings are sent to channels: mail, a webhook, or an Alertmanager. A new channel is notified at once of what is down or degraded, and once a day of what needs attention. The rules can be changed."
            actions={<ActionButton {...add} kind="primary" />}
          />
        }
      />
    </AlertsFrame>
  )
}

async function test({ id, name }: Channel): Promise<void> {
  try {
    const { ok, problem, took_ms } = await call(channelTest, { params: { id } })
    await invalidate(channelList, deliveryList)
    if (ok) toast.success(`A test message arrived at ${name} in ${duration(took_ms)}`)
    else toast.error(problem ?? `The test message did not arrive at ${name}`)
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

const pause = async ({ id, version, paused }: Channel): Promise<void> => {
  try {
    await call(channelUpdate, { params: { id }, body: { paused: !paused } }, { version })
    await invalidate(channelList)
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

const channelActions = (channel: Channel): Action[] => [
  { label: 'Send a test', icon: 'check', can: allowed(channelTest), run: () => test(channel) },
  {
    label: 'Edit',
    icon: 'edit',
    can: allowed(channelUpdate),
    run: () => editChannel({ channel }),
  },
  { label: 'Deliveries', icon: 'grip', to: paths.deliveries({ channel: channel.name }) },
  {
    label: channel.paused ? 'Resume' : 'Pause',
    can: allowed(channelUpdate),
    run: () => pause(channel),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: allowed(channelRemove),
    run: () =>
      confirm({
        title: `Remove ${channel.name}?`,
        label: 'Remove channel',
        text: 'Messages that wait for it are dropped. Those that were sent stay in the list of deliveries.',
        danger: true,
        act: async () => {
          await call(channelRemove, { params: { id: channel.id } }, { version: channel.version })
          await invalidate(channelList, deliveryList)
        },
      }),
  },
]

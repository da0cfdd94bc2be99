import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ComponentProps } from 'react'
import { channelList } from '#contract/alerts/channels.ts'
import {
  canSendAgain,
  type Delivery,
  deliveryList,
  deliveryRetry,
  deliveryStates,
} from '#contract/alerts/deliveries.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { reasonOf } from '../../lib/reason.ts'
import { type Action, both } from '../../ui/actions.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusReason, type Tone } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../ui/table/list-columns.tsx'
import { namesPx } from '../../ui/table/text-width.ts'
import { AlertsFrame } from './AlertsFrame.tsx'
import type ShowDelivery from './ShowDelivery.tsx'

const showDelivery = dialog<ComponentProps<typeof ShowDelivery>>(() => import('./ShowDelivery.tsx'))

const tones: Readonly<Record<Delivery['state'], Tone>> = {
  waiting: 'busy',
  sent: 'ok',
  failed: 'danger',
}

const deliveryColumns = listColumns(deliveryList.list, {
  created_at: { fixed: true, width: 130, cell: (d) => <Time at={d.created_at} /> },
  channel: {
    from: 'md',
    width: (_, rows) =>
      namesPx(
        rows.map((d) => d.channel.name),
        100,
      ),
    cell: (d) => <span className="clip">{d.channel.name}</span>,
  },
  subject: { card: 'name', cell: (d) => <span className="clip">{d.subject}</span> },
  state: {
    card: 'state',
    cell: (d) => (
      <StatusReason tone={tones[d.state]} word={deliveryStates[d.state]} why={d.problem} tall />
    ),
  },
  attempts: { from: 'lg', width: 100 },
  // The state shows the reason too.
  problem: { from: 'xl' },
})

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** The messages to channels. */
export function DeliveriesPage({ search, setSearch }: PageProps) {
  const answer = useQuery({
    ...query(deliveryList, { query: askedOf(deliveryList, search) }),
    placeholderData: keepPreviousData,
  })
  const { data: channels } = useQuery(
    query(channelList, { query: { per_page: channelList.list.mostPerPage } }),
  )
  const state = useList(deliveryList.list, deliveryColumns, { search, setSearch }, answer)
  const options = {
    channel: (channels?.items ?? []).map((c) => ({ value: c.name, text: c.name })),
  }
  return (
    <AlertsFrame tab="deliveries">
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Message or channel" options={options}>
        {null}
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(d) => d.id}
        rowName={(d) => d.subject}
        actions={deliveryActions}
        empty={
          <Empty
            title="No messages yet"
            text="Each message to a channel is listed here for 30 days, with every attempt to send it."
          />
        }
      />
    </AlertsFrame>
  )
}

const sendAgain = async (id: string): Promise<void> => {
  try {
    await call(deliveryRetry, { params: { id } })
    await invalidate(deliveryList)
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

const deliveryActions = (delivery: Delivery): Action[] => [
  { label: 'Show', icon: 'eye', run: () => showDelivery({ id: delivery.id }) },
  {
    label: 'Send again',
    icon: 'refresh',
    can: both(allowed(deliveryRetry), canSendAgain(delivery)),
    run: () => sendAgain(delivery.id),
  },
]

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ComponentProps, useMemo } from 'react'
import {
  type Store,
  storeCreate,
  storeList,
  storePlace,
  storeRemove,
  storeTest,
  storeUpdate,
} from '#contract/storage/stores.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { AdminPage } from '../../layout/admin/AdminPage.tsx'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
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
import { changeStore } from './change-store.ts'
import type EditStore from './EditStore.tsx'

const addStore = dialog(() => import('./AddStore.tsx'))
const editStore = dialog<ComponentProps<typeof EditStore>>(() => import('./EditStore.tsx'))

const storeColumns = listColumns(storeList.list, {
  name: {
    fixed: true,
    card: 'name',
    width: ownNames,
  },
  kind: { card: 'fact', width: 90 },
  place: { from: 'md', cell: (s) => <span className="mono clip">{storePlace(s)}</span> },
  verified_at: {
    from: 'md',
    width: 120,
    cell: (s) =>
      s.verified_at === null ? <span className="t3">Never</span> : <Time at={s.verified_at} />,
  },
  problem: {
    card: 'state',
    cell: (s) => (
      <StatusReason
        tone={s.problem === null ? 'ok' : 'danger'}
        word={s.problem === null ? 'Usable' : 'Not usable'}
        why={s.problem}
        tall
      />
    ),
  },
})

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** The stores of snapshots and backups. */
export const StoresPage = (props: PageProps) => (
  <AdminPage tab="stores">
    <Stores {...props} />
  </AdminPage>
)

function Stores({ search, setSearch }: PageProps) {
  const answer = useQuery({
    ...query(storeList, { query: askedOf(storeList, search) }),
    placeholderData: keepPreviousData,
  })
  const state = useList(storeList.list, storeColumns, { search, setSearch }, answer)
  const add = useMemo<Action>(
    () => ({ label: 'Add store', icon: 'add', can: allowed(storeCreate), run: () => addStore() }),
    [],
  )
  useCommands(
    'Stores',
    useMemo(() => [add], [add]),
  )
  return (
    <>
      <PageCount n={answer.data?.total} />
      <ListToolbar state={state} placeholder="Name or place" options={{}}>
        <ActionButton {...add} kind="primary" />
      </ListToolbar>
      <DataTable
        {...state.table}
        rowKey={(s) => s.id}
        rowName={(s) => s.name}
        actions={storeActions}
        empty={
          <Empty
            title="No stores yet"
            text="Snapshots of clusters and backups of Steelyard are kept in a store: a folder on Steelyard's machine, or a bucket of an S3-compatible service."
            actions={<ActionButton {...add} kind="primary" />}
          />
        }
      />
    </>
  )
}

async function test({ id, name }: Store): Promise<void> {
  try {
    const { ok, problem, took_ms } = await call(storeTest, { params: { id } })
    await invalidate(storeList)
    if (ok) toast.success(`${name} works: a file was written and read back in ${duration(took_ms)}`)
    else toast.error(problem ?? `${name} can't be used`)
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

const storeActions = (store: Store): Action[] => [
  { label: 'Edit', icon: 'edit', can: allowed(storeUpdate), run: () => editStore({ store }) },
  { label: 'Test', icon: 'check', can: allowed(storeTest), run: () => test(store) },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: allowed(storeRemove),
    run: () =>
      confirm({
        title: `Remove ${store.name}?`,
        label: 'Remove store',
        text: 'The store is removed from Steelyard. The files in it stay.',
        danger: true,
        act: async () => {
          await changeStore(store, (version) =>
            call(storeRemove, { params: { id: store.id } }, { version }),
          )
          await invalidate(storeList)
        },
      }),
  },
]

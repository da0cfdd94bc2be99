import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import {
  type Backup,
  backupCreate,
  backupList,
  backupRemove,
  backupScheduleGet,
  backupScheduleRemove,
  backupScheduleSet,
  backupVerify,
  canVerifyBackup,
} from '#contract/storage/backups.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { AdminPage } from '../../layout/admin/AdminPage.tsx'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import { readBack } from '../../layout/storage/read-back.ts'
import { SchedulePanel } from '../../layout/storage/SchedulePanel.tsx'
import type { ScheduleOf } from '../../layout/storage/schedule.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { reasonOf } from '../../lib/reason.ts'
import { curlOf } from '../../lib/shell.ts'
import { sentence } from '../../lib/text.ts'
import { exact } from '../../lib/time/time.ts'
import { type Action, both, confirm } from '../../ui/actions.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { StatusReason, type Tone } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, Time } from '../../ui/table/list-columns.tsx'
import { namesPx } from '../../ui/table/text-width.ts'
import { Command, copyText } from '../../ui/text/Copyable.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import css from './Backups.module.css'

const takeBackup = dialog(() => import('./TakeBackup.tsx'))

const tones: Readonly<Record<Backup['status'], Tone>> = {
  taking: 'busy',
  ready: 'ok',
  failed: 'danger',
  removing: 'busy',
}

const backupColumns = listColumns(backupList.list, {
  taken_at: {
    fixed: true,
    card: 'name',
    width: 130,
    cell: (b) => <Time at={b.taken_at ?? b.created_at} />,
  },
  status: {
    card: 'state',
    width: 170,
    cell: (b) => (
      <StatusReason tone={tones[b.status]} word={sentence(b.status)} why={b.reason} tall />
    ),
  },
  size: { card: 'fact', width: 100 },
  store: {
    from: 'md',
    width: (_, rows) =>
      namesPx(
        rows.map((b) => b.store.name),
        80,
      ),
    cell: (b) => <span className="clip">{b.store.name}</span>,
  },
  key: {
    from: 'md',
    cell: (b) => (
      <span className="mono clip" title={b.key}>
        {b.key}
      </span>
    ),
  },
  made_by: { from: 'lg', width: 110 },
  // The status shows the reason too.
  reason: { from: 'xl' },
})

interface PageProps {
  search: ListSearch
  setSearch: SetListSearch
}

/** Steelyard's own backups: the schedule, the files in stores, and what a restore takes. */
export const BackupsPage = (props: PageProps) => (
  <AdminPage tab="backups">
    <Backups {...props} />
  </AdminPage>
)

const schedule: Omit<ScheduleOf, 'can'> = {
  title: 'Backups of Steelyard',
  things: 'backups',
  none: 'No backups are taken automatically. Clusters run on without Steelyard, but its users, clusters and audit log can only be restored from a backup.',
  save: (body, version) =>
    call(backupScheduleSet, { body }, version === undefined ? {} : { version }),
  remove: (version) => call(backupScheduleRemove, {}, { version }),
  refresh: () => invalidate(backupScheduleGet),
  curl: (body) => curlOf(backupScheduleSet, {}, body),
}

function Backups({ search, setSearch }: PageProps) {
  const answer = useQuery({
    ...query(backupList, { query: askedOf(backupList, search) }),
    placeholderData: keepPreviousData,
  })
  const planned = useQuery(query(backupScheduleGet))
  const state = useList(backupList.list, backupColumns, { search, setSearch }, answer)
  const take = useMemo<Action>(
    () => ({
      label: 'Take a backup',
      icon: 'add',
      can: allowed(backupCreate),
      run: () => takeBackup(),
    }),
    [],
  )
  useCommands(
    'Backups',
    useMemo(() => [take], [take]),
  )
  return (
    <div className="stack">
      <PageCount n={answer.data?.total} />
      <div className={css['panels']}>
        <SchedulePanel of={{ ...schedule, can: allowed(backupScheduleSet) }} answer={planned} />
        <RestorePanel />
      </div>
      <div>
        <ListToolbar state={state} placeholder="Store or file" options={{}}>
          {!state.isEmpty && <ActionButton {...take} kind="primary" />}
        </ListToolbar>
        <DataTable
          {...state.table}
          rowKey={(b) => b.id}
          rowName={(b) => `the backup of ${timeOf(b)}`}
          actions={backupActions}
          grows
          empty={
            <Empty
              title="No backups yet"
              text="A backup contains the database, the key file and the escrow files, encrypted with a passphrase that is in a file on Steelyard's machine."
              actions={<ActionButton {...take} kind="primary" />}
            />
          }
        />
      </div>
    </div>
  )
}

const RestorePanel = () => (
  <Panel title="What a restore takes">
    <div className="stack stack2 fs13 t2">
      <ol className={css['steps']}>
        <li>
          A machine with this version of Steelyard or a newer one, and an empty data folder or
          database.
        </li>
        <li>
          The backup’s file, copied from its store. Its name is in the list, and in the menu of its
          row.
        </li>
        <li>
          The passphrase. Keep a copy of it away from Steelyard’s machine: without it nobody can
          open a backup.
        </li>
      </ol>
      <Command command="steelyard restore FILE" />
      <p>Clusters are held after a restore, until somebody has looked at each.</p>
      <a href="/docs/restoring-steelyard">Restoring Steelyard, step by step</a>
    </div>
  </Panel>
)

const verify = ({ id }: Backup): Promise<void> =>
  readBack(
    'backup',
    id,
    () => call(backupVerify, { params: { id } }),
    () => invalidate(backupList),
  )

const copyName = async ({ key }: Backup): Promise<void> => {
  try {
    await copyText(key)
    toast.success('The name of the file is copied')
  } catch (error) {
    toast.error(reasonOf(error))
  }
}

const timeOf = ({ taken_at, created_at }: Backup): string => exact(taken_at ?? created_at)

const backupActions = (backup: Backup): Action[] => [
  { label: 'Copy the name of the file', icon: 'copy', run: () => copyName(backup) },
  {
    label: 'Verify',
    icon: 'check',
    can: both(allowed(backupVerify), canVerifyBackup(backup)),
    run: () => verify(backup),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: allowed(backupRemove),
    run: () =>
      confirm({
        title: 'Remove a backup of Steelyard?',
        label: 'Remove backup',
        text: `That of ${timeOf(backup)}: its file is removed from the store ${backup.store.name}. This cannot be undone.`,
        danger: true,
        act: async () => {
          await call(backupRemove, { params: { id: backup.id } }, { version: backup.version })
          await invalidate(backupList)
        },
      }),
  },
]

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import {
  type Bmc,
  bmcAdd,
  bmcConfirm,
  bmcList,
  bmcMatch,
  bmcPlace,
  bmcRemove,
  bmcUpdate,
  canConfirmBmc,
} from '#contract/bmcs/bmcs.ts'
import { bmcCredentialCreate } from '#contract/bmcs/credentials.ts'
import { all, no, yes } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { ListToolbar, type SetListSearch, useList } from '../../layout/lists/use-list.tsx'
import { PageCount } from '../../layout/navigation/Breadcrumbs.tsx'
import { OperationLink } from '../../layout/operations/OperationLink.tsx'
import { useCommands } from '../../layout/search/commands.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'
import { paths } from '../../lib/paths.ts'
import { type Action, confirm, only } from '../../ui/actions.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { Alert, StatusReason } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { DataTable } from '../../ui/table/DataTable.tsx'
import { listColumns, none, Time } from '../../ui/table/list-columns.tsx'
import { bmcStates, powerStates } from './bmc-states.ts'

const addBmcs = dialog<{ begun: (operation: string) => void }>(() => import('./AddBmcs.tsx'))
const addCredential = dialog(() => import('./AddCredential.tsx'))
const confirmBmcs = dialog<{ bmcs: readonly Bmc[] }>(() => import('./ConfirmBmcs.tsx'))
const signInBmc = dialog<{ bmc: Bmc }>(() => import('./SignInBmc.tsx'))
const matchBmc = dialog<{ bmc: Bmc }>(() => import('./MatchBmc.tsx'))

/** Only BMCs whose certificate somebody has to look at. */
const unconfirmed = query(bmcList, { query: { status: 'unconfirmed', per_page: 100 } })

export const bmcsQuery = (search: ListSearch) => query(bmcList, { query: askedOf(bmcList, search) })

const bmcColumns = listColumns(bmcList.list, {
  address: {
    fixed: true,
    card: 'name',
    width: 190,
    cell: (b) => <span className="mono">{bmcPlace(b)}</span>,
  },
  status: {
    card: 'state',
    cell: (b) => (
      <StatusReason
        tone={bmcStates[b.status].tone}
        word={bmcStates[b.status].word}
        why={b.reason}
        tall
      />
    ),
  },
  server: {
    card: 'fact',
    width: 150,
    cell: (b) =>
      b.server === null ? (
        none
      ) : (
        <a className="clip" href={paths.server(b.server.id)}>
          {b.server.name}
        </a>
      ),
  },
  power: { card: 'fact', width: 110, cell: (b) => powerStates[b.power.state].word },
  vendor: { from: 'lg', width: 110 },
  model: { from: 'md', width: 170 },
  firmware: { from: 'xl', width: 110 },
  answered_at: {
    from: 'lg',
    width: 110,
    cell: (b) =>
      b.answered_at === null ? <span className="t3">Never</span> : <Time at={b.answered_at} />,
  },
})

/** BMCs of servers: addresses, certificates to confirm, passwords, and what they switch. */
export function BmcsPage({ search, setSearch }: { search: ListSearch; setSearch: SetListSearch }) {
  const answer = useQuery({ ...bmcsQuery(search), placeholderData: keepPreviousData })
  const { data: waiting } = useQuery(unconfirmed)
  const state = useList(bmcList.list, bmcColumns, { search, setSearch }, answer)
  const { operation } = search
  const acts = useMemo<readonly [Action, Action]>(
    () => [
      {
        label: 'Add BMCs',
        icon: 'add',
        can: allowed(bmcAdd),
        run: () => addBmcs({ begun: (id) => setSearch({ operation: id }) }),
      },
      {
        label: 'Add credential',
        icon: 'key',
        can: allowed(bmcCredentialCreate),
        run: () => addCredential(),
      },
    ],
    [setSearch],
  )
  useCommands('BMCs', acts)
  const [add, credential] = acts
  return (
    <>
      <h1 className="sr">Bare metal by BMC</h1>
      <PageCount n={answer.data?.total} />
      <ListToolbar
        state={state}
        placeholder="Address, server, serial or MAC"
        options={{ server: [], credential: [] }}
      >
        <ActionButton {...credential} icon={undefined} />
        <ActionButton {...add} icon={undefined} kind="primary" />
      </ListToolbar>
      <div className="stack">
        {operation !== undefined && (
          <Alert tone="info">
            Each address is looked at, and BMCs that answer appear in the list. The result of each
            address: <OperationLink id={operation} />
          </Alert>
        )}
        {waiting !== undefined && waiting.total > 0 && (
          <Alert
            tone="warn"
            action={
              <Button
                size="small"
                can={allowed(bmcConfirm)}
                onClick={() => void confirmBmcs({ bmcs: waiting.items })}
              >
                Compare fingerprints
              </Button>
            }
          >
            {counted(waiting.total, 'BMC')} showed a certificate that nobody has confirmed. No
            password is sent before.
          </Alert>
        )}
      </div>
      <DataTable
        {...state.table}
        rowKey={(b) => b.id}
        rowName={bmcPlace}
        actions={bmcActions}
        grows
        empty={
          <Empty
            title="No BMCs yet"
            text="With the address of its BMC, Steelyard switches a server on and off, and lists servers that nobody has booted yet."
            actions={<ActionButton {...add} kind="primary" />}
          />
        }
      />
    </>
  )
}

const bmcActions = (bmc: Bmc): Action[] => [
  {
    label: 'Compare the fingerprint',
    icon: 'check',
    can: all(allowed(bmcConfirm), canConfirmBmc(bmc)),
    run: () => confirmBmcs({ bmcs: [bmc] }),
  },
  {
    label: 'Address and password',
    icon: 'key',
    can: allowed(bmcUpdate),
    run: () => signInBmc({ bmc }),
  },
  ...only(bmc.server === null, {
    label: 'Decide the server',
    icon: 'server',
    can: all(
      allowed(bmcMatch),
      bmc.status === 'unconfirmed' ? no('Its certificate is not confirmed yet') : yes,
    ),
    run: () => matchBmc({ bmc }),
  }),
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: allowed(bmcRemove),
    run: () =>
      confirm({
        title: `Remove the BMC ${bmcPlace(bmc)}?`,
        label: 'Remove BMC',
        text:
          bmc.server === null
            ? 'Steelyard signs out and forgets its password. Nothing changes on the BMC.'
            : `Steelyard signs out and forgets its password. It can't switch ${bmc.server.name} any more, and a server that has not booted yet is removed with its BMC.`,
        danger: true,
        act: async () => {
          await call(bmcRemove, { params: { id: bmc.id } }, { version: bmc.version })
          await invalidate(bmcList)
          toast.success(`${bmcPlace(bmc)} was removed`)
        },
      }),
  },
]

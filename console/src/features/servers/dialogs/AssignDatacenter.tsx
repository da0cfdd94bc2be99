import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { canMoveServer, type ListedServer, serverUpdate } from '#contract/servers/servers.ts'
import { no, yes } from '#contract/rule.ts'
import { count, counted } from '#contract/words.ts'
import { everyDatacenter } from '../../../api/every.ts'
import { call } from '../../../api/client.ts'
import { curlOf } from '../../../lib/shell.ts'
import { showResults } from '../../../ui/actions.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { type BulkDialog, type ItemResult, namesOf, resultsTitle, sorted, toEach } from './bulk.ts'
import { refreshServers } from '../server-queries.ts'

/** The explicit choice of no datacenter; '' means nothing chosen yet. */
const none = 'none'

const { Choose } = fieldsFor<{ datacenter: string }>()

/**
 * Assigns servers to a datacenter. The action can be undone, so it needs no confirmation. Servers
 * that can't be moved are listed with the reason.
 */
export default function AssignDatacenter({ servers, done }: BulkDialog) {
  const { close } = useDialog()
  const { data: datacenters, error: unknown, refetch } = useQuery(everyDatacenter)
  // The servers as they were when the dialog opened, because the list behind the dialog keeps
  // updating.
  const [{ able, unable }] = useState(() => sorted(servers, canMoveServer))
  const same = new Set(able.map((s) => s.datacenter?.id ?? none))
  const [ended, setEnded] = useState(0)
  const what = servers.length === 1 ? servers[0]!.name : counted(servers.length, 'server')

  const move = async (list: readonly ListedServer[], to: (s: ListedServer) => string | null) => {
    const moved = await toEach(
      list,
      (s) => call(serverUpdate, { params: { id: s.id }, body: { datacenter_id: to(s) } }),
      setEnded,
    )
    await refreshServers()
    return moved
  }
  const undo = async (list: readonly ListedServer[]) => {
    const back = await move(list, (s) => s.datacenter?.id ?? null)
    const failed = back.filter((r) => !r.ok)
    if (failed.length > 0) throw new Error(failed.map((r) => `${r.name}: ${r.reason}`).join(' '))
  }
  const form = useForm({
    initial: { datacenter: same.size === 1 ? [...same][0]! : '' },
    read: ({ datacenter }) => ({ ok: true, body: datacenter === none ? null : datacenter }),
    send: (to) => move(able, () => to),
    done: (moves, to) => {
      const all = [...moves, ...unable]
      const moved = able.filter((s) => all.some((r) => r.id === s.id && r.ok))
      const code = datacenters?.items.find((d) => d.id === to)?.code
      if (moved.length > 0) {
        const them = moved.length === 1 ? moved[0]!.name : counted(moved.length, 'server')
        toast.success(
          code === undefined ? `Datacenter removed from ${them}` : `${them} assigned to ${code}`,
          { undo: () => undo(moved) },
        )
      }
      done?.(all)
      close()
      if (!all.every((r) => r.ok))
        void showResults({ title: resultsTitle(all, 'assigned'), done: 'Assigned', results: all })
    },
  })
  const chosen = form.values.datacenter
  return (
    <FormDialog
      form={form}
      title={`Assign datacenter to ${what}`}
      submit="Assign"
      busyText={able.length > 1 ? `${count(ended)} of ${count(able.length)}` : 'Loading'}
      can={chosen === '' ? no('Choose a datacenter first') : yes}
      command={
        <AsCommand
          api={able
            .map((s) =>
              curlOf(
                serverUpdate,
                { id: s.id },
                { datacenter_id: chosen === none ? null : chosen },
              ),
            )
            .join(' && \\\n')}
          complete={chosen !== '' && able.length > 0}
        />
      }
    >
      {unable.length > 0 && (
        <Unable
          results={unable}
          what="can’t be moved, and stays selected"
          plural="can’t be moved, and stay selected"
        />
      )}
      {able.length > 1 && <p className="fs13 t2">{namesOf(able)}</p>}
      <Choose
        name="datacenter"
        label="Datacenter"
        hint="The site that the machines stand in. Addresses and configuration do not change."
        placeholder="Choose a datacenter"
        options={[
          ...(datacenters?.items ?? []).map((d) => ({
            value: d.id,
            text: d.code,
            more: d.city_name,
          })),
          { value: none, text: 'None' },
        ]}
      />
      {datacenters === undefined && unknown && (
        <Alert
          tone="danger"
          action={
            <Button size="small" onClick={() => void refetch()}>
              Try again
            </Button>
          }
        >
          {unknown.message}
        </Alert>
      )}
    </FormDialog>
  )
}

/** The selected servers that the action doesn't apply to, shown before the action runs. */
export function Unable({
  results,
  what,
  plural,
}: {
  results: readonly ItemResult[]
  what: string
  plural: string
}) {
  return (
    <Alert tone="warn">
      {results.length === 1
        ? `${results[0]!.name} ${what}.`
        : `${counted(results.length, 'server')} ${plural}.`}{' '}
      {results[0]!.reason}.
    </Alert>
  )
}

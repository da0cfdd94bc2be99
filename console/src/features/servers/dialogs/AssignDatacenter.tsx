import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { canMoveServer, type Server, serverUpdate } from '#contract/servers/servers.ts'
import { count, counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { curlOf } from '../../../lib/shell.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { Field, Select } from '../../../ui/inputs/Field.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { type BulkDialog, type ItemResult, namesOf, sorted, toEach } from './bulk.ts'
import { BulkResultsDialog } from './BulkResults.tsx'
import { datacentersQuery, refreshServers } from '../server-queries.ts'

/** None is a choice of its own: '' would be "nothing chosen yet". */
const none = 'none'

/** Says where servers stand. Can be undone, so it asks for no confirmation. What can't be moved says why, and the others are. */
export default function AssignDatacenter({ servers, open, onClose, done }: BulkDialog) {
  const client = useQueryClient()
  const { data: datacenters, error: unknown } = useQuery({ ...datacentersQuery, enabled: open })
  // As they were when the dialog opened: the list goes on living behind it.
  const [{ able, unable }] = useState(() => sorted(servers, canMoveServer))
  const same = new Set(able.map((s) => s.datacenter?.id ?? none))
  const [chosen, setChosen] = useState<string>(same.size === 1 ? [...same][0]! : '')
  const [ended, setEnded] = useState<number | null>(null)
  const [results, setResults] = useState<readonly ItemResult[] | null>(null)
  const formId = useId()
  const what = servers.length === 1 ? servers[0]!.name : counted(servers.length, 'server')
  const busy = ended !== null

  const move = async (list: readonly Server[], to: (s: Server) => string | null) => {
    const moved = await toEach(list, (s) => call(serverUpdate, { params: { id: s.id }, body: { datacenter_id: to(s) } }), setEnded)
    await refreshServers(client)
    return moved
  }
  const undo = async (list: readonly Server[]) => {
    const back = await move(list, (s) => s.datacenter?.id ?? null)
    const failed = back.filter((r) => !r.ok)
    if (failed.length > 0) throw new Error(failed.map((r) => `${r.name}: ${r.reason}`).join(' '))
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (chosen === '' || busy) return
    setEnded(0)
    const all = [...(await move(able, () => (chosen === none ? null : chosen))), ...unable]
    setEnded(null)
    const moved = able.filter((s) => all.some((r) => r.id === s.id && r.ok))
    const code = datacenters?.items.find((d) => d.id === chosen)?.code
    if (moved.length > 0) {
      const them = moved.length === 1 ? moved[0]!.name : counted(moved.length, 'server')
      toast.success(code === undefined ? `Datacenter taken off ${them}` : `${them} assigned to ${code}`, { undo: () => undo(moved) })
    }
    done?.(all)
    if (all.every((r) => r.ok)) onClose()
    else setResults(all)
  }
  if (results !== null) return <BulkResultsDialog results={results} done="Assigned" open={open} onClose={onClose} />
  return (
    <Dialog
      open={open}
      onClose={onClose}
      locked={busy}
      title={`Assign datacenter to ${what}`}
      footer={
        <>
          <span className="grow hide-sm">
            <AsCommand
              api={able
                .map((s) => curlOf(serverUpdate, { id: s.id }, { datacenter_id: chosen === none ? null : chosen }, { origin: location.origin }))
                .join(' && \\\n')}
              complete={chosen !== '' && able.length > 0}
            />
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            type="submit"
            form={formId}
            busy={busy}
            busyText={able.length > 1 ? `${count(ended ?? 0)} of ${count(able.length)}` : 'Loading'}
            can={chosen === '' ? { ok: false, reason: 'Choose a datacenter first' } : undefined}
          >
            Assign
          </Button>
        </>
      }
    >
      <form id={formId} className="stack" onSubmit={(event) => void submit(event)}>
        {unable.length > 0 && <Unable results={unable} what="can’t be moved, and stays selected" plural="can’t be moved, and stay selected" />}
        {able.length > 1 && <p className="fs13 t2">{namesOf(able)}</p>}
        <Field label="Datacenter" hint="The site that the machines stand in. Addresses and configuration do not change.">
          <Select
            value={chosen}
            placeholder="Choose a datacenter"
            options={[...(datacenters?.items ?? []).map((d) => ({ value: d.id, text: d.code, more: d.city_name })), { value: none, text: 'None' }]}
            onValue={setChosen}
          />
        </Field>
        {unknown && <Alert tone="danger">{unknown.message}</Alert>}
      </form>
    </Dialog>
  )
}

/** Before anything is done: those of the selection that it can't be done to. */
export function Unable({ results, what, plural }: { results: readonly ItemResult[]; what: string; plural: string }) {
  return (
    <Alert tone="warn">
      {results.length === 1 ? `${results[0]!.name} ${what}.` : `${counted(results.length, 'server')} ${plural}.`} {results[0]!.reason}.
    </Alert>
  )
}

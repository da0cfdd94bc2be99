import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { canRemoveServer, serverRemove } from '#contract/servers/servers.ts'
import { count, counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { Field, TextInput } from '../../../ui/inputs/Field.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { Unable } from './AssignDatacenter.tsx'
import { type BulkDialog, type ItemResult, namesOf, removalWords, sorted, toEach } from './bulk.ts'
import { BulkResultsDialog } from './BulkResults.tsx'
import { refreshServers } from '../server-queries.ts'

/** Removes servers that are in no cluster, each for itself: what can't be is told by name and stays selected. */
export default function RemoveServers({ servers, open, onClose, done }: BulkDialog) {
  const client = useQueryClient()
  const [{ able, unable }] = useState(() => sorted(servers, canRemoveServer))
  const [typed, setTyped] = useState('')
  const [ended, setEnded] = useState<number | null>(null)
  const [results, setResults] = useState<readonly ItemResult[] | null>(null)
  const formId = useId()
  const one = able.length === 1 ? able[0] : undefined
  const what = one?.name ?? counted(able.length, 'server')
  const wanted = removalWords(able)
  const busy = ended !== null

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (typed !== wanted || busy) return
    setEnded(0)
    const all = [...(await toEach(able, (s) => call(serverRemove, { params: { id: s.id } }), setEnded)), ...unable]
    await refreshServers(client)
    setEnded(null)
    const gone = all.filter((r) => r.ok)
    if (gone.length > 0) toast.success(gone.length === 1 ? `${gone[0]!.name} was removed` : `${counted(gone.length, 'server')} were removed`)
    done?.(all)
    if (gone.length === all.length) onClose()
    else setResults(all)
  }
  if (results !== null) return <BulkResultsDialog results={results} done="Removed" open={open} onClose={onClose} />
  return (
    <Dialog
      open={open}
      onClose={onClose}
      locked={busy}
      title={`Remove ${what}?`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="danger-fill"
            type="submit"
            form={formId}
            busy={busy}
            busyText={able.length > 1 ? `${count(ended ?? 0)} of ${count(able.length)}` : 'Loading'}
            can={typed === wanted ? undefined : { ok: false, reason: `Type ${wanted} first` }}
          >
            Remove
          </Button>
        </>
      }
    >
      <form id={formId} className="stack" onSubmit={(event) => void submit(event)}>
        {unable.length > 0 && <Unable results={unable} what="can’t be removed, and stays selected" plural="can’t be removed, and stay selected" />}
        {one === undefined && <p className="fs13 t2">{namesOf(able)}</p>}
        <div>
          Nothing is wiped. {one ? 'The server' : 'Each'} is kept in the history as deleted; a machine that announces itself again becomes a new server.
        </div>
        <Field
          label={
            <>
              Type <span className="mono">{wanted}</span> to confirm
            </>
          }
        >
          <TextInput value={typed} onValue={setTyped} autoComplete="off" spellCheck={false} />
        </Field>
      </form>
    </Dialog>
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Server, serverUpdate } from '#contract/servers.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Field, Select } from '../../ui/Field.tsx'
import { Alert } from '../../ui/Status.tsx'
import { toast } from '../../ui/toast.ts'
import { datacentersQuery, refreshServers } from './server-queries.ts'

/** None is a choice of its own: '' would be "nothing chosen yet". */
const none = 'none'

/** Says where servers stand. Can be undone, so it asks for no confirmation. */
export function AssignDatacenter({
  servers,
  open,
  onClose,
  done,
}: {
  servers: readonly Server[]
  open: boolean
  onClose: () => void
  done?: (() => void) | undefined
}) {
  const client = useQueryClient()
  const { data: datacenters, error: unknown } = useQuery({ ...datacentersQuery, enabled: open })
  const same = new Set(servers.map((s) => s.datacenter?.id ?? none))
  const [chosen, setChosen] = useState<string>(same.size === 1 ? [...same][0]! : '')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const what = servers.length === 1 ? servers[0]!.name : counted(servers.length, 'server')

  const assign = async (target: (s: Server) => string | null) => {
    const failures: string[] = []
    for (const s of servers) {
      try {
        await call(serverUpdate, { params: { id: s.id }, body: { datacenter_id: target(s) } })
      } catch (failure) {
        failures.push(`${s.name}: ${failure instanceof Error ? failure.message : 'it could not be moved'}`)
      }
    }
    await refreshServers(client)
    if (failures.length > 0) throw new Error(failures.join(' '))
  }
  const submit = async () => {
    if (chosen === '' || busy) return
    setBusy(true)
    setError(null)
    try {
      await assign(() => (chosen === none ? null : chosen))
      const code = datacenters?.items.find((d) => d.id === chosen)?.code
      toast.success(code === undefined ? `Datacenter taken off ${what}` : `${what} assigned to ${code}`, {
        undo: () => assign((s) => s.datacenter?.id ?? null),
      })
      done?.()
      onClose()
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : 'An unexpected error occurred')
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog
      open={open}
      onClose={onClose}
      locked={busy}
      title={`Assign datacenter to ${what}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busy={busy}
            busyText="Loading"
            can={chosen === '' ? { ok: false, reason: 'Choose a datacenter first' } : undefined}
            onClick={() => void submit()}
          >
            Assign
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <Field label="Datacenter" hint="The site that the machines stand in. Addresses and configuration do not change.">
          <Select
            value={chosen}
            placeholder="Choose a datacenter"
            options={[...(datacenters?.items ?? []).map((d) => ({ value: d.id, text: d.code, more: d.city_name })), { value: none, text: 'None' }]}
            onValue={setChosen}
          />
        </Field>
        {(error ?? unknown?.message) && <Alert tone="danger">{error ?? unknown?.message}</Alert>}
      </form>
    </Dialog>
  )
}

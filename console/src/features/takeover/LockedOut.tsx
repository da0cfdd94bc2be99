import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { type Cluster, clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { clusterSecretsImport, lockedOutSentences } from '#contract/clusters/takeover.ts'
import { call, CallError } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { exact, moment } from '../../lib/time.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Alert, Problem } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { useAct } from '../../ui/feedback/use-act.ts'
import { ProofFields } from './ProofFields.tsx'
import { blank, type Fields, readProof, type Typed } from './takeover-form.ts'
import css from './Takeover.module.css'

/** Stands on a cluster's page while its machines refuse Steelyard, because others have changed its authorities. */
export function LockedOut({ clusterId }: { clusterId: string }) {
  const { data: cluster } = useQuery(query(clusterGet, { params: { id: clusterId } }))
  const [open, setOpen] = useState(false)
  if (!cluster?.locked_out) return null
  const { authority, since } = cluster.locked_out
  return (
    <>
      <Alert tone="danger" className={css['alarm']!}>
        {lockedOutSentences[authority]}{' '}
        <span className="t3" title={exact(since)}>
          Since {moment(since)}.
        </span>
        <div className={css['act']}>
          <Button size="small" can={allowed(clusterSecretsImport)} onClick={() => setOpen(true)}>
            Import new secrets
          </Button>
        </div>
      </Alert>
      {open && <ImportSecrets cluster={cluster} onClose={() => setOpen(false)} />}
    </>
  )
}

function ImportSecrets({ cluster, onClose }: { cluster: Cluster; onClose: () => void }) {
  const client = useQueryClient()
  const [typed, setTyped] = useState<Typed>({ ...blank, kind: 'talosconfig' })
  const [errors, setErrors] = useState<Fields>({})
  const { busy, problem, act } = useAct()
  const formId = useId()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const read = readProof(typed)
    if (!read.ok) return setErrors(read.fields)
    const send = async () => {
      await call(clusterSecretsImport, { params: { id: cluster.id }, body: read.body })
      await invalidate(client, clusterGet, clusterList, serverList, serverGet, serverDrift)
    }
    const done = await act(send, (error) => {
      if (!(error instanceof CallError) || Object.keys(error.fields).length === 0) return false
      setErrors(error.fields)
      return true
    })
    if (!done) return undefined
    toast.success(`The secrets of ${cluster.name} are imported`)
    return onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      locked={busy}
      width="36rem"
      title={`Import new secrets of ${cluster.name}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" form={formId} busy={busy} busyText="Asking its machines">
            Import
          </Button>
        </>
      }
    >
      <form id={formId} noValidate className="stack stack3" onSubmit={(event) => void submit(event)}>
        <p className="fs13 t2">They are checked against the machines of the cluster before they are kept. Nothing is sent to a machine.</p>
        <ProofFields
          typed={typed}
          errors={errors}
          onChange={(change, problems = {}) => {
            setTyped((now) => ({ ...now, ...change }))
            setErrors(problems)
          }}
        />
        <Problem text={problem} />
      </form>
    </Dialog>
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { afterLeaving, clusterGet } from '#contract/clusters/clusters.ts'
import { canForceRemoveServer, canResetServer, type Server, serverRemove, serverReset } from '#contract/servers/servers.ts'
import { call } from '../../../api/client.ts'
import { newKey } from '../../../api/http.ts'
import { query } from '../../../api/query.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { Checkbox, Field, TextInput } from '../../../ui/inputs/Field.tsx'
import { Alert, Problem } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { useAct } from '../../../ui/feedback/use-act.ts'
import { refreshServers } from '../server-queries.ts'

/** Takes a server out of its cluster: by wiping it, where it answers, or by forgetting it, where it never will again. */
export default function LeaveCluster({ server: s, way, open, onClose }: { server: Server; way: 'reset' | 'remove'; open: boolean; onClose: () => void }) {
  const client = useQueryClient()
  const { data: cluster } = useQuery({ ...query(clusterGet, { params: { id: s.cluster?.id ?? '' } }), enabled: open && s.cluster !== null })
  const [typed, setTyped] = useState('')
  const [keep, setKeep] = useState(false)
  const { busy, problem, act } = useAct()
  const [key] = useState(newKey)
  const formId = useId()
  const isReset = way === 'reset'
  const may = isReset ? canResetServer(s, cluster) : canForceRemoveServer(s, cluster)
  const left = s.type === 'control_plane' && cluster !== undefined ? afterLeaving(cluster.control_planes - 1) : null
  const role = s.type === 'control_plane' ? 'control plane' : 'worker'

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (typed !== s.name || !may.ok) return
    const done = await act(async () => {
      if (isReset) {
        await call(serverReset, { params: { id: s.id }, body: { keep_workload_disks: keep } }, { key })
        toast.info(`${s.name} is being reset: it leaves its cluster, is wiped and starts again`)
      } else {
        await call(serverRemove, { params: { id: s.id }, query: { force: 'true' } })
        toast.success(`${s.name} was removed`)
      }
      await refreshServers(client, s.id)
    })
    if (done) onClose()
  }
  return (
    <Dialog
      open={open}
      onClose={onClose}
      locked={busy}
      width="32rem"
      title={isReset ? `Reset ${s.name} to maintenance?` : `Remove ${s.name} by force?`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="danger-fill"
            type="submit"
            form={formId}
            busy={busy}
            busyText="Loading"
            can={!may.ok ? may : typed === s.name ? undefined : { ok: false, reason: `Type ${s.name} first` }}
          >
            {isReset ? 'Reset' : 'Remove by force'}
          </Button>
        </>
      }
    >
      <form id={formId} className="stack" onSubmit={(event) => void submit(event)}>
        {!may.ok && <Alert tone="danger">{may.reason}.</Alert>}
        <div className="stack stack2 fs13">
          {s.cluster !== null && (
            <p>
              It is a {role} of the cluster <b className="strong">{s.cluster.name}</b>.{' '}
              {isReset ? 'What runs on it stops, and starts elsewhere where there is room.' : ''}
            </p>
          )}
          {isReset ? (
            <p>
              Talos wipes {keep ? '' : 'the workload disks that were named at creation, and '}its system disk except for Talos itself. It starts again in
              maintenance mode, free to use once a person has confirmed it. This can’t be undone.
            </p>
          ) : (
            <p>
              Nothing is said to the machine and nothing is wiped: it is forgotten, here and in the cluster. Should it start again it holds the configuration of
              its old cluster, so keep it off the network until it is wiped.
            </p>
          )}
        </div>
        {left !== null && <Alert tone="warn">{left}</Alert>}
        {isReset && <Checkbox checked={keep} onChange={setKeep} label="Keep what is on the workload disks" />}
        <Field
          label={
            <>
              Type <span className="mono">{s.name}</span> to confirm
            </>
          }
        >
          <TextInput value={typed} onValue={setTyped} autoComplete="off" spellCheck={false} />
        </Field>
        <Problem text={problem} />
      </form>
    </Dialog>
  )
}

import { useQuery } from '@tanstack/react-query'
import { afterLeaving, clusterGet } from '#contract/clusters/clusters.ts'
import { lostCommitment } from '#contract/marketplace/cc-rules.ts'
import { all, no, yes } from '#contract/rule.ts'
import { devicePath } from '#contract/disks/disks.ts'
import {
  canForceRemoveServer,
  canResetServer,
  type ListedServer,
  serverRemove,
  serverReset,
} from '#contract/servers/servers.ts'
import { call } from '../../../api/client.ts'
import { query } from '../../../api/query.ts'
import { paths } from '../../../lib/paths.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { navigate } from '../../../lib/router.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog, TypeToConfirm } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { refreshServers } from '../server-queries.ts'

const blank = { typed: '', keep: false }
const { Check } = fieldsFor<typeof blank>()

/**
 * Takes a server out of its cluster: with a reset if the server responds, or by force if the server
 * is gone.
 */
export default function LeaveCluster({
  server: s,
  way,
}: {
  server: ListedServer
  way: 'reset' | 'remove'
}) {
  const { close } = useDialog()
  const { data: cluster, error } = useQuery({
    ...query(clusterGet, { params: { id: s.cluster?.id ?? '' } }),
    enabled: s.cluster !== null,
  })
  const isReset = way === 'reset'
  const member = cluster?.servers.find((one) => one.node_id === s.id)
  const named = (disks: readonly string[] = []) =>
    disks.length === 0 ? '' : ` (${disks.map(devicePath).join(', ')})`
  const may = isReset ? canResetServer(s, cluster) : canForceRemoveServer(s, cluster)
  const left =
    s.type === 'control_plane' && cluster !== undefined
      ? afterLeaving(cluster.control_planes - 1)
      : null
  const lost = lostCommitment(s, way)
  const role = s.type === 'control_plane' ? 'control plane' : 'worker'
  const form = useForm({
    initial: blank,
    read: ({ keep }) => ({ ok: true, body: { keep_workload_disks: keep } }),
    send: async (body, key) => {
      if (isReset)
        return (await call(serverReset, { params: { id: s.id }, body }, { key })).operation
      await call(serverRemove, { params: { id: s.id }, query: { force: 'true' } })
      return null
    },
    done: async (operation) => {
      if (operation !== null)
        toast.info(`${s.name} is being reset: it leaves its cluster, is wiped and starts again`, {
          action: { label: 'Show', run: () => navigate(paths.operation(operation.id)) },
        })
      else toast.success(`${s.name} was removed`)
      await refreshServers(s.id)
      close()
    },
  })
  const { typed, keep } = form.values
  return (
    <FormDialog
      form={form}
      width="32rem"
      title={isReset ? `Reset ${s.name} to maintenance?` : `Remove ${s.name} by force?`}
      submit={isReset ? 'Reset' : 'Remove by force'}
      danger
      can={all(may, typed === s.name ? yes : no(`Type ${s.name} first`))}
    >
      {!may.ok && <Alert tone="danger">{may.reason}.</Alert>}
      {cluster === undefined && error !== null && (
        <Alert tone="warn">Its cluster could not be loaded: {reasonOf(error)}</Alert>
      )}
      <div className="stack stack2 fs13">
        {s.cluster !== null && (
          <p>
            It is a {role} of the cluster <b className="strong">{s.cluster.name}</b>.{' '}
            {isReset
              ? 'The workloads on the server stop, and start on another server if there is room.'
              : ''}
          </p>
        )}
        {isReset ? (
          <p>
            Talos wipes{' '}
            {keep
              ? ''
              : `the workload disks that were named at creation${named(member?.workload_disks)}, and `}
            the system disk{named(member?.install_disk ? [member.install_disk] : [])} except for
            Talos itself. The server starts again in maintenance mode, and is free to use after a
            user has confirmed it. This can’t be undone.
          </p>
        ) : (
          <p>
            Nothing is sent to the machine and nothing is wiped: Steelyard and the cluster forget
            it. If the machine starts again, it still has the configuration of its old cluster, so
            keep it off the network until it is wiped.
          </p>
        )}
      </div>
      {left !== null && <Alert tone="warn">{left}</Alert>}
      {lost !== null && <Alert tone="warn">{lost}.</Alert>}
      {isReset && <Check name="keep" label="Keep the content of the workload disks" />}
      <TypeToConfirm words={s.name} />
    </FormDialog>
  )
}

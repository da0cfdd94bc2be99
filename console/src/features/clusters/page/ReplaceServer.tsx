import { refreshClusters } from '../../../api/refresh.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Cluster, clusterServerReplace } from '#contract/clusters/clusters.ts'
import { no } from '#contract/rule.ts'
import { canWipe, type ChosenDisks, devicePath } from '#contract/servers/disks.ts'
import { serverList } from '#contract/servers/servers.ts'
import { call } from '../../../api/client.ts'
import { query } from '../../../api/query.ts'
import { curlOf } from '../../../lib/shell.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { confirmedOf, firstDisk } from '../create/choice.ts'
import { DisksToWipe } from '../create/DisksToWipe.tsx'
import { diskLine } from '../create/ServerRow.tsx'

const blank = { node_id: '' }
const { Choose } = fieldsFor<typeof blank>()

/** Replaces a failed server with a free one of the same datacenter. */
export default function ReplaceServer({ cluster, server }: { cluster: Cluster; server: { node_id: string; name: string } }) {
  const { close } = useDialog()
  const { data } = useQuery(query(serverList, { query: { datacenter: cluster.datacenter.code, eligible: 'true' } }))
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const disksOf = (node_id: string): ChosenDisks[] => {
    const taking = data?.items.find((s) => s.id === node_id)
    const install = taking && firstDisk(taking)
    return taking && install
      ? [{ server: taking.name, disks: taking.resources.disks, devices: [devicePath(install.id)], kept: taking.talos.installed?.disk ?? null }]
      : []
  }
  const bodyOf = (node_id: string) => {
    const confirmed = confirmedOf(disksOf(node_id), ticked)
    return { node_id, ...(confirmed.length > 0 && { confirmed_disks: confirmed }) }
  }
  const form = useForm({
    initial: blank,
    read: ({ node_id }) => ({ ok: true, body: bodyOf(node_id) }),
    send: (body, key) => call(clusterServerReplace, { params: { id: cluster.id, node_id: server.node_id }, body }, { key }),
    done: async () => {
      await refreshClusters()
      close()
    },
  })
  const chosen = form.values.node_id
  const taking = data?.items.find((s) => s.id === chosen)
  const install = taking && firstDisk(taking)
  const disks = disksOf(chosen)
  const options = (data?.items ?? []).map((s) => ({ value: s.id, text: s.name, ...(s.nodeAddresses[0] !== undefined && { more: s.nodeAddresses[0] }) }))
  return (
    <FormDialog
      form={form}
      title={`Replace ${server.name}`}
      submit="Replace server"
      busyText="Replacing"
      can={chosen === '' ? no('Choose the replacement server first') : canWipe(disks, confirmedOf(disks, ticked))}
      command={
        <AsCommand
          complete={chosen !== ''}
          api={curlOf(clusterServerReplace, { id: cluster.id, node_id: server.node_id }, bodyOf(chosen), { origin: location.origin })}
        />
      }
    >
      <p className="fs13 t2">The creation continues with the replacement server. {server.name} is reset if it has a configuration, and becomes free.</p>
      {data !== undefined && options.length === 0 ? (
        <Alert tone="warn">No other server of {cluster.datacenter.code} may join a cluster now.</Alert>
      ) : (
        <Choose name="node_id" label="Free server" options={options} placeholder="Choose a server" />
      )}
      {install && (
        <p className="fs13 t2">
          Talos will be installed on {install.id}: {diskLine(install)}
        </p>
      )}
      <DisksToWipe chosen={disks} ticked={ticked} onTick={setTicked} />
    </FormDialog>
  )
}

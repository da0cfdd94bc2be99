import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Cluster, clusterServerReplace } from '#contract/clusters/clusters.ts'
import { canWipe, type ChosenDisks, devicePath } from '#contract/servers/disks.ts'
import { serverList } from '#contract/servers/servers.ts'
import { call } from '../../api/client.ts'
import { newKey } from '../../api/http.ts'
import { query } from '../../api/query.ts'
import { curlOf } from '../../lib/shell.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Field, Select } from '../../ui/inputs/Field.tsx'
import { Alert, Problem } from '../../ui/feedback/Status.tsx'
import { useAct } from '../../ui/feedback/use-act.ts'
import { refreshClusters } from './cluster-queries.ts'
import { confirmedOf, firstDisk } from './create-draft.ts'
import { DisksToWipe } from './DisksToWipe.tsx'
import { diskLine } from './ServerRow.tsx'

/** Gives the place of a server that failed to another free one of the same datacenter. */
export function ReplaceServer({ cluster, server, onClose }: { cluster: Cluster; server: { node_id: string; name: string }; onClose: () => void }) {
  const client = useQueryClient()
  const { data } = useQuery(query(serverList, { query: { datacenter: cluster.datacenter.code, eligible: 'true' } }))
  const [chosen, setChosen] = useState('')
  const { busy, problem, act } = useAct()
  const [key] = useState(newKey)
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const taking = data?.items.find((s) => s.id === chosen)
  const install = taking && firstDisk(taking)
  const disks: ChosenDisks[] =
    taking && install
      ? [{ server: taking.name, disks: taking.resources.disks, devices: [devicePath(install.id)], kept: taking.talos.installed?.disk ?? null }]
      : []
  const confirmed = confirmedOf(disks, ticked)
  const body = { node_id: chosen, ...(confirmed.length > 0 && { confirmed_disks: confirmed }) }
  const options = (data?.items ?? []).map((s) => ({ value: s.id, text: s.name, ...(s.nodeAddresses[0] !== undefined && { more: s.nodeAddresses[0] }) }))

  const replace = async () => {
    const done = await act(async () => {
      await call(clusterServerReplace, { params: { id: cluster.id, node_id: server.node_id }, body }, { key })
      await refreshClusters(client)
    })
    if (done) onClose()
  }

  return (
    <Dialog
      open
      onClose={onClose}
      locked={busy}
      title={`Replace ${server.name}`}
      footer={
        <>
          <span className="grow hide-sm">
            <AsCommand
              complete={chosen !== ''}
              api={curlOf(clusterServerReplace, { id: cluster.id, node_id: server.node_id }, body, { origin: location.origin })}
            />
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busy={busy}
            busyText="Replacing"
            can={chosen === '' ? { ok: false, reason: 'Choose the server that takes its place' } : canWipe(disks, confirmed)}
            onClick={() => void replace()}
          >
            Replace server
          </Button>
        </>
      }
    >
      <div className="stack stack3">
        <Problem text={problem} />
        <p className="fs13 t2">The creation goes on with the other server. {server.name} is reset if it got a configuration, and is free again.</p>
        {data !== undefined && options.length === 0 ? (
          <Alert tone="warn">No other server of {cluster.datacenter.code} may join a cluster now.</Alert>
        ) : (
          <Field label="Free server">
            <Select value={chosen} options={options} placeholder="Choose a server" onValue={setChosen} />
          </Field>
        )}
        {install && (
          <p className="fs13 t2">
            Talos will be installed on {install.id}: {diskLine(install)}
          </p>
        )}
        <DisksToWipe chosen={disks} ticked={ticked} onTick={setTicked} />
      </div>
    </Dialog>
  )
}

import { refreshClusters } from '../../../api/refresh.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Cluster, clusterServerReplace } from '#contract/clusters/clusters.ts'
import type { Asked } from '#contract/operation.ts'
import { no } from '#contract/rule.ts'
import { devicePath } from '#contract/disks/disks.ts'
import { canWipe, type ChosenDisks } from '#contract/disks/wipe.ts'
import { serverRows } from '#contract/servers/servers.ts'
import { call } from '../../../api/client.ts'
import { withLosses } from '../../../api/asking/losses.ts'
import { serverQueryOf } from '../../../api/one-server.ts'
import { query } from '../../../api/query.ts'
import { curlOf } from '../../../lib/shell.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { findingSaid, firstDisk, troubledLast } from '../create/choice.ts'
import { confirmedOf } from '../create/wiped.ts'
import { DisksToWipe } from '../create/DisksToWipe.tsx'
import { diskLine } from '../create/ServerRow.tsx'

const blank = { node_id: '' }
type Body = Asked<typeof clusterServerReplace>['body']
const { Choose } = fieldsFor<typeof blank>()

/** Replaces a failed server with a free one of the same datacenter. */
export default function ReplaceServer({
  cluster,
  server,
}: {
  cluster: Cluster
  server: { node_id: string; name: string }
}) {
  const { close } = useDialog()
  const answer = useQuery(
    query(serverRows, {
      query: { datacenter: cluster.datacenter.code, eligible: 'true', fields: 'list' },
    }),
  )
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const withDisks = (body: Body): Body => {
    const confirmed = confirmedOf(disks, ticked)
    return confirmed.length === 0 ? body : { ...body, confirmed_disks: confirmed }
  }
  const form = useForm({
    initial: blank,
    read: ({ node_id }): { ok: true; body: Body } => ({ ok: true, body: { node_id } }),
    complete: withDisks,
    send: (body, key) =>
      withLosses((losses) =>
        call(
          clusterServerReplace,
          { params: { id: cluster.id, node_id: server.node_id }, body: { ...body, ...losses } },
          // Another body needs another key.
          losses.confirmed_loss === undefined ? { key } : {},
        ),
      ),
    done: async () => {
      await refreshClusters()
      close()
    },
  })
  const chosen = form.values.node_id
  const {
    data: taking,
    error,
    refetch,
  } = useQuery({ ...serverQueryOf(chosen), enabled: chosen !== '' })
  const install = taking && firstDisk(taking)
  const disks: ChosenDisks[] =
    taking && install
      ? [
          {
            server: taking.name,
            disks: taking.resources.disks,
            devices: [devicePath(install.id)],
            kept: taking.talos.installed?.disk ?? null,
          },
        ]
      : []
  const options = troubledLast(answer.data?.items ?? []).map((s) => {
    const more = [findingSaid(s), s.nodeAddresses[0]].filter(Boolean).join(' ')
    return { value: s.id, text: s.name, ...(more !== '' && { more }) }
  })
  return (
    <FormDialog
      form={form}
      title={`Replace ${server.name}`}
      submit="Replace server"
      busyText="Replacing"
      can={
        chosen === ''
          ? no('Choose the replacement server first')
          : taking === undefined
            ? no('Wait until the disks of the server are known')
            : canWipe(disks, confirmedOf(disks, ticked))
      }
      command={
        <AsCommand
          complete={chosen !== ''}
          api={curlOf(
            clusterServerReplace,
            { id: cluster.id, node_id: server.node_id },
            withDisks({ node_id: chosen }),
          )}
        />
      }
    >
      <p className="fs13 t2">
        The creation continues with the replacement server. {server.name} is reset if it has a
        configuration, and becomes free.
      </p>
      {answer.data === undefined && answer.error && <Pending of={answer} boxed={false} />}
      {answer.data !== undefined && options.length === 0 ? (
        <Alert tone="warn">
          No other server of {cluster.datacenter.code} may join a cluster now.
        </Alert>
      ) : (
        <Choose
          name="node_id"
          label="Free server"
          options={options}
          placeholder="Choose a server"
        />
      )}
      {chosen !== '' && taking === undefined && (
        <Pending of={{ error, refetch }} boxed={false} rows={1} />
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

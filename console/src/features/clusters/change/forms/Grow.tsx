import { useQuery } from '@tanstack/react-query'
import { Grow as GrowSchema } from '#contract/clusters/changes/members.ts'
import { noValue } from '#contract/list.ts'
import { serverList } from '#contract/servers/servers.ts'
import { query } from '../../../../api/query.ts'
import { readBy } from '../../../../lib/fields.ts'
import { paths } from '../../../../lib/paths.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { Pending } from '../../../../ui/feedback/PageStates.tsx'
import { Empty } from '../../../../ui/feedback/States.tsx'
import { Problem } from '../../../../ui/feedback/Status.tsx'
import { firstChoice } from '../../create/choice.ts'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { type ChosenServers, FreeServers, joiningOf } from '../FreeServers.tsx'

interface Typed {
  servers: ChosenServers
}

const read = ({ servers }: Typed) =>
  readBy(GrowSchema, { kind: 'grow', servers: joiningOf(servers) })

/** Adds free servers of the cluster's datacenter to the cluster. */
export default function Grow({ cluster, server }: ChangeFormProps) {
  const answer = useQuery(
    query(serverList, { query: { datacenter: cluster.datacenter.code, cluster: noValue } }),
  )
  if (answer.data === undefined) return <Pending of={answer} rows={6} />
  const free = answer.data.items.filter((s) => s.status !== 'deleted' && s.cluster === null)
  if (free.length === 0)
    return (
      <Empty
        boxed
        title={`No free servers in ${cluster.datacenter.code}`}
        text="Only servers of the cluster's datacenter that belong to no cluster can join."
        actions={<a href={paths.servers()}>Servers</a>}
      />
    )
  const first = free.find((s) => s.id === server)
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="grow"
      initial={{ servers: first === undefined ? {} : { [first.id]: firstChoice(first) } }}
      read={read}
      command={(change) => {
        if (change.kind !== 'grow') return undefined
        const joining = change.servers.map((s) => ({
          ...s,
          name: free.find(({ id }) => id === s.node_id)?.name ?? s.node_id,
        }))
        const named = (role: string) =>
          joining.flatMap((s) => (s.role === role ? s.name : [])).join(',')
        return cliOf(['cluster', 'grow', cluster.name], {
          'control-plane': named('control_plane'),
          worker: named('worker'),
          interface: joining.flatMap((s) => (s.interface ? `${s.name}=${s.interface}` : [])),
          'install-disk': joining.flatMap((s) =>
            s.install_disk ? `${s.name}=${s.install_disk}` : [],
          ),
          'workload-disk': joining.flatMap((s) =>
            (s.workload_disks ?? []).map((disk) => `${s.name}=${disk}`),
          ),
        })
      }}
    >
      {(form) => (
        <>
          <FreeServers
            cluster={cluster}
            free={free}
            chosen={form.values.servers}
            onChange={(change) => form.set((now) => ({ servers: change(now.servers) }))}
          />
          <Problem text={form.errorOf('servers')} />
        </>
      )}
    </ChangeForm>
  )
}

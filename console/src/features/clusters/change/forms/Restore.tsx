import { useQuery } from '@tanstack/react-query'
import { RestoreCluster, snapshotGet, snapshotList } from '#contract/clusters/changes/snapshots.ts'
import { noValue } from '#contract/list.ts'
import { serverList } from '#contract/servers/servers.ts'
import { count } from '#contract/words.ts'
import { everyServerOf } from '../../../../api/every.ts'
import { query } from '../../../../api/query.ts'
import { readBy } from '../../../../lib/fields.ts'
import { paths } from '../../../../lib/paths.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { exact } from '../../../../lib/time/time.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { Pending } from '../../../../ui/feedback/PageStates.tsx'
import { SkeletonRows } from '../../../../ui/feedback/States.tsx'
import { Alert, Problem } from '../../../../ui/feedback/Status.tsx'
import { Unread } from '../../../../ui/feedback/Unread.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { type ChosenServers, FreeServers, joiningOf } from '../FreeServers.tsx'
import { roleText, ServerPick } from '../ServerPick.tsx'

interface Typed {
  snapshot_id: string
  /** On the cluster's own control planes, or on other servers. */
  onto: 'own' | 'other'
  /** Ids of the control planes whose etcd is wiped. */
  reset: readonly string[]
  servers: ChosenServers
}
const { Choose } = fieldsFor<Typed>()

/**
 * The snapshots to choose from: those of the cluster, the one that the page was opened for, and the
 * newest of all clusters. So the schedules of other clusters hide none of its own.
 */
function useSnapshots({ cluster, snapshot }: Pick<ChangeFormProps, 'cluster' | 'snapshot'>) {
  const own = useQuery(
    query(snapshotList, { query: { cluster: cluster.id, status: 'ready', per_page: 1000 } }),
  )
  const all = useQuery(query(snapshotList, { query: { status: 'ready', per_page: 200 } }))
  const listed = [...(own.data?.items ?? []), ...(all.data?.items ?? [])]
  const given = useQuery({
    ...query(snapshotGet, { params: { id: snapshot ?? '' } }),
    enabled: snapshot !== undefined,
    retry: false,
  })
  const found = given.data?.status === 'ready' ? [given.data] : []
  const snapshots = [...new Map([...found, ...listed].map((s) => [s.id, s])).values()].toSorted(
    (a, b) => Number(b.cluster.id === cluster.id) - Number(a.cluster.id === cluster.id),
  )
  const isCut = [own.data, all.data].some((page) => page && page.total > page.items.length)
  // While a query that failed is read again, it is pending again: the form would begin anew.
  const isRead = all.isFetched && (snapshot === undefined || given.isFetched)
  return { own, all, isRead, snapshots, isCut }
}

/** Restores a cluster from a snapshot. `snapshot`: id of the preselected snapshot. */
export default function Restore({ cluster, snapshot }: ChangeFormProps) {
  const { own, all, isRead, snapshots, isCut } = useSnapshots({ cluster, snapshot })
  const servers = useQuery(
    query(serverList, { query: { datacenter: cluster.datacenter.code, cluster: noValue } }),
  )
  const members = useQuery(everyServerOf(cluster.id))
  if (own.data === undefined) return <Pending of={own} rows={6} />
  // The form begins with the snapshot that the page was opened for, and with the control planes that
  // answer.
  if (!isRead || !members.isFetched) return <SkeletonRows rows={6} />
  const free = (servers.data?.items ?? []).filter((s) => s.cluster === null)
  const controlPlanes = cluster.servers.filter((s) => s.role === 'control_plane')
  const silent = new Set(
    members.data?.items.flatMap((s) => (s.talos.reachable === false ? [s.id] : [])),
  )
  const nameOf = (id: string) => controlPlanes.find((s) => s.node_id === id)?.name ?? id
  const read = ({ snapshot_id, onto, reset, servers: chosen }: Typed) => {
    const of = snapshots.find((s) => s.id === snapshot_id)?.cluster
    return readBy(
      RestoreCluster,
      {
        kind: 'restore',
        snapshot_id,
        ...(onto === 'own' ? { reset } : { servers: joiningOf(chosen) }),
        ...(of !== undefined && of.id !== cluster.id && { of: of.name }),
      },
      {
        ...(snapshot_id === '' && { snapshot_id: 'Choose a snapshot' }),
        ...(onto === 'other' &&
          Object.keys(chosen).length === 0 && { servers: 'Choose at least one server' }),
      },
    )
  }
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="restore"
      initial={{
        snapshot_id: snapshots.some((s) => s.id === snapshot) ? snapshot! : '',
        onto: 'own',
        // A silent one can't be wiped, and is replaced after the restore.
        reset: controlPlanes.map((s) => s.node_id).filter((id) => !silent.has(id)),
        servers: {},
      }}
      read={read}
      command={(change) =>
        // The CLI doesn't name the disks of other servers.
        change.kind === 'restore' && (change.servers ?? []).length === 0
          ? cliOf(['cluster', 'restore', cluster.name, change.snapshot_id], {
              reset: (change.reset ?? []).map(nameOf).join(','),
              of: change.of,
            })
          : undefined
      }
    >
      {(form) => {
        const { onto, reset, servers: chosen } = form.values
        return (
          <>
            <Unread what="Snapshots of other clusters" of={all} />
            {snapshots.length === 0 ? (
              <Alert tone="warn">
                There is no snapshot that can be restored.{' '}
                <a href={paths.cluster(cluster.id, 'snapshots')}>Snapshots of the cluster</a>
              </Alert>
            ) : (
              <Choose
                name="snapshot_id"
                label="Snapshot"
                placeholder="Choose a snapshot"
                hint={`What was written to the cluster after the snapshot is lost${isCut ? `. The newest ${count(snapshots.length)} are offered; the command takes the id of any other` : ''}`}
                options={snapshots.map((s) => ({
                  value: s.id,
                  text: exact(s.taken_at ?? s.created_at),
                  more: [s.cluster.name, s.store.name, s.purpose].filter(Boolean).join(', '),
                }))}
              />
            )}
            <Choose
              name="onto"
              label="Onto"
              options={[
                { value: 'own', text: 'The control planes of the cluster' },
                {
                  value: 'other',
                  text: 'Other servers, if all are lost',
                },
              ]}
            />
            {onto === 'own' ? (
              <ServerPick
                label="Control planes whose etcd is wiped"
                rows={controlPlanes}
                chosen={(s) => reset.includes(s.node_id)}
                onChange={(s, on) =>
                  form.set({
                    reset: on ? [...reset, s.node_id] : reset.filter((id) => id !== s.node_id),
                  })
                }
                note={(s) =>
                  silent.has(s.node_id)
                    ? `${roleText(s.role)}, does not answer: replace it after the restore`
                    : `${roleText(s.role)}, wipe its etcd`
                }
              />
            ) : servers.data === undefined ? (
              <Pending of={servers} boxed={false} rows={3} />
            ) : free.length === 0 ? (
              <Alert tone="warn">
                No server of {cluster.datacenter.code} is free.{' '}
                <a href={paths.servers({ datacenter: cluster.datacenter.code })}>Servers</a>
              </Alert>
            ) : (
              <FreeServers
                cluster={cluster}
                free={free}
                chosen={chosen}
                begins="control_plane"
                onChange={(change) => form.set((now) => ({ servers: change(now.servers) }))}
              />
            )}
            <Problem text={form.errorOf('reset') ?? form.errorOf('servers')} />
          </>
        )
      }}
    </ChangeForm>
  )
}

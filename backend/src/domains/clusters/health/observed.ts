/** What is stored of the health of a running cluster. Pure. */
import type { ClusterHealth } from '#contract/clusters/health.ts'
import type { Operation } from '#contract/operations.ts'
import type { Observed, ObservedPart as Part } from '../../../db/columns.ts'
import type { PlannedDisk } from '../../servers/api.ts'
import { bearersOf } from '../disks.ts'
import type { MemberRow } from '../store.ts'

/** So many times in a row something is not well before it counts: one lost packet has no effect. */
export const missesUntilIll = 2

/** The disks that the member was installed on or uses, and that are gone. */
export function missingDisks(
  member: Pick<
    MemberRow,
    'install_disk' | 'workload_disks' | 'disk_wwids' | 'agreed_disks' | 'install_wwid' | 'name'
  >,
  now: readonly Pick<PlannedDisk, 'id' | 'device' | 'wwid' | 'serial' | 'model' | 'size'>[],
): string[] {
  // A server whose hardware is unknown has lost nothing that is known.
  if (now.length === 0) return []
  return [member.install_disk, ...member.workload_disks].filter((device) => {
    const { by, disks } = bearersOf(member, device, now)
    return by === null ? !now.some((d) => d.device === device) : disks.length === 0
  })
}

/**
 * Whether an operation may restart what is asked now. One that waits for its maintenance window, for
 * days perhaps, has ended its work on one server and not begun it on the next.
 */
export const isAtWork = (operation: Pick<Operation, 'status' | 'steps'> | undefined): boolean =>
  operation !== undefined &&
  (operation.status !== 'waiting' ||
    operation.steps.some(({ status }) => status === 'running' || status === 'waiting'))

interface Seen {
  readonly etcd: ClusterHealth['etcd']['members']
  readonly api_servers: readonly (ClusterHealth['kubernetes_api'][number] & {
    /** Its answer was late because of us, which is no news of it (`isOwnDelay`). */
    readonly isOwnDelay: boolean
  })[]
  readonly missing_disks: Observed['missing_disks']
}

/**
 * The next observation. `isChanging`: a change of the cluster is at work, whose restarts explain
 * what is newly not well.
 */
export function observedOf(before: Observed | null, seen: Seen, isChanging: boolean): Observed {
  const part = (
    known: readonly Part[] | undefined,
    { node_id, name }: Pick<Part, 'node_id' | 'name'>,
    ill: string | null,
    isExplained = isChanging,
  ): Part => {
    // A dead member of etcd may have the name of a server that has another one.
    const last = known?.find((one) => one.name === name && one.node_id === node_id)?.misses ?? 0
    const misses = Math.min(last + 1, missesUntilIll)
    return {
      node_id,
      name,
      ill,
      misses: ill === null ? 0 : isExplained && last < missesUntilIll ? last : misses,
    }
  }
  return {
    etcd: seen.etcd.map((m) => ({
      ...part(before?.etcd, m, m.healthy === false ? (m.reason ?? 'It is not healthy') : null),
      size_bytes: m.size_bytes,
      alarms: m.alarms ?? [],
    })),
    api_servers: seen.api_servers.map((a) =>
      part(
        before?.api_servers,
        a,
        a.ready ? null : (a.reason ?? 'It is not ready'),
        isChanging || a.isOwnDelay,
      ),
    ),
    missing_disks: seen.missing_disks,
  }
}

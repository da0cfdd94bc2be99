/** What is stored of the health of a running cluster. Pure. */
import type { ClusterHealth } from '#contract/clusters/health.ts'
import type { Operation } from '#contract/operations.ts'
import type { MissingDisk, Observed, ObservedPart as Part } from '../../../db/columns.ts'
import type { PlannedDisk } from '../../servers/api.ts'
import { bearersOf } from '../disks.ts'
import type { MemberRow } from '../store.ts'

/**
 * So many times in a row something is not well before it counts, in readings at least `apartMs`
 * apart: one lost packet has no effect, and disks appear one after another while a machine starts.
 */
export const missesUntilIll = 2
export const apartMs = 20_000
/** The same of the disks of a machine that still boots, which takes large servers minutes. */
const apartBootingMs = 120_000

type Missed = Pick<Part, 'misses' | 'missed_at'>

/** Counts a reading in which something is not well. `at`: of the reading, in ms since 1970. */
function missedAgain(before: Missed | undefined, at: number, leastMs = apartMs): Missed {
  const { misses = 0, missed_at = null } = before ?? {}
  if (misses > 0 && missed_at !== null && at - Date.parse(missed_at) < leastMs)
    return { misses, missed_at }
  return { misses: Math.min(misses + 1, missesUntilIll), missed_at: new Date(at).toISOString() }
}

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
  readonly missing_disks: readonly MissingDisk[]
  /** Ids of servers that could not be asked for their disks: what is known of those stays. */
  readonly silent?: readonly string[]
  /** Ids of servers that still boot. */
  readonly booting?: readonly string[]
}

/**
 * The next observation. `at`: of the readings, in ms since 1970. `isChanging`: a change of the
 * cluster is at work, whose restarts explain what is newly not well.
 */
export function observedOf(
  before: Observed | null,
  seen: Seen,
  { at, isChanging }: { readonly at: number; readonly isChanging: boolean },
): Observed {
  const part = (
    known: readonly Part[] | undefined,
    { node_id, name }: Pick<Part, 'node_id' | 'name'>,
    ill: string | null,
    isExplained = isChanging,
  ): Part => {
    // A dead member of etcd may have the name of a server that has another one.
    const last = known?.find((one) => one.name === name && one.node_id === node_id)
    const { misses = 0, missed_at = null } = last ?? {}
    return {
      node_id,
      name,
      ill,
      ...(ill === null
        ? { misses: 0, missed_at: null }
        : isExplained && misses < missesUntilIll
          ? { misses, missed_at }
          : missedAgain(last, at)),
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
    missing_disks: [
      ...(before?.missing_disks ?? []).filter(({ node_id }) => seen.silent?.includes(node_id)),
      ...seen.missing_disks.map((disk) => ({
        ...disk,
        ...missedAgain(
          before?.missing_disks.find(
            (one) => one.node_id === disk.node_id && one.device === disk.device,
          ),
          at,
          seen.booting?.includes(disk.node_id) ? apartBootingMs : apartMs,
        ),
      })),
    ],
  }
}

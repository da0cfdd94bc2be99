/** Checks before a restore: the snapshot, and the control planes. */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { canReadSnapshot, canUseSnapshot } from '#contract/clusters/changes/snapshots.ts'
import type { Check } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { minuteOf } from '#contract/words.ts'
import { TalosError } from '#talos/client/errors.ts'
import { supportedMinor } from '#talos/versions.ts'
import type { StoredSnapshot } from '../../snapshots/api.ts'
import { listed } from '../../../sentences.ts'
import type { MemberRow } from '../../clusters/api.ts'
import { check, forNowIf, isWanted, talosOf } from '../../control-planes/api.ts'
import { keysOfSnapshot, type SnapshotKeys } from './keys.ts'
import { type ChangeView } from '../frame.ts'

/**
 * `waits`: etcd has no data and waits for a bootstrap or recovery. `has-data`: etcd runs, or has
 * data. `silent`: the server does not answer.
 */
export interface EtcdPlace {
  readonly m: MemberRow
  readonly state: 'waits' | 'has-data' | 'silent'
  /** Whether etcd runs. */
  readonly runs: boolean
  readonly reason: string
}

/** Reads from a control plane whether its etcd has data. */
export async function etcdPlace(
  view: Pick<ChangeView, 'parts' | 'state' | 'signal'>,
  m: MemberRow,
): Promise<EtcdPlace> {
  try {
    const etcd = await talosOf(view, m.node_id, async (client) =>
      (await client.services()).find((s) => s.id === 'etcd'),
    )
    const failed =
      etcd?.state === 'Failed' &&
      /recovering from the snapshot|verifying snapshot/.test(etcd.lastEvent?.message ?? '')
    if (etcd?.state === 'Preparing' || failed)
      return { m, state: 'waits', runs: false, reason: etcd.lastEvent?.message ?? '' }
    return {
      m,
      state: 'has-data',
      runs: etcd?.state === 'Running',
      reason: `etcd on ${m.name} is ${etcd?.state.toLowerCase() ?? 'not there yet'}`,
    }
  } catch (error) {
    if (view.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
      throw error
    return { m, state: 'silent', runs: false, reason: `${m.name}: ${error.message}` }
  }
}

export const controlPlanes = ({ state }: Pick<ChangeView, 'state'>): MemberRow[] =>
  state.members.filter((m) => m.role === 'control_plane' && isWanted(m))

export const etcdPlaces = (
  view: Pick<ChangeView, 'parts' | 'state' | 'signal'>,
): Promise<EtcdPlace[]> => Promise.all(controlPlanes(view).map((m) => etcdPlace(view, m)))

/** Checks whether API servers will be able to read the Secrets in the snapshot. */
export function keyCheck(
  keys: SnapshotKeys,
  {
    snapshot,
    cluster,
    isNew,
  }: {
    readonly snapshot: Pick<
      StoredSnapshot,
      'cluster_id' | 'cluster_name' | 'made_by' | 'encryption'
    >
    readonly cluster: string
    readonly isNew: boolean
  },
): Check {
  const name = 'encryption_keys'
  const inIt = 'The Secrets in the snapshot are encrypted with a key that'
  if (keys.kind === 'unknown')
    return check(
      name,
      false,
      `${inIt} Steelyard does not know, so no API server of ${cluster} could read them. The snapshot is of another cluster, or from before its key was changed: restore it in the cluster that has this key, or import the secrets with this key first (docs/snapshots.md, "Snapshots and rotated secrets")`,
    )
  if (keys.kind === 'fits') {
    const isUnread = !keys.isProven && snapshot.encryption === null && snapshot.made_by === 'import'
    return check(
      name,
      true,
      isUnread
        ? 'The keys of the snapshot are compared before anything is wiped'
        : `${cluster} can read the Secrets in the snapshot`,
    )
  }
  const owner = keys.of === snapshot.cluster_id ? snapshot.cluster_name : cluster
  const whose = keys.until
    ? `${owner} had until ${keys.until.toISOString().slice(0, 10)}`
    : `${owner} has`
  return check(
    name,
    isNew,
    isNew
      ? `${inIt} ${whose}: ${cluster} gets this key`
      : `${inIt} ${whose}. The control planes of ${cluster} have another one, so no API server could read them, and Talos has one place for this key. Give all control planes the former key (docs/snapshots.md, "Snapshots and rotated secrets"), import the secrets, and restore then; or restore on other servers`,
  )
}

/** Checks whether the snapshot can be restored in this cluster. */
export async function snapshotChecks(
  { parts, state }: ChangeView,
  { snapshot_id: id, of, servers }: ChangeOf<'restore'>,
): Promise<{ checks: Check[]; warnings: string[] }> {
  const { row } = state
  const snapshots = parts.snapshots
  const snapshot = await snapshots.find(parts.db, id)
  if (!snapshot || snapshot.cluster_id === null)
    return { checks: [check('snapshot', false, 'There is no such snapshot')], warnings: [] }
  const usable = canUseSnapshot(snapshot)
  const taken = snapshot.taken_at === null ? '' : ` of ${minuteOf(snapshot.taken_at)}`
  const known = await snapshots.identityOf(parts.db, row.id)
  const isForeign =
    snapshot.cluster_id !== row.id ||
    (known !== null && snapshot.identity !== null && known !== snapshot.identity)
  const from =
    snapshot.cluster_id === row.id
      ? 'another cluster (its namespace kube-system has another UID)'
      : `the cluster ${snapshot.cluster_name}`
  const isNamed = of !== undefined && of === snapshot.cluster_name
  const keys = await keysOfSnapshot(parts.secrets, parts.db, row.id, snapshot)
  // Talos makes a key for each cluster, so a key that opens the Secrets proves whose they are.
  const isUnproven =
    snapshot.made_by === 'import' && known === null && !(keys.kind === 'fits' && keys.isProven)
  const isNew = servers.length > 0
  const etcd = supportedMinor(row.talos_version)?.etcd ?? null
  const readable = canReadSnapshot({
    made: snapshot.etcd_version,
    runs: etcd,
    talos: row.talos_version,
  })
  return {
    checks: [
      forNowIf(
        !usable.ok && usable.kind === 'for_now',
        check(
          'snapshot',
          usable.ok,
          usable.ok ? `The snapshot${taken} can be used` : usable.reason,
        ),
      ),
      check(
        'cluster',
        !isForeign || isNamed,
        isForeign
          ? `The snapshot is of ${from}${isNamed ? ', as confirmed' : `, not of ${row.name}: to restore it anyway, confirm with the name of its cluster, ${snapshot.cluster_name}`}`
          : `The snapshot is of ${row.name}`,
      ),
      check(
        'etcd_version',
        readable.ok,
        readable.ok
          ? `etcd ${etcd ?? 'of the cluster'} reads data of etcd ${snapshot.etcd_version ?? 'of an unknown version'}`
          : readable.reason,
      ),
      keyCheck(keys, { snapshot, cluster: row.name, isNew }),
    ],
    warnings: [
      `Everything that was changed in Kubernetes since the snapshot${taken} is lost.`,
      ...(isUnproven
        ? [
            `Steelyard has never taken a snapshot of ${row.name}, so it can't tell whether the imported file is one.`,
          ]
        : []),
      ...(isForeign && isNamed
        ? [
            `Tokens of service accounts that ${snapshot.cluster_name} has signed are not valid in ${row.name}: restart their pods.`,
          ]
        : []),
    ],
  }
}

/**
 * Checks that every control plane with etcd data is listed to be wiped, and that at least one
 * control plane can start etcd from the snapshot.
 */
export function placeChecks(
  places: readonly EtcdPlace[],
  reset: readonly string[],
  cluster: string,
): { checks: Check[]; warnings: string[] } {
  const unknown = reset.filter((id) => !places.some((p) => p.m.node_id === id))
  const unnamed = places.filter((p) => p.state === 'has-data' && !reset.includes(p.m.node_id))
  const silentNamed = places.filter((p) => p.state === 'silent' && reset.includes(p.m.node_id))
  const usable = places.filter(
    (p) => p.state === 'waits' || (p.state === 'has-data' && reset.includes(p.m.node_id)),
  )
  const silent = places.filter((p) => p.state === 'silent')
  const names = (of: readonly EtcdPlace[]) => listed(of.map((p) => p.m.name))
  return {
    checks: [
      forNowIf(
        unknown.length === 0 && unnamed.length === 0,
        check(
          'reset',
          unknown.length === 0 && unnamed.length === 0 && silentNamed.length === 0,
          unknown.length > 0
            ? `${cluster} has no control plane ${unknown[0]}`
            : unnamed.length > 0
              ? `${names(unnamed)} ${unnamed.length === 1 ? 'has' : 'have'} data of etcd: name ${unnamed.length === 1 ? 'it' : 'them'} to be wiped, or the old data and the snapshot would be mixed up`
              : silentNamed.length > 0
                ? `${names(silentNamed)} can't be wiped: ${silentNamed[0]!.reason.replace(/\.$/, '')}. Leave ${silentNamed.length === 1 ? 'it' : 'them'} out, and replace ${silentNamed.length === 1 ? 'it' : 'them'} after the restore`
                : 'Every control plane with data of etcd is named',
        ),
      ),
      forNowIf(
        unnamed.length === 0,
        check(
          'control_planes',
          usable.length > 0,
          usable.length > 0
            ? `${names(usable)} can take the snapshot`
            : unnamed.length > 0
              ? `${names(unnamed)} can take the snapshot as soon as ${unnamed.length === 1 ? 'it is' : 'they are'} named`
              : `No control plane of ${cluster} answers: restore on other servers`,
        ),
      ),
    ],
    warnings: silent.map(
      (p) =>
        `${p.m.name} does not answer. If it comes back with old data of etcd, it must be wiped: replace it, or remove it from the cluster.`,
    ),
  }
}

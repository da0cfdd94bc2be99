/**
 * The keys with which the Secrets in a snapshot are encrypted. Talos has one place for each kind of key (Talos `k8stemplates/apiserver.go`), and an API server
 * whose keys don't fit can't list Secrets at all (kubernetes/kubernetes#53301). So a cluster needs the keys of the time of the snapshot.
 */
import type { Db, Tx } from '../../../../db/db.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import type { SnapshotRow } from '../../../snapshots/store.ts'
import type { ClusterSecrets } from '../../secrets.ts'

const kinds = ['secretboxEncryptionSecret', 'aescbcEncryptionSecret'] as const

interface FormerKeys {
  /** The cluster's secrets with the keys that the snapshot needs. */
  readonly bundle: SecretsBundle
  /** Until when the cluster of the snapshot had these keys; null: it has them. */
  readonly until: Date | null
}

/** The secrets with which the cluster can read the snapshot, if that aren't its current ones. An unknown key of a deleted cluster counts as fitting. */
export async function formerKeys(
  secrets: Pick<ClusterSecrets, 'bundle' | 'generations'>,
  on: Db | Tx,
  clusterId: string,
  { cluster_id: of, made_by, taken_at: at }: Pick<SnapshotRow, 'cluster_id' | 'made_by' | 'taken_at'>,
): Promise<FormerKeys | null> {
  const current = await secrets.bundle(on, clusterId)
  if (of === null || current === null) return null
  // Nobody knows when an imported file was made.
  const isDated = made_by !== 'import' && at !== null
  const former = isDated ? (await secrets.generations(on, of)).find((one) => one.from <= at && at < one.until) : undefined
  const then = former?.bundle ?? (of === clusterId ? current : await secrets.bundle(on, of))
  if (then === null || kinds.every((kind) => then.secrets[kind] === undefined || then.secrets[kind] === current.secrets[kind])) return null
  const { bootstrapToken } = current.secrets
  const keys = Object.fromEntries(kinds.flatMap((kind) => (then.secrets[kind] === undefined ? [] : [[kind, then.secrets[kind]]])))
  return { bundle: { ...current, secrets: { bootstrapToken, ...keys } }, until: former?.until ?? null }
}

/** The ids of former bootstrap tokens. Their Secrets come back with a snapshot from before their rotation, and would let anybody with the token in again. */
export async function formerTokens(secrets: Pick<ClusterSecrets, 'bundle' | 'generations'>, on: Db | Tx, clusterId: string): Promise<string[]> {
  const idOf = (bundle: SecretsBundle) => bundle.secrets.bootstrapToken.split('.', 1)[0]!
  const current = await secrets.bundle(on, clusterId)
  const former = (await secrets.generations(on, clusterId)).map((one) => idOf(one.bundle))
  return [...new Set(former)].filter((id) => current === null || id !== idOf(current))
}

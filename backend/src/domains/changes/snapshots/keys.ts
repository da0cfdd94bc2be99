/**
 * The keys with which the Secrets in a snapshot are encrypted. Talos has one place for each kind of
 * key (Talos `k8stemplates/apiserver.go`), and an API server whose keys don't fit can't list
 * Secrets at all (kubernetes/kubernetes#53301). So a cluster needs the keys of the time of the
 * snapshot.
 */
import type { Db, Tx } from '../../../db/db.ts'
import { opens, type SecretSample } from '../../../backup/encrypted-secret.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import type { StoredSnapshot } from '../../snapshots/api.ts'
import type { ClusterSecrets } from '../../clusters/api.ts'

/** The places of the keys in a bundle, by the provider that uses them. */
const places = { secretbox: 'secretboxEncryptionSecret', aescbc: 'aescbcEncryptionSecret' } as const
const kinds = Object.values(places)
const isProvider = (name: string): name is keyof typeof places => name in places

/**
 * `fits`: the cluster has the keys of the snapshot; `isProven`: they open its Secrets. `former`:
 * the cluster, or the cluster of the snapshot, had or has these keys. `unknown`: none of the keys
 * that Steelyard knows of these clusters opens the Secrets.
 */
export type SnapshotKeys =
  | { readonly kind: 'fits'; readonly isProven: boolean }
  | {
      readonly kind: 'former'
      /** The cluster's secrets with the keys that the snapshot needs. */
      readonly bundle: SecretsBundle
      /** The id of the cluster that has these keys, or had them until then. */
      readonly of: string
      readonly until: Date | null
    }
  | { readonly kind: 'unknown' }

type Snapshot = Pick<StoredSnapshot, 'cluster_id' | 'made_by' | 'taken_at' | 'encryption'>
interface Candidate {
  readonly bundle: SecretsBundle
  readonly of: string
  readonly until: Date | null
}
type Secrets = Pick<ClusterSecrets, 'bundle' | 'generations'>

/**
 * The current secrets of the cluster and, if they differ, of the cluster of the snapshot, then
 * former ones, newest first.
 */
async function candidates(
  secrets: Secrets,
  on: Db | Tx,
  clusterId: string,
  of: string,
): Promise<Candidate[]> {
  const found = await Promise.all(
    [...new Set([clusterId, of])].map(async (id) => ({
      id,
      now: await secrets.bundle(on, id),
      former: await secrets.generations(on, id),
    })),
  )
  return [
    ...found.flatMap(({ id, now }) => (now === null ? [] : [{ bundle: now, of: id, until: null }])),
    ...found.flatMap(({ id, former }) =>
      former.map(({ bundle, until }) => ({ bundle, of: id, until })),
    ),
  ]
}

const opensAll = (samples: readonly SecretSample[], { secrets }: SecretsBundle): boolean =>
  samples.every((sample) => {
    const key = isProvider(sample.provider) ? secrets[places[sample.provider]] : undefined
    return key !== undefined && opens(sample, key)
  })

/** The current secrets with the encryption keys of another bundle. */
function withKeysOf(current: SecretsBundle, then: SecretsBundle): SecretsBundle {
  const { bootstrapToken } = current.secrets
  const keys = Object.fromEntries(
    kinds.flatMap((kind) => (then.secrets[kind] === undefined ? [] : [[kind, then.secrets[kind]]])),
  )
  return { ...current, secrets: { bootstrapToken, ...keys } }
}

/**
 * The keys with which the Secrets in the snapshot were encrypted: those that open them or, if no
 * Secret is known, those of its time.
 */
export async function keysOfSnapshot(
  secrets: Secrets,
  on: Db | Tx,
  clusterId: string,
  snapshot: Snapshot,
): Promise<SnapshotKeys> {
  const current = await secrets.bundle(on, clusterId)
  const { cluster_id: of } = snapshot
  if (of === null || current === null) return { kind: 'fits', isProven: false }
  const samples = snapshot.encryption ?? []
  if (samples.length === 0) return keysOfItsTime(secrets, on, clusterId, { current, of, snapshot })
  if (opensAll(samples, current)) return { kind: 'fits', isProven: true }
  const found = (await candidates(secrets, on, clusterId, of)).find((one) =>
    opensAll(samples, one.bundle),
  )
  return found
    ? { kind: 'former', ...found, bundle: withKeysOf(current, found.bundle) }
    : { kind: 'unknown' }
}

/**
 * An unknown key of a deleted cluster counts as fitting, and so does that of an imported file,
 * because nobody knows when it was made.
 */
async function keysOfItsTime(
  secrets: Secrets,
  on: Db | Tx,
  clusterId: string,
  {
    current,
    of,
    snapshot: { made_by, taken_at: at },
  }: { current: SecretsBundle; of: string; snapshot: Snapshot },
): Promise<SnapshotKeys> {
  const isDated = made_by !== 'import' && at !== null
  const former = isDated
    ? (await secrets.generations(on, of)).find((one) => one.from <= at && at < one.until)
    : undefined
  const then = former?.bundle ?? (of === clusterId ? current : await secrets.bundle(on, of))
  if (
    then === null ||
    kinds.every(
      (kind) => then.secrets[kind] === undefined || then.secrets[kind] === current.secrets[kind],
    )
  )
    return { kind: 'fits', isProven: false }
  return { kind: 'former', bundle: withKeysOf(current, then), of, until: former?.until ?? null }
}

/**
 * The ids of former bootstrap tokens. Their Secrets come back with a snapshot from before their
 * rotation, and would let anybody with the token in again.
 */
export async function formerTokens(
  secrets: Pick<ClusterSecrets, 'bundle' | 'generations'>,
  on: Db | Tx,
  clusterId: string,
): Promise<string[]> {
  const idOf = (bundle: SecretsBundle) => bundle.secrets.bootstrapToken.split('.', 1)[0]!
  const current = await secrets.bundle(on, clusterId)
  const former = (await secrets.generations(on, clusterId)).map((one) => idOf(one.bundle))
  return [...new Set(former)].filter((id) => current === null || id !== idOf(current))
}

/**
 * A deterministic snapshot of a simulated cluster, the content that the published etcd must find in
 * it, and the content that it has found (`etcd/answers.json`). The cluster has enough objects for a
 * tree of several levels, and an object that is larger than a page of the database.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EtcdCluster } from '#simulator/src/cluster/etcd.ts'
import type { Member, StoredObject } from '#simulator/src/cluster/stored.ts'
import { snapshotOf } from '#simulator/src/cluster/snapshot.ts'

const etcdFolder = join(import.meta.dirname, 'etcd')
/** The content that the published etcd has found in `simulatedSnapshot()`. */
export const etcdAnswersFile = join(etcdFolder, 'answers.json')
/** A snapshot that the published etcd has saved after the writes of `writesFile`. */
export const etcdSnapshotFile = join(etcdFolder, 'etcd.snapshot')
/** The writes before that snapshot, oldest first. A value of null is a deletion. */
export const writesFile = join(etcdFolder, 'writes.json')

/** The output of the Go program for a snapshot. */
export interface EtcdFound {
  /** Version of etcd. */
  etcd: string
  /** As printed by `etcdutl snapshot status`. */
  status: { hash: number; revision: number; totalKey: number; totalSize: number; version: string }
  /** Revision of the member that was restored from the snapshot. */
  revision: number
  /** Whether the restored member stores a new key under the next revision. */
  written: boolean
  keys: { key: string; revision: number; value: Record<string, unknown> }[]
}

/** The part of `EtcdFound` that is committed. */
export interface EtcdAnswers extends Omit<EtcdFound, 'keys'> {
  /** SHA-256 of the snapshot, hex. */
  snapshot: string
  /** SHA-256 of the keys, revisions and objects, hex. */
  keys: string
}

const namespaces = 60
const configMapsInEach = 12
const digest = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex')
const uid = (number: number): string =>
  `0c0f0000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`
const member = (number: number, learner: boolean): Member => ({
  id: `8e9e05c52164694${number}`,
  machine: number,
  name: `control-plane-${number}`,
  address: `10.0.0.${number}`,
  learner,
})

const stored = (
  revision: number,
  kind: string,
  name: string,
  rest: object,
  namespace?: string,
): StoredObject => ({
  body: {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid: uid(revision),
      resourceVersion: String(revision),
      creationTimestamp: '2026-11-02T08:00:00Z',
    },
    ...rest,
  },
  managers: {},
})

/** Objects by the simulator's keys. */
function simulatedObjects(): Record<string, StoredObject> {
  const objects: Record<string, StoredObject> = {}
  let revision = 1
  for (const name of [
    'kube-system',
    ...Array.from({ length: namespaces }, (_, i) => `team-${i}`),
  ]) {
    objects[`/namespaces/${name}`] = stored(++revision, 'Namespace', name, {
      status: { phase: 'Active' },
    })
    for (let i = 0; i < configMapsInEach; i++) {
      const data = { text: 'Zażółć '.repeat((i * 37) % 60) + 'x'.repeat(i === 7 ? 9_000 : 0) }
      objects[`/configmaps/${name}/settings-${i}`] = stored(
        ++revision,
        'ConfigMap',
        `settings-${i}`,
        { data },
        name,
      )
    }
  }
  objects['/nodes/worker-1'] = stored(++revision, 'Node', 'worker-1', {
    status: { nodeInfo: { kubeletVersion: 'v1.36.2' } },
  })
  return objects
}

/** Two voters and a learner, because a restore must drop the old members. */
export const simulatedSnapshot = (): Buffer =>
  snapshotOf(
    new EtcdCluster(
      '',
      {
        id: 'conformance',
        talosId: 'conformance',
        name: 'conformance',
        caCrt: '',
        createdBy: 1,
        members: [member(1, false), member(2, false), member(3, true)],
        term: 7,
        kubernetes: { resourceVersion: 5_000, objects: simulatedObjects() },
      },
      () => undefined,
    ),
  )

/**
 * The answers that etcd must give about `simulatedSnapshot()`. Its own hash and the size of the
 * database are left out.
 */
export function expectedAnswers() {
  const keys = Object.entries(simulatedObjects()).map(([key, { body }]) => {
    const revision = Number((body.metadata as { resourceVersion: string }).resourceVersion)
    return { key: `/registry${key.replace('/nodes/', '/minions/')}`, revision, value: body }
  })
  const revision = Math.max(...keys.map((one) => one.revision))
  return {
    snapshot: digest(simulatedSnapshot()),
    status: { revision, totalKey: keys.length, version: '3.6.0' },
    revision,
    written: true,
    keys: keysDigest(keys),
  }
}

const keysDigest = (keys: EtcdFound['keys']): string =>
  digest(
    JSON.stringify(
      keys
        .toSorted((one, other) => (one.key < other.key ? -1 : 1))
        .map(({ key, revision, value }) => [key, revision, value]),
    ),
  )

/** The answers about a snapshot that are committed. */
export const answersOf = (snapshot: Uint8Array, { keys, ...found }: EtcdFound): EtcdAnswers => ({
  ...found,
  snapshot: digest(snapshot),
  keys: keysDigest(keys),
})

/**
 * The objects that are left after the writes, by key. Each write has a revision of its own; the
 * first is 2, because an empty etcd has revision 1.
 */
export function leftAfterWrites(): Record<
  string,
  { revision: number; value: Record<string, unknown> }
> {
  const left = new Map<string, { revision: number; value: Record<string, unknown> }>()
  const writes = JSON.parse(readFileSync(writesFile, 'utf8')) as {
    key: string
    value: Record<string, unknown> | null
  }[]
  for (const [i, { key, value }] of writes.entries()) {
    if (value === null) left.delete(key)
    else left.set(key, { revision: i + 2, value })
  }
  return Object.fromEntries(left)
}

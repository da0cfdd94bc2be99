import { createHash } from 'node:crypto'
import { isObject, object, text } from '../config/shape.ts'
import { readBolt, BoltError } from './bolt-read.ts'
import type { KubernetesState, StoredObject } from './stored.ts'
import { BUILT_IN } from '../kubernetes/kinds.ts'

const HASH_BYTES = 32
const SECTOR_BYTES = 512
/** Minor of the etcd 3 of Talos 1.13. */
const USUAL_MINOR = 6
const FILE = '/var/lib/etcd.snapshot'
/** `main_sub`, followed by a `t` for the deletion of a key. */
const REVISION_BYTES = 17

/** Why etcd can't be recovered from a snapshot. The message is Talos's and etcd's own. */
export class RecoveryError extends Error {
  override name = 'RecoveryError'
}

/**
 * The Kubernetes objects of a snapshot (Talos: services/etcd.go, recoverFromSnapshot; etcd:
 * etcdutl/snapshot/v3_snapshot.go). A snapshot that etcd wrote ends with the SHA-256 of the
 * database; a copied database file has none and needs `skipHashCheck`. Objects that aren't stored
 * as JSON are left out. Throws `RecoveryError`.
 * @param etcdMinor of the etcd 3 that is to read it
 */
export const recoveredState = (
  file: Buffer | null,
  skipHashCheck: boolean,
  etcdMinor = USUAL_MINOR,
): KubernetesState => {
  if (file === null)
    throw new RecoveryError(`error verifying snapshot: stat ${FILE}: no such file or directory`)
  const hasHash = file.length % SECTOR_BYTES === HASH_BYTES
  const database = hasHash ? file.subarray(0, -HASH_BYTES) : file
  const buckets = verified(database)
  if (!hasHash && !skipHashCheck)
    throw new RecoveryError(
      'error recovering from the snapshot: snapshot missing hash but --skip-hash-check=false',
    )
  const found = createHash('sha256').update(database).digest()
  const wanted = file.subarray(-HASH_BYTES)
  if (hasHash && !skipHashCheck && !found.equals(wanted))
    throw new RecoveryError(
      `error recovering from the snapshot: expected sha256 [${[...wanted].join(' ')}], got [${[...found].join(' ')}]`,
    )
  const version =
    buckets
      .get('meta')
      ?.find(([key]) => key.toString() === 'storageVersion')?.[1]
      .toString() ?? ''
  // etcd refuses a data folder of a newer minor when it starts.
  if (Number(version.split('.')[1] ?? 0) > etcdMinor)
    throw new RecoveryError(
      'Error running Containerd(etcd), going to restart forever: task "etcd" failed: exit code 1',
    )
  return stateOf(buckets.get('key') ?? [])
}

const verified = (database: Buffer): ReturnType<typeof readBolt> => {
  try {
    return readBolt(database)
  } catch (cause) {
    if (!(cause instanceof BoltError)) throw cause
    throw new RecoveryError(`error verifying snapshot: ${cause.message}`, { cause })
  }
}

const stateOf = (entries: readonly (readonly [Buffer, Buffer])[]): KubernetesState => {
  const newest = new Map<string, { revision: number; value: Buffer | null }>()
  let last = 1
  for (const [revisionKey, bytes] of entries) {
    const revision = Number(revisionKey.readBigUInt64BE())
    const pair = keyValueOf(bytes)
    const isDeleted = revisionKey.length > REVISION_BYTES
    last = Math.max(last, revision)
    if ((newest.get(pair.key)?.revision ?? -1) <= revision)
      newest.set(pair.key, { revision, value: isDeleted ? null : pair.value })
  }
  const objects: Record<string, StoredObject> = {}
  for (const [key, { revision, value }] of newest) {
    const body = value && jsonOf(value)
    const storageKey = body && storageKeyOf(key, body)
    if (!storageKey) continue
    objects[storageKey] = {
      body: { ...body, metadata: { ...object(body.metadata), resourceVersion: String(revision) } },
      managers: {},
    }
  }
  return { resourceVersion: last, objects }
}

/** Key and value of an `mvccpb.KeyValue`. */
const keyValueOf = (bytes: Buffer): { key: string; value: Buffer } => {
  let at = 0
  let key = ''
  let value: Buffer = Buffer.alloc(0)
  const varint = (): number => {
    let result = 0
    for (let shift = 1; at < bytes.length; shift *= 128) {
      const byte = bytes[at++]!
      result += (byte & 0x7f) * shift
      if (byte < 0x80) break
    }
    return result
  }
  while (at < bytes.length) {
    const tag = varint()
    if ((tag & 7) === 0) varint()
    else {
      const length = varint()
      const content = bytes.subarray(at, at + length)
      at += length
      if (tag >>> 3 === 1) key = content.toString('utf8')
      if (tag >>> 3 === 5) value = content
    }
  }
  return { key, value }
}

const jsonOf = (value: Buffer): Record<string, unknown> | null => {
  if (value[0] !== 0x7b) return null
  try {
    const read: unknown = JSON.parse(value.toString('utf8'))
    return isObject(read) ? read : null
  } catch {
    return null
  }
}

/** The simulated server's key of an object. Keys of custom kinds contain their group. */
const storageKeyOf = (key: string, body: Record<string, unknown>): string | null => {
  const { namespace, name } = object(body.metadata)
  const [group, version] = text(body.apiVersion).includes('/')
    ? text(body.apiVersion).split('/')
    : ['', text(body.apiVersion)]
  const known = BUILT_IN.find(
    (candidate) =>
      candidate.group === group && candidate.version === version && candidate.kind === body.kind,
  )
  if (known)
    return `${group}/${known.plural}/${known.namespaced ? `${text(namespace)}/` : ''}${text(name)}`
  const [, registry, first, ...rest] = key.split('/')
  return registry === 'registry' && first === group ? `${first}/${rest.join('/')}` : null
}

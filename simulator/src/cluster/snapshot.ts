import { createHash } from 'node:crypto'
import { type Body, object, text } from '../config/shape.ts'
import { boltDatabase, type Entries } from './bolt.ts'
import { clientUrl, peerUrl, type EtcdCluster } from './etcd.ts'
import { storageVersionOf } from './storage-version.ts'
import type { Member } from './stored.ts'

/**
 * Storage keys of kinds whose key isn't their plural name (Kubernetes:
 * pkg/registry/core/rest/storage_core.go).
 */
const FOLDERS: Readonly<Record<string, string>> = {
  nodes: 'minions',
  services: 'services/specs',
  endpoints: 'services/endpoints',
}
/** Groups whose name is not part of the storage key. Keys of custom kinds contain the group. */
const BUILT_IN_GROUPS = new Set([
  '',
  'apps',
  'batch',
  'rbac.authorization.k8s.io',
  'networking.k8s.io',
  'coordination.k8s.io',
  'policy',
  'storage.k8s.io',
])

/**
 * A snapshot of the cluster's etcd as `etcdctl snapshot save` writes it: the database followed by
 * its SHA-256. Kubernetes objects are stored as JSON (`--storage-media-type=application/json`),
 * with only the newest revision of each key, as after a compaction. Source of the buckets: etcd
 * `server/storage/schema`.
 */
export const snapshotOf = (cluster: EtcdCluster): Buffer => {
  const { state } = cluster
  const index = state.kubernetes.resourceVersion + 100
  const storageVersion = storageVersionOf(cluster)
  const database = boltDatabase({
    ...Object.fromEntries(
      'alarm auth authRoles authUsers lease members_removed'.split(' ').map((name) => [name, []]),
    ),
    cluster: entries({
      clusterVersion: storageVersion,
      downgrade: JSON.stringify({ 'target-version': '', enabled: false }),
    }),
    key: Object.entries(state.kubernetes.objects).map(([key, { body }]) => keyValue(key, body)),
    members: entries(
      Object.fromEntries(state.members.map((member) => [member.id, memberText(member)])),
    ),
    meta: [
      ...entries({ confState: confState(state.members), storageVersion }),
      [Buffer.from('consistent_index'), bigEndian(index)],
      [Buffer.from('term'), bigEndian(state.term)],
    ],
  })
  return Buffer.concat([database, createHash('sha256').update(database).digest()])
}

const entries = (texts: Readonly<Record<string, string>>): Entries =>
  Object.entries(texts).map(([key, value]) => [Buffer.from(key), Buffer.from(value)])

const bigEndian = (value: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

/** Written by hand, because JSON.stringify can't write the 64-bit ids. */
const confState = (members: readonly Member[]): string => {
  const ids = (learner: boolean): string =>
    members
      .filter((member) => member.learner === learner)
      .map(({ id }) => BigInt(`0x${id}`))
      .join(',')
  return `{"voters":[${ids(false)}],"learners":[${ids(true)}],"auto_leave":false}`
}

const memberText = (member: Member): string => {
  const rest = JSON.stringify({
    peerURLs: [peerUrl(member)],
    ...(member.learner && { isLearner: true }),
    name: member.name,
    clientURLs: [clientUrl(member)],
  })
  return `{"id":${BigInt(`0x${member.id}`)},${rest.slice(1)}`
}

/**
 * An entry of etcd: its revision (`main_sub`) and its `mvccpb.KeyValue`. The revision is the
 * object's resource version, which is unique.
 */
const keyValue = (storageKey: string, body: Body): [Buffer, Buffer] => {
  const revision = Number(text(object(body.metadata).resourceVersion))
  const key = Buffer.concat([bigEndian(revision), Buffer.from('_'), bigEndian(0)])
  const value = Buffer.concat([
    bytesField(1, Buffer.from(registryKey(storageKey))),
    numberField(2, revision),
    numberField(3, revision),
    numberField(4, 1),
    bytesField(5, Buffer.from(`${JSON.stringify(body)}\n`)),
  ])
  return [key, value]
}

const registryKey = (storageKey: string): string => {
  const [group = '', plural = '', ...rest] = storageKey.split('/')
  const folder = BUILT_IN_GROUPS.has(group) ? (FOLDERS[plural] ?? plural) : `${group}/${plural}`
  return `/registry/${folder}/${rest.join('/')}`
}

const varint = (value: number): Buffer => {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Buffer.from([...bytes, rest])
}

const numberField = (field: number, value: number): Buffer =>
  Buffer.concat([varint(field << 3), varint(value)])
const bytesField = (field: number, value: Buffer): Buffer =>
  Buffer.concat([varint((field << 3) | 2), varint(value.length), value])

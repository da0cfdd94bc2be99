/** What changes of running clusters read and write of clusters' rows. */
import type { Db, Tx } from '../../db/db.ts'
import * as store from './store.ts'
import { noteCertificates } from './store-rotations.ts'

type On = Db | Tx

export interface ClusterRows {
  /** Undefined if the cluster doesn't exist; also a removed one. */
  readonly row: (on: On, id: string) => Promise<store.ClusterRow | undefined>
  /** The cluster as lists show it. */
  readonly find: (on: On, id: string) => Promise<store.ListedCluster | undefined>
  /** The cluster with its servers; undefined if it doesn't exist. */
  readonly load: (on: On, id: string) => Promise<store.State | undefined>
  /** Locks the row until the transaction ends. */
  readonly lock: (tx: Tx, id: string) => Promise<store.ClusterRow | undefined>
  /** Increments the version, and remembers in the history what has changed. */
  readonly update: (tx: Tx, id: string, change: store.ClusterChange) => Promise<store.ClusterRow>
  /** When certificates end, which users don't see. */
  readonly noteCertificates: (
    tx: Tx,
    id: string,
    columns: Pick<store.ClusterChange, 'certificates_ending' | 'certificates_read_at'>,
  ) => Promise<unknown>
  /** Virtual IPs of the clusters of a datacenter, with the names of the clusters. */
  readonly virtualAddresses: (
    on: On,
    datacenterId: string,
  ) => Promise<{ readonly id: string; readonly name: string; readonly address: string }[]>
  /** All present and former servers of a cluster. */
  readonly members: (on: On, clusterId: string) => Promise<store.MemberRow[]>
  readonly member: (
    on: On,
    clusterId: string,
    nodeId: string,
  ) => Promise<store.MemberRow | undefined>
  readonly insertMembers: (tx: Tx, members: readonly store.NewMember[]) => Promise<unknown>
  readonly updateMember: (
    tx: Tx,
    clusterId: string,
    nodeId: string,
    change: store.MemberChange,
    /** The operation that the history names. */
    operation?: string,
  ) => Promise<void>
  /** Changes every server that has not left. */
  readonly updateMembers: (
    tx: Tx,
    clusterId: string,
    change: store.MemberChange,
  ) => Promise<unknown>
  /** Deletes a server's row, with its configurations. */
  readonly dropMember: (tx: Tx, clusterId: string, nodeId: string) => Promise<unknown>
}

export const clusterRows: ClusterRows = {
  row: store.row,
  find: store.find,
  load: store.load,
  lock: store.lock,
  update: store.update,
  virtualAddresses: store.virtualAddresses,
  members: store.members,
  member: store.member,
  insertMembers: store.insertMembers,
  updateMember: store.updateMember,
  updateMembers: store.updateMembers,
  dropMember: store.dropMember,
  noteCertificates,
}

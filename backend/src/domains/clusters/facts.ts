/** Converts rows to the facts for decisions. */
import type { ClusterFacts, Member } from './whole/decide-cluster.ts'
import type { Around, ServerFacts } from './member/decide-server.ts'
import { waitTurn } from './whole/decide-cluster.ts'
import * as store from './store.ts'
import type { Job } from '../../engine/engine.ts'
import type { Db, Tx } from '../../db/db.ts'

const ms = (time: Date | null): number | null => time?.getTime() ?? null

export interface State {
  readonly row: store.ClusterRow
  readonly members: readonly store.MemberRow[]
  readonly bootstrap: store.BootstrapRow | undefined
  readonly hasBundle: boolean
}

/**
 * All stored facts of a cluster; undefined if it doesn't exist. With `nodeId`, for a server that joins, it loads only that server
 * and the one chosen for the bootstrap, so that a large cluster is not read once per server.
 */
export async function load(on: Db | Tx, clusterId: string, nodeId?: string): Promise<State | undefined> {
  const row = await store.row(on, clusterId)
  if (!row || row.deleted_at !== null) return undefined
  const bootstrap = await store.bootstrap(on, clusterId)
  const isJoining = nodeId !== undefined && (await store.member(on, clusterId, nodeId))?.wanted === 'joined'
  const members = await store.members(on, clusterId, isJoining ? [nodeId, ...(bootstrap ? [bootstrap.node_id] : [])] : undefined)
  return { row, members, bootstrap, hasBundle: (await store.secret(on, clusterId, 'bundle')) !== undefined }
}

export const memberOf = (m: store.MemberRow): Member => ({
  node_id: m.node_id,
  name: m.name,
  role: m.role,
  position: m.position,
  wanted: m.wanted,
  at: m.at,
  sent: m.send_intent_at !== null,
  secured: m.secured_at !== null,
  etcd: m.etcd_at !== null,
  nodeReady: m.node_ready_at !== null,
  failed: m.failed_at !== null,
  failure: m.failure,
  released: m.released_at !== null,
})

export const clusterFacts = ({ row, members, bootstrap, hasBundle }: State): ClusterFacts => ({
  wanted: row.wanted,
  forced: row.forced,
  secrets: hasBundle,
  escrowed: row.escrowed_at !== null,
  bootstrap: bootstrap ? { node_id: bootstrap.node_id, confirmed: bootstrap.confirmed_at !== null } : null,
  controlPlaneHealthy: row.control_plane_at !== null,
  nodesReady: row.nodes_ready_at !== null,
  keyApplied: row.key_applied_at !== null,
  accessApplied: row.access_applied_at !== null,
  wasReady: row.ready_at !== null,
  members: members.map(memberOf),
})

export const serverFacts = (m: store.MemberRow, rendered: boolean): ServerFacts => ({
  name: m.name,
  role: m.role,
  wanted: m.wanted,
  rendered,
  sendIntentAt: ms(m.send_intent_at),
  sentAt: ms(m.sent_at),
  sends: m.sends,
  left: m.left_at !== null,
  wasInstalled: m.was_installed,
  securedAt: ms(m.secured_at),
  resetIntentAt: ms(m.reset_intent_at),
  resetSentAt: ms(m.reset_sent_at),
  resets: m.resets,
  alone: m.operation_id !== null,
  wiped: m.wiped_at !== null,
  failed: m.failed_at !== null,
  at: m.at,
  atSince: m.at_since.getTime(),
  seenAt: ms(m.seen_at),
  stage: m.stage,
  trouble: m.trouble,
})

export function aroundOf({ row, members, bootstrap, hasBundle }: State, nodeId: string, job: Pick<Job, 'now' | 'steadySince'>): Around {
  const all = members.map(memberOf)
  const self = all.find((m) => m.node_id === nodeId)!
  const chosen = bootstrap && all.find((m) => m.node_id === bootstrap.node_id)
  return {
    now: job.now(),
    steadySince: job.steadySince(),
    secrets: hasBundle && row.escrowed_at !== null,
    controlPlaneAt: ms(row.control_plane_at),
    bootstrap: bootstrap ? { name: chosen?.name ?? 'a control plane', confirmedAt: ms(bootstrap.confirmed_at) } : null,
    waitTurn: waitTurn(self, all, { wanted: row.wanted, etcdBegun: bootstrap !== undefined }),
    othersStay: all.some((m) => m.role === 'control_plane' && m.node_id !== nodeId && !m.released && m.etcd),
    clusterStays: row.wanted === 'ready',
  }
}

/** Conditions of servers and clusters that are well, and what is judged of them. */
import type { ClusterCondition } from '../../clusters/api.ts'
import type { ServerCondition } from '../../servers/api.ts'
import type { Around } from '../judge-clusters.ts'
import { judgeServers } from '../judge-servers.ts'
import type { Judged } from '../judged.ts'

export const now = Date.parse('2026-11-27T22:00:00Z')
export const at = (text: string) => new Date(`2026-11-27T${text}Z`)
export const fra = { id: 'fra', code: 'DE-FRA-1' }

export const server = (name: string, more: Partial<ServerCondition> = {}): ServerCondition => ({
  id: name,
  name,
  status: 'ready',
  operation_id: null,
  datacenter: fra,
  cluster: { id: 'web', name: 'web' },
  talos: { reachable: true, unreachable_since: null, reason: null },
  kubernetes: null,
  failure: null,
  undone: null,
  pending: null,
  drift_since: null,
  left_cluster: null,
  install: null,
  doubt: null,
  ...more,
})
export const silent = (name: string, since: string, more: Partial<ServerCondition> = {}) =>
  server(name, {
    talos: {
      reachable: false,
      unreachable_since: at(since).toISOString(),
      reason: 'connection refused',
    },
    ...more,
  })
export const judged = (
  unwell: readonly ServerCondition[],
  { answering = 2, together = new Set<string>() } = {},
) => judgeServers({ unwell, answering: new Map([[fra.id, answering]]) }, together, now)
export const said = (all: readonly Judged[]) =>
  all.map((one) => [one.kind, one.object.name, one.reason])

export const cluster = (more: Partial<ClusterCondition> = {}): ClusterCondition => ({
  id: 'web',
  name: 'web',
  datacenter: fra,
  status: 'ready',
  reason: null,
  ready_at: new Date(now - 3_600_000),
  shown: { finding: null, upgrade: null },
  observed: null,
  talos_version: 'v1.13.9',
  kubernetes_version: '1.36.3',
  operation_id: null,
  problem: null,
  locked_out: null,
  held: null,
  certificates: [],
  troubles: [],
  control_planes: ['a', 'b', 'c'],
  ...more,
})
export const around = (more: Partial<Around> = {}): Around => ({
  snapshot: undefined,
  upgrades: [],
  failed: undefined,
  members: new Set(['web-3']),
  unsupported: [],
  full: [],
  silent: new Map(),
  now,
  ...more,
})

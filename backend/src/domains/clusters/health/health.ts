/** Reads the health of a cluster from its machines and Kubernetes. */
import type { ClusterHealth } from '#contract/clusters/health.ts'
import { type ClusterParts, demandCluster, runningOn } from '../parts.ts'
import { snapshotTrouble } from '../../snapshots/api.ts'
import {
  askApiServers,
  askControlPlanes,
  askEtcd,
  askNodes,
  askPods,
  controlPlanesOf,
  etcdHealth,
  factsOf,
  type Heard,
  kubernetesOf,
  nodesHealth,
} from '../../control-planes/api.ts'
import { apiServersOf } from '../outside.ts'
import * as store from '../store.ts'
import { linesOf, snapshotSaid } from './lines.ts'
import { isInDocuments } from '../forms.ts'
import { kubernetesVersionsOf, talosVersions } from './versions.ts'

const notYet: Heard<never> = {
  value: null,
  failed: 'No control plane has joined yet',
  isOwnDelay: false,
}

/**
 * Reads etcd, the API servers and the nodes in parallel. Each call has a limit of four seconds;
 * what did not answer is unknown, with the reason.
 * @throws Problem `not_found`
 */
export async function clusterHealthNow(
  parts: ClusterParts,
  id: string,
  signal: AbortSignal,
): Promise<ClusterHealth> {
  const row = await demandCluster(parts.db, id)
  const members = (await store.members(parts.db, id)).filter(store.isWanted)
  const controlPlanes = controlPlanesOf(members)
  const facts = await factsOf(parts, parts.db, members)
  const targets = facts.filter((f) => controlPlanes.some((m) => m.node_id === f.id))
  const client = targets.length === 0 ? null : await kubernetesOf(parts, { row, members })
  // The question itself fails without the change after which the server has fallen silent.
  const silent = new Map(facts.flatMap((f) => (f.silence === null ? [] : [[f.name, f.silence]])))
  const because = <T extends { readonly name: string; readonly reason: string | null }>(
    one: T,
    isWell: boolean,
  ): T => (isWell || !silent.has(one.name) ? one : { ...one, reason: silent.get(one.name)! })
  const [asked, api, nodes, pods, unready, saved] = await Promise.all([
    askEtcd(parts, controlPlanes, signal),
    client === null ? [] : askApiServers(client, targets, { signal, clock: parts.clock }),
    client === null ? notYet : askNodes(client, signal),
    client === null ? notYet : askPods(client, signal),
    client === null ? notYet : askControlPlanes(client, signal),
    parts.snapshots.last(id),
  ])
  const reports = asked.map((one) =>
    one.failed === null ? one : { ...one, failed: silent.get(one.server.name) ?? one.failed },
  )
  const pairs = parts.versions.pairs()
  const warnings = parts.versions.warnings(row.talos_version, row.kubernetes_version)
  const found = {
    etcd: etcdHealth(reports),
    // Kubernetes's own reason says more than that nothing answers.
    kubernetes_api: api.map(({ state: one }) => {
      const pod = unready.value?.find(
        ({ node, component, isDead }) =>
          node === one.name && component === 'kube-apiserver' && isDead,
      )
      return because(one.ready || pod === undefined ? one : { ...one, reason: pod.why }, one.ready)
    }),
    nodes: nodesHealth(
      members.map((m, i) => ({ ...m, talos_version: facts[i]!.talos_version })),
      nodes,
      pods,
    ).map((one) => because(one, one.ready !== false)),
    versions: {
      talos: talosVersions(row.talos_version, row.kubernetes_version, pairs, warnings),
      kubernetes: kubernetesVersionsOf(
        { current: row.kubernetes_version, apiServers: apiServersOf(members) },
        row.talos_version,
        parts.versions.kubernetes(row.talos_version),
        pairs,
        warnings,
      ),
    },
    snapshot:
      saved.snapshot === null
        ? null
        : {
            id: saved.snapshot.id,
            taken_at: saved.snapshot.taken_at,
            verified_at: saved.snapshot.verified_at,
            size_bytes: saved.snapshot.size_bytes,
            store: saved.snapshot.store.name,
          },
    drift: facts.flatMap((f) =>
      f.drift_since === null
        ? []
        : [{ node_id: f.id, name: f.name, since: f.drift_since.toISOString() }],
    ),
  }
  const cordoned = new Set((nodes.value ?? []).filter((n) => n.isOurCordon).map((n) => n.name))
  const isChanging = (await runningOn(parts, parts.db, row)) !== undefined
  const now = parts.clock.now()
  return {
    at: new Date(now).toISOString(),
    lines: linesOf(found, {
      saved: snapshotSaid(
        saved.condition,
        row.ready_at === null ? null : snapshotTrouble(saved.condition, row.ready_at, now),
      ),
      formerMember: row.problem === 'former_member' ? row.reason : null,
      unsupported: parts.versions
        .unsupported(row.talos_version, row.kubernetes_version)
        .map(({ of }) => of),
      cordoned,
      isChanging,
      moved: {
        done: members.filter((m) => isInDocuments(row, m)).length,
        of: members.length,
      },
      pending: facts.flatMap(({ name, pending: reason }) =>
        reason === null ? [] : [{ name, reason }],
      ),
      unready: unready.value ?? [],
    }),
    ...found,
  }
}

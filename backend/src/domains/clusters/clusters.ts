/** Use-cases of clusters. Each change is one transaction with rows, audit entry, event and operation. The reconcilers carry it out. */
import type { clusterEvents, clusterList, clusterPreview, clusterServerFailure, Cluster, NewCluster } from '#contract/clusters/clusters.ts'
import { canDeleteCluster, canDownloadKubeconfig, canDownloadTalosconfig } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import { hasEnded, type Operation } from '#contract/operations.ts'
import { type clusterSecretsImport, lockedOutSentences } from '#contract/clusters/takeover.ts'
import type { Attention, Overview } from '#contract/overview.ts'
import type { Page } from '#contract/page.ts'
import { kubeconfig, talosconfig } from '#talos/access/access.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import type { Caller, UserCaller } from '../../http/caller.ts'
import { checkVersion, type Versions } from '../../http/tags.ts'
import { sweepQueue } from '../patches/drift/sweep.ts'
import { creation } from './create/creation.ts'
import { waitingForMembers } from './whole/decide-cluster.ts'
import { failureAnswer } from './member/failure-log.ts'
import { operatorGroup } from './kubernetes-objects.ts'
import type { Leaving } from './leave/leaving.ts'
import { clusterQueue, type ClusterParts, memberKey, memberQueue, wakeMembers } from './parts.ts'
import { deletionSteps } from './plan.ts'
import { present } from './present.ts'
import { clusterReconciler } from './whole/reconcile-cluster.ts'
import { memberReconciler } from './member/reconcile.ts'
import { replacing } from './create/replacing.ts'
import { guardRetries } from './create/retrying.ts'
import * as store from './store.ts'
import { secretsImporting } from './takeover/secrets-import.ts'
import { type TakingOver, takingOver } from './takeover/takeover.ts'
import { tellTroubles, troublesOf } from './whole/troubles.ts'

/** Life of downloaded credentials, in ms. */
const downloadLifetimeMs = 24 * 3_600_000

export interface Clusters {
  list(query: Input<typeof clusterList>['query']): Promise<Page<Cluster>>
  get(id: string): Promise<Cluster>
  events(id: string): Promise<Answer<typeof clusterEvents>>
  /** The last failure of a current or former server of the cluster. @throws Problem not_found */
  failure(id: string, nodeId: string): Promise<Answer<typeof clusterServerFailure>>
  create(caller: Caller, asked: NewCluster): Promise<{ cluster: Cluster; operation: Operation }>
  preview(asked: NewCluster): Promise<Answer<typeof clusterPreview>>
  remove(caller: Caller, id: string, options: { force: boolean; ifMatch?: Versions }): Promise<{ operation: Operation }>
  /** Takes a server out of its cluster and wipes it. */
  resetServer: Leaving['resetServer']
  replace: ReturnType<typeof replacing>
  kubeconfig(caller: UserCaller, id: string): Promise<{ name: string; text: string }>
  talosconfig(caller: UserCaller, id: string): Promise<{ name: string; text: string }>
  /** For the overview: number of clusters by status, and clusters with problems. */
  summary(): Promise<{ counts: Overview['clusters']; ailing: Attention[] }>
  /** Number of clusters by datacenter id. */
  countByDatacenter(on: Db | Tx): Promise<ReadonlyMap<string, number>>
  /** Takes over clusters made with other tools. */
  readonly takeover: TakingOver
  /** Imports new authorities after somebody else changed them. @throws Problem */
  importSecrets(caller: Caller, id: string, handed: Input<typeof clusterSecretsImport>['body']): Promise<Cluster>
  /** Resumes a cluster that was held after a restore. The time of the hold doesn't count as waiting. */
  goOn(tx: Tx, caller: Caller, id: string): Promise<void>
  /** At start: wakes clusters whose wake-ups were lost. */
  resume(): Promise<void>
}

const unknown = (id: string) => new Problem('not_found', `Cluster ${id} not found`)

export function clusters(parts: ClusterParts): Clusters {
  const { db, clock, servers, operations, record, tell, engine, audit, access, secrets, rendered, reached, left, outside } = parts
  const made = creation(parts, secrets, rendered)
  const imports = secretsImporting(parts, secrets, outside, rendered)
  guardRetries(parts)
  tellTroubles(parts)
  engine.register(clusterReconciler(parts, secrets, reached))
  engine.register(memberReconciler(parts, secrets, rendered, reached))
  operations.worksPerServer(clusterQueue, memberQueue)

  const found = async (on: Db | Tx, id: string): Promise<store.ListedCluster> => {
    const row = await store.find(on, id)
    if (!row) throw unknown(id)
    return row
  }

  const shown = async (rows: readonly store.ListedCluster[]): Promise<Cluster[]> => {
    const subnets = await parts.subnets.namesByCluster(
      db,
      rows.map((r) => r.id),
    )
    const now = clock.now()
    const troubles = await troublesOf(db, engine)
    return rows.map((row) => present(row, now, subnets.get(row.id), troubles.get(row.id)?.slice()))
  }

  const isAdmin = (caller: UserCaller) => caller.scopes.includes('users:manage')

  /** Checks and records a download of credentials. */
  const download = async (caller: UserCaller, id: string, what: 'kubeconfig' | 'talosconfig', mint: (row: store.ListedCluster) => Promise<string>) => {
    const row = await found(db, id)
    const verdict = what === 'talosconfig' ? canDownloadTalosconfig(present(row, clock.now())) : canDownloadKubeconfig(row)
    if (!verdict.ok) throw new Problem('cluster_not_ready', verdict.reason)
    const text = await mint(row)
    await inTransaction(db, (tx) =>
      record(tx, caller, {
        action: `cluster.${what}_downloaded`,
        target: { kind: 'cluster', id, name: row.name },
        after: { as: isAdmin(caller) ? 'admin' : 'operator', lifetime_hours: 24 },
      }),
    )
    return { name: `${row.name}-${what}.yaml`, text }
  }

  return {
    ...made,

    async list(query) {
      const { rows, total } = await store.page(db, query)
      return { items: await shown(rows), page: query.page, per_page: query.per_page, total }
    },

    get: async (id) => (await shown([await found(db, id)]))[0]!,
    async events(id) {
      await found(db, id)
      return { items: await audit.events({ kind: 'cluster', id }, 200) }
    },

    async failure(id, nodeId) {
      await found(db, id)
      const member = await store.member(db, id, nodeId)
      if (!member) throw new Problem('not_found', 'There is no such server in this cluster')
      return failureAnswer(member)
    },

    resetServer: (caller, nodeId, options) => left.resetServer(caller, nodeId, options),
    replace: replacing(parts),

    remove: (caller, id, { force, ifMatch }) =>
      inTransaction(db, async (tx) => {
        const row = await store.lock(tx, id)
        if (!row) throw unknown(id)
        checkVersion(ifMatch, row.version)
        const verdict = canDeleteCluster(row)
        if (!verdict.ok && !force) throw new Problem('operation_running', verdict.reason)
        const running = row.operation_id === null ? undefined : await operations.read(tx, row.operation_id)
        if (running && !hasEnded(running)) {
          // A cancel or deletion that waits for a dead server may be replaced by force. Other operations must be cancelled first.
          if (!force || !(running.status === 'cancelling' || running.kind === 'clusterDelete'))
            throw new Problem('operation_running', `${row.name} is still being made: cancel that first`)
          await operations.set(tx, running.id, {
            status: running.kind === 'clusterDelete' ? 'failed' : 'cancelled',
            reason: 'The cluster was deleted by force',
            forGood: true,
          })
        }
        const members = (await store.members(tx, id)).filter((m) => m.released_at === null)
        for (const m of members) {
          const leaving = m.operation_id === null ? undefined : await operations.state(tx, m.operation_id)
          if (!leaving || hasEnded(leaving)) continue
          if (!force) throw new Problem('operation_running', `${m.name} is being reset: cancel that first, or wait for its end`)
          await operations.set(tx, m.operation_id!, { status: 'failed', reason: 'The cluster was deleted by force', forGood: true })
        }
        const operation = await operations.create(tx, caller, {
          kind: 'clusterDelete',
          target: { id, name: row.name },
          steps: deletionSteps(members, force),
          queue: clusterQueue,
          audit: null,
        })
        const now = new Date(clock.now())
        const after = await store.update(tx, id, {
          wanted: 'removed',
          forced: force,
          status: 'deleting',
          reason: force ? null : waitingForMembers(members),
          operation_id: operation.id,
          operation_round: 1,
          updated_at: now,
        })
        // A forced deletion contacts no server, so all servers count as done until the cluster is deleted.
        await store.updateMembers(tx, id, {
          wanted: 'released',
          operation_id: null,
          failed_at: null,
          failure: null,
          at: force ? 'done' : 'reset',
          at_since: now,
        })
        if (!force) for (const m of members) await servers.hold(tx, m.node_id, operation.id)
        await record(tx, caller, {
          action: force ? 'cluster.delete_forced' : 'cluster.delete_requested',
          target: { kind: 'cluster', id, name: row.name },
          after: { servers: members.map((m) => m.name) },
          event: { name: 'cluster.updated', version: after.version },
        })
        if (!force) await wakeMembers(engine, tx, members)
        return { operation }
      }),

    kubeconfig: (caller, id) =>
      download(caller, id, 'kubeconfig', async (row) => {
        const user = isAdmin(caller) ? 'admin' : 'operator'
        // The cluster's own audit log shows this name. A common name has at most 64 characters (RFC 5280, ub-common-name).
        const commonName = caller.email.length <= 64 ? caller.email : caller.userId
        const credentials = await secrets.mintKubernetes(
          id,
          { commonName, organizations: [user === 'admin' ? 'system:masters' : operatorGroup] },
          downloadLifetimeMs,
        )
        return kubeconfig({ ...credentials!, cluster: row.name, server: row.endpoint, user })
      }),

    talosconfig: (caller, id) =>
      download(caller, id, 'talosconfig', async (row) => {
        const credentials = await secrets.mintTalos(id, [isAdmin(caller) ? 'os:admin' : 'os:operator'], downloadLifetimeMs)
        // No nodes, like Talos's own: otherwise a bare `talosctl reset` would reset the whole cluster.
        return talosconfig({ ...credentials!, context: row.name, endpoints: await access.controlPlaneAddresses(id) })
      }),

    async summary() {
      const [counts, ailing, troubles] = await Promise.all([store.countByStatus(db), store.ailing(db), troublesOf(db, engine)])
      const troubled = await store.named(
        db,
        [...troubles.keys()].filter((id) => !ailing.some((c) => c.id === id)),
      )
      return {
        counts: { total: counts.reduce((sum, c) => sum + c.n, 0), by_status: Object.fromEntries(counts.map((c) => [c.status, c.n])) },
        ailing: [
          ...ailing.map(({ id, name, status, reason, locked_out, locked_out_since }) =>
            status === 'failed' || locked_out === null
              ? { kind: status === 'failed' ? ('cluster_failed' as const) : ('cluster_degraded' as const), id, name, since: null, reason }
              : {
                  kind: 'cluster_locked_out' as const,
                  id,
                  name,
                  since: locked_out_since?.toISOString() ?? null,
                  reason: lockedOutSentences[locked_out],
                },
          ),
          ...troubled.map(({ id, name }) => ({ kind: 'cluster_troubled' as const, id, name, since: null, reason: troubles.get(id)![0]!.message })),
        ],
      }
    },

    countByDatacenter: async (on) => new Map((await store.countByDatacenter(on)).map((c) => [c.datacenter_id!, c.clusters])),

    takeover: takingOver(parts, secrets, outside),
    async importSecrets(caller, id, handed) {
      await imports(caller, id, handed)
      return (await shown([await found(db, id)]))[0]!
    },

    async goOn(tx, caller, id) {
      const now = new Date(clock.now())
      for (const m of await store.unsettled(tx, id)) {
        await store.updateMember(tx, id, m.node_id, { at_since: now })
        await engine.wake(tx, memberQueue, memberKey(id, m.node_id))
      }
      const row = await store.update(tx, id, { reason: null, updated_at: now })
      await tell(tx, caller, { name: 'cluster.updated', object: { kind: 'cluster', id }, version: row.version })
      await engine.wake(tx, clusterQueue, id)
      await engine.wake(tx, sweepQueue, id)
    },

    async resume() {
      await inTransaction(db, async (tx) => {
        for (const id of await store.livingIds(tx)) {
          await engine.wake(tx, clusterQueue, id)
          await engine.wake(tx, sweepQueue, id)
          for (const m of await store.unsettled(tx, id)) await engine.wake(tx, memberQueue, memberKey(id, m.node_id))
        }
      })
    },
  }
}

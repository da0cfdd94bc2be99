/**
 * Lists and resumes objects held after a restore. The restore writes the holds
 * (`backup/settle.ts`).
 */
import { Problem } from '#contract/errors.ts'
import type { Operation } from '#contract/operations.ts'
import { permits } from '#contract/permissions.ts'
import {
  canResumeCluster,
  clusterResume,
  type HeldCluster,
  operationResume,
  type Restoration,
  restorationGet,
} from '#contract/restoration.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import { heldCounts, type HoldOwner } from '../../engine/holds.ts'
import type { UserCaller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Clusters } from '../clusters/api.ts'
import type { Operations } from '../operations/api.ts'
import * as store from './store.ts'

type Parts = Platform & {
  operations: Pick<Operations, 'held' | 'heldBy' | 'goOn' | 'resumeHalted'>
  clusters: Pick<Clusters, 'goOn'>
}

export function restoration({ db, engine, log, record, operations, clusters }: Parts): Domain {
  const clusterOf = async (
    on: Db | Tx,
    { id, name }: { id: string; name: string },
  ): Promise<Omit<HeldCluster, 'operations'>> => {
    const servers = await store.serversOf(on, id)
    const names = (reachable: boolean | null) =>
      servers.filter((s) => s.reachable === reachable).map((s) => s.name)
    return { id, name, servers: servers.length, unasked: names(null), unreachable: names(false) }
  }

  const resume = async (
    tx: Tx,
    caller: UserCaller,
    owner: HoldOwner,
  ): Promise<{ operations: Operation[] }> => {
    let target: { kind: string; id: string; name?: string } = owner
    if (owner.kind === 'cluster') {
      const held = (await store.heldClusters(tx)).find((c) => c.id === owner.id)
      if (!held)
        throw new Problem(
          'transition_refused',
          'Only clusters and operations that are held since a restore can be resumed',
        )
      demand(canResumeCluster(await clusterOf(tx, held)), 'transition_refused')
      target = { ...owner, name: held.name }
    }
    const subjects = await engine.release(tx, owner)
    if (owner.kind === 'cluster') await clusters.goOn(tx, caller, owner.id)
    const resumed = await operations.goOn(tx, subjects)
    await record(tx, caller, {
      action: `${owner.kind}.resumed`,
      target,
      after: { operations: resumed.map((o) => `${o.kind} ${o.target.name}`) },
    })
    return { operations: resumed }
  }

  const calls = {
    async read(caller: UserCaller): Promise<Restoration> {
      const restored = await store.restored(db)
      if (!restored) return { restored: null, clusters: [], operations: [] }
      const mine = (await operations.held(db)).filter(
        (o) =>
          permits(caller.scopes, o.target.kind === 'cluster' ? 'clusters:read' : 'servers:read').ok,
      )
      const of = new Map<string, Operation[]>()
      const alone: Operation[] = []
      for (const o of mine) {
        const cluster = await store.clusterOf(db, o.id)
        if (cluster === undefined) alone.push(o)
        else of.set(cluster, [...(of.get(cluster) ?? []), o])
      }
      const rows = permits(caller.scopes, 'clusters:read').ok ? await store.heldClusters(db) : []
      const held = await Promise.all(
        rows.map(async (row) => ({
          ...(await clusterOf(db, row)),
          operations: of.get(row.id) ?? [],
        })),
      )
      return {
        restored: {
          backup_made_at: restored.backup_made_at.toISOString(),
          restored_at: restored.restored_at.toISOString(),
          missing: restored.missing,
        },
        clusters: held,
        operations: alone,
      }
    },

    /**
     * @throws Problem not_found; transition_refused if nothing is held, or if a server has not been
     * queried since the restore
     */
    resumeCluster: (caller: UserCaller, id: string) =>
      inTransaction(db, async (tx) => {
        if (!(await store.clusterExists(tx, id)))
          throw new Problem('not_found', `Cluster ${id} not found`)
        return resume(tx, caller, { kind: 'cluster', id })
      }),

    /** @throws Problem not_found, forbidden, transition_refused */
    resumeOperation: (caller: UserCaller, id: string) =>
      inTransaction(db, async (tx) => {
        const owner = await operations.heldBy(tx, caller, id)
        if (!owner) {
          const resumed = await operations.resumeHalted(tx, caller, id)
          if (resumed) return { operations: [resumed] }
          throw new Problem(
            'transition_refused',
            'Only an operation that waits for a user, after a restore or because its work ended Steelyard, can be resumed',
          )
        }
        return resume(tx, caller, owner)
      }),
  }

  return {
    name: 'restoration',
    figures: async () => ({
      steelyard_held_objects: Object.entries(await heldCounts(db)).map(([object, value]) => ({
        object,
        value,
      })),
    }),
    routes(app) {
      const on = serve(app)
      on(restorationGet, ({ caller }) => calls.read(signedIn(caller)))
      on(clusterResume, ({ caller, params }) => calls.resumeCluster(signedIn(caller), params.id))
      on(operationResume, ({ caller, params }) =>
        calls.resumeOperation(signedIn(caller), params.id),
      )
    },
    /** At start: logs that objects are held. */
    async start() {
      const restored = await store.restored(db)
      if (restored)
        log.warn('restored.held', {
          reason:
            'Nothing is sent to the servers of restored clusters until a user resumes these clusters. GET /v1/restoration lists them',
        })
    },
  }
}

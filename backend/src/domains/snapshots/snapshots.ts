/**
 * Use cases of snapshots and their schedules. The work is done by reconcilers (`taking.ts`,
 * `scheduling.ts`).
 */
import type { NewSnapshotSchedule } from '#contract/clusters/changes/snapshot-schedule.ts'
import {
  canUseSnapshot,
  canVerifySnapshot,
  type Snapshot,
  snapshotDownload,
  snapshotGet,
  snapshotImport,
  snapshotList,
  snapshotRemove,
  snapshotScheduleGet,
  snapshotScheduleRemove,
  snapshotScheduleSet,
  type SnapshotSchedule,
  snapshotVerify,
} from '#contract/clusters/changes/snapshots.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { unsealWithKey } from '../../backup/key-sealed.ts'
import { BackupRefused } from '../../backup/sealed.ts'
import { type Db, inTransaction, type Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { serve, serveStream } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import { checkVersion, existing, type Versions } from '../../http/tags.ts'
import { SealBroken } from '../../vault/cipher.ts'
import { StoreError } from '../stores/api.ts'
import type { Snapshots } from './api.ts'
import {
  begin,
  installation,
  nowOf,
  scheduleQueue,
  type SnapshotParts,
  wakeSnapshot,
} from './parts.ts'
import { present } from './present.ts'
import { restoring } from './restoring.ts'
import { shownSchedule, writeSchedule } from './schedules.ts'
import { scheduling } from './scheduling.ts'
import * as store from './store.ts'
import { backupsSaid } from './trouble.ts'
import { readWhole, taking } from './taking.ts'

/** Rows of failed and removed snapshots are deleted after this time, in ms. */
const forgetMs = 30 * 24 * 3_600_000

export function snapshots(parts: SnapshotParts): Snapshots & Domain {
  const { db, clock, record, engine, clusters, stores, vault } = parts
  const targetOf = (row: store.SnapshotRow) => ({
    kind: 'cluster',
    id: row.cluster_id!,
    name: row.cluster_name!,
  })
  const found = async (on: Db | Tx, id: string, ifMatch?: Versions): Promise<store.SnapshotRow> => {
    const row = existing(await store.find(on, id), 'snapshot', ifMatch)
    if (row.cluster_id === null) throw new Problem('not_found', 'There is no such snapshot')
    return row
  }
  const usable = async (id: string): Promise<store.SnapshotRow> => {
    const row = await found(db, id)
    const verdict = canUseSnapshot(present(row))
    if (!verdict.ok) throw Problem.of('transition_refused', verdict)
    return row
  }
  const demandCluster = async (on: Db | Tx, id: string) => {
    const cluster = await clusters.find(on, id)
    if (!cluster) throw new Problem('not_found', `Cluster ${id} not found`)
    return cluster
  }
  engine.register(taking(parts))
  engine.register(scheduling(parts))

  const calls = {
    async list(query: Input<typeof snapshotList>['query']): Promise<Page<Snapshot>> {
      const { rows, total } = await store.page(db, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem not_found */
    get: async (id: string): Promise<Snapshot> => present(await found(db, id)),

    /**
     * @throws Problem not_found, stale; operation_running if a cluster is being restored from it
     */
    remove: (caller: Caller, id: string, ifMatch: Versions): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = existing(await store.lock(tx, id), 'snapshot', ifMatch)
        if (row.cluster_id === null) throw new Problem('not_found', 'There is no such snapshot')
        if (await store.isRestored(tx, id))
          throw new Problem(
            'operation_running',
            'A cluster is being restored from this snapshot: wait until the restore has ended',
          )
        if (row.status === 'removing') return
        const { version } = await store.update(tx, id, {
          status: 'removing',
          reason: null,
          updated_at: nowOf(parts),
        })
        await record(tx, caller, {
          action: 'cluster.snapshot_removed',
          target: targetOf(row),
          before: present(row),
          after: { key: row.object_key, snapshot: id },
          event: { name: 'snapshot.updated', object: { kind: 'snapshot', id }, version },
        })
        await wakeSnapshot(engine, tx, row)
      }),

    /**
     * Reads the file from its store and checks it. If the file is damaged, the snapshot becomes
     * `failed`; if it is good, `ready` again. @throws Problem not_found, transition_refused, store_refused
     */
    async verify(caller: Caller, id: string, signal: AbortSignal): Promise<Snapshot> {
      const row = await found(db, id)
      const verdict = canVerifySnapshot(present(row))
      if (!verdict.ok) throw Problem.of('transition_refused', verdict)
      let damage: string | null = null
      try {
        const file = await readWhole(parts, await stores.open(row.store_id), row, signal)
        if (file.sha256 !== row.sha256)
          damage = 'The file in the store is not the one that was written'
      } catch (error) {
        const isMissing = error instanceof StoreError && error.kind === 'missing'
        if (error instanceof BackupRefused || isMissing) damage = error.message
        else if (error instanceof StoreError || error instanceof SealBroken)
          throw new Problem('store_refused', error.message)
        else throw error
      }
      return inTransaction(db, async (tx) => {
        const now = await store.lock(tx, id)
        if (!(now?.status === 'ready' || (now?.status === 'failed' && damage === null)))
          return present(await found(tx, id))
        const change =
          damage === null
            ? ({ status: 'ready', reason: null, verified_at: nowOf(parts) } as const)
            : ({ status: 'failed', reason: damage } as const)
        const { version } = await store.update(tx, id, { ...change, updated_at: nowOf(parts) })
        const event = {
          name: 'snapshot.updated',
          object: { kind: 'snapshot', id },
          version,
        } as const
        if (damage === null) await parts.tell(tx, caller, event)
        else
          await record(tx, caller, {
            action: 'cluster.snapshot_damaged',
            target: targetOf(row),
            after: { reason: damage, snapshot: id },
            event,
          })
        return present(await found(tx, id))
      })
    },

    /**
     * The decrypted bytes of the snapshot. @throws Problem not_found, transition_refused,
     * store_refused
     */
    async download(
      caller: Caller,
      id: string,
      { signal, saveAs }: { signal: AbortSignal; saveAs: (name: string) => void },
    ): Promise<AsyncIterable<Uint8Array>> {
      const row = await usable(id)
      const bytes = unsealWithKey(
        vault,
        row.id,
        (await stores.open(row.store_id)).get(row.object_key, signal),
      )
      const first = await bytes.next().catch((error: unknown) => {
        throw error instanceof StoreError ||
          error instanceof BackupRefused ||
          error instanceof SealBroken
          ? new Problem('store_refused', error.message)
          : error
      })
      await inTransaction(db, (tx) =>
        record(tx, caller, {
          action: 'cluster.snapshot_downloaded',
          target: targetOf(row),
          after: { key: row.object_key, snapshot: id },
        }),
      )
      saveAs(
        `${row.cluster_name}-${row.taken_at!.toISOString().slice(0, 16).replaceAll(/[-:]/g, '')}.etcd`,
      )
      return (async function* () {
        if (!first.done) yield first.value
        yield* bytes
      })()
    },

    /** @throws Problem not_found for the cluster or the store */
    importFile: (
      caller: Caller,
      clusterId: string,
      { store_id, file }: Input<typeof snapshotImport>['body'],
    ): Promise<Snapshot> =>
      inTransaction(db, async (tx) => {
        const cluster = await demandCluster(tx, clusterId)
        const row = await begin(parts, tx, caller, {
          cluster,
          storeId: store_id,
          madeBy: 'import',
          source: file,
        })
        await record(tx, caller, {
          action: 'cluster.snapshot_import_requested',
          target: { kind: 'cluster', id: clusterId, name: cluster.name },
          after: { file, snapshot: row.id },
        })
        return present(row)
      }),

    /** @throws Problem not_found */
    async schedule(clusterId: string): Promise<SnapshotSchedule | null> {
      await demandCluster(db, clusterId)
      return shownSchedule(parts, db, clusterId)
    },

    /** @throws Problem not_found for the cluster or the store; stale */
    setSchedule: (
      caller: Caller,
      clusterId: string,
      wish: NewSnapshotSchedule,
      ifMatch: Versions,
    ): Promise<SnapshotSchedule> =>
      inTransaction(db, async (tx) => {
        const cluster = await clusters.lock(tx, clusterId)
        if (!cluster) throw new Problem('not_found', `Cluster ${clusterId} not found`)
        cluster.demandUnheld(caller)
        const before = await store.lockSchedule(tx, clusterId)
        if (before) checkVersion(ifMatch, before.version)
        const shown = before ? await shownSchedule(parts, tx, clusterId) : null
        const after = await writeSchedule(parts, tx, clusterId, wish, before)
        const version = await clusters.touch(tx, caller, clusterId)
        const target = { kind: 'cluster', id: clusterId, name: cluster.name }
        await record(tx, caller, {
          action: 'cluster.snapshot_schedule_set',
          target,
          before: shown,
          after,
          event: { name: 'cluster.updated', version },
        })
        return after
      }),

    /** @throws Problem not_found, stale */
    removeSchedule: (caller: Caller, clusterId: string, ifMatch: Versions): Promise<void> =>
      inTransaction(db, async (tx) => {
        const cluster = await clusters.lock(tx, clusterId)
        cluster?.demandUnheld(caller)
        const row = existing(
          cluster && (await store.lockSchedule(tx, clusterId)),
          'schedule',
          ifMatch,
        )
        await store.removeSchedule(tx, row.id)
        const version = await clusters.touch(tx, caller, clusterId)
        const target = { kind: 'cluster', id: clusterId, name: cluster!.name }
        await record(tx, caller, {
          action: 'cluster.snapshot_schedule_removed',
          target,
          event: { name: 'cluster.updated', version },
        })
      }),
  }

  return {
    name: 'snapshots',
    async figures() {
      const [known, snapshots, backups] = await Promise.all([
        clusters.conditions(db),
        store.snapshotConditions(db),
        store.backupCondition(db),
      ])
      const said = backupsSaid(backups, clock.now())
      return {
        steelyard_backup_timestamp_seconds:
          backups.newest_at === null ? [] : [{ value: backups.newest_at.getTime() / 1000 }],
        steelyard_backups_failing: said === null ? [] : [{ value: said.isWell ? 0 : 1 }],
        steelyard_cluster_snapshot_timestamp_seconds: known.flatMap(({ id, name }) => {
          const at = snapshots.get(id)?.newest_at
          return at ? [{ cluster: name, value: at.getTime() / 1000 }] : []
        }),
      }
    },
    routes(app) {
      const on = serve(app)
      const heavy = serve(app, { heavy: true })
      on(snapshotList, ({ query }) => calls.list(query))
      on(snapshotGet, ({ params }) => calls.get(params.id))
      on(snapshotRemove, ({ caller, params, ifMatch }) =>
        calls.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      heavy(snapshotVerify, ({ caller, params, signal }) => calls.verify(caller, params.id, signal))
      on(snapshotImport, ({ caller, params, body }) => calls.importFile(caller, params.id, body))
      on(snapshotScheduleGet, async ({ params }) => ({ schedule: await calls.schedule(params.id) }))
      on(snapshotScheduleSet, ({ caller, params, body, ifMatch }) =>
        calls.setSchedule(caller, params.id, body, ifMatch),
      )
      on(snapshotScheduleRemove, ({ caller, params, ifMatch }) =>
        calls.removeSchedule(caller, params.id, ifMatch).then(() => undefined),
      )
      serveStream(app, { isWhole: true })(snapshotDownload, ({ caller, params, signal, saveAs }) =>
        calls.download(caller, params.id, { signal, saveAs }),
      )
    },
    // Wakes every schedule and every snapshot with work to do, because scheduled runs may have been
    // lost.
    start: () =>
      inTransaction(db, async (tx) => {
        for (const row of await store.open(tx)) await wakeSnapshot(engine, tx, row)
        for (const row of await store.allSchedules(tx))
          await engine.wake(tx, scheduleQueue, row.cluster_id ?? installation)
      }),
    removeOld: async () => void (await store.forget(db, new Date(clock.now() - forgetMs))),
    ...restoring(parts),
    scheduleOf: (clusterId) => calls.schedule(clusterId),
    async firstSchedule(tx, caller, cluster, wish) {
      await record(tx, caller, {
        action: 'cluster.snapshot_schedule_set',
        target: { kind: 'cluster', ...cluster },
        after: await writeSchedule(parts, tx, cluster.id, wish, undefined),
      })
    },
    storeName: async (on, id) => (await stores.known(on, id))?.name ?? null,
    async last(clusterId) {
      const row = await store.newestReady(db, clusterId)
      return {
        snapshot: row ? present(row) : null,
        condition: {
          newest_at: row?.taken_at ?? null,
          schedule: (await store.schedule(db, clusterId)) ?? null,
          failure: await store.failureOf(db, clusterId),
        },
      }
    },
    async clusterRemoved(tx, clusterId) {
      const row = await store.lockSchedule(tx, clusterId)
      if (row) await store.removeSchedule(tx, row.id)
    },
  }
}

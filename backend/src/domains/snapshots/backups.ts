/**
 * Use cases of Steelyard's own backups in stores, and of their schedule. The work is done by the
 * reconcilers of snapshots.
 */
import {
  type Backup,
  backupCreate,
  backupGet,
  backupList,
  backupRemove,
  backupScheduleGet,
  backupScheduleRemove,
  backupScheduleSet,
  backupVerify,
  canVerifyBackup,
} from '#contract/storage/backups.ts'
import type { NewSnapshotSchedule } from '#contract/clusters/changes/snapshot-schedule.ts'
import type { SnapshotSchedule } from '#contract/clusters/changes/snapshots.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { BackupRefused, WrongPassphrase } from '../../backup/sealed.ts'
import { inTransaction } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { serve } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import { checkVersion, existing, type Versions } from '../../http/tags.ts'
import { StoreError } from '../stores/api.ts'
import { backupPassphrase, readBackup } from './own-backup.ts'
import { begin, installation, nowOf, scopeOf, type SnapshotParts, wakeSnapshot } from './parts.ts'
import { presentBackup } from './present.ts'
import { shownSchedule, writeSchedule } from './schedules.ts'
import * as store from './store.ts'

export function backups(parts: SnapshotParts): Domain {
  const { db, record, engine, stores } = parts
  const target = { kind: 'installation', id: installation }
  const own = (row: store.SnapshotRow | undefined, ifMatch?: Versions) =>
    existing(row?.cluster_id === null ? row : undefined, 'backup', ifMatch)
  /** @throws Problem transition_refused without a usable passphrase */
  const demandPassphrase = async (): Promise<string> =>
    backupPassphrase(parts).catch((error: unknown) => {
      throw error instanceof BackupRefused
        ? new Problem('transition_refused', error.message)
        : error
    })

  const calls = {
    async list(query: Input<typeof backupList>['query']): Promise<Page<Backup>> {
      const { rows, total } = await store.backupPage(db, query)
      return { items: rows.map(presentBackup), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem not_found */
    get: async (id: string): Promise<Backup> => presentBackup(own(await store.find(db, id))),

    /** @throws Problem not_found for the store; transition_refused without a passphrase */
    async create(caller: Caller, storeId: string): Promise<Backup> {
      await demandPassphrase()
      return inTransaction(db, async (tx) => {
        const row = await begin(parts, tx, caller, { cluster: null, storeId, madeBy: 'request' })
        await record(tx, caller, {
          action: 'installation.backup_requested',
          target,
          after: { store: row.store_name },
        })
        return presentBackup(row)
      })
    },

    /** @throws Problem not_found, stale */
    remove: (caller: Caller, id: string, ifMatch: Versions): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = own(await store.lock(tx, id), ifMatch)
        if (row.status === 'removing') return
        const { version } = await store.update(tx, id, {
          status: 'removing',
          reason: null,
          updated_at: nowOf(parts),
        })
        const event = {
          name: 'snapshot.updated',
          object: { kind: 'snapshot', id },
          version,
          ...scopeOf(row),
        } as const
        await record(tx, caller, {
          action: 'installation.backup_removed',
          target,
          after: { key: row.object_key },
          event,
        })
        await wakeSnapshot(engine, tx, row)
      }),

    /**
     * Reads the file from its store, opens it and checks it. A damaged file makes the backup
     * failed, and a good one makes it ready again; a passphrase that has changed since does not.
     * @throws Problem not_found, transition_refused, store_refused
     */
    async verify(caller: Caller, id: string, signal: AbortSignal): Promise<Backup> {
      const row = own(await store.find(db, id))
      const verdict = canVerifyBackup(presentBackup(row))
      if (!verdict.ok) throw Problem.of('transition_refused', verdict)
      const passphrase = await demandPassphrase()
      let damage: string | null = null
      try {
        const file = await readBackup(passphrase, {
          from: await stores.open(row.store_id),
          key: row.object_key,
          signal,
        })
        if (file.sha256 !== row.sha256)
          damage = 'The file in the store is not the one that was written'
      } catch (error) {
        if (error instanceof WrongPassphrase)
          throw new Problem(
            'transition_refused',
            'The passphrase of Steelyard has changed since this backup. Only the former passphrase opens it: keep that one as long as you keep the backup',
          )
        if (
          error instanceof BackupRefused ||
          (error instanceof StoreError && error.kind === 'missing')
        )
          damage = error.message
        else if (error instanceof StoreError) throw new Problem('store_refused', error.message)
        else throw error
      }
      return inTransaction(db, async (tx) => {
        const now = own(await store.lock(tx, id))
        if (!(now.status === 'ready' || (now.status === 'failed' && damage === null)))
          return presentBackup(now)
        const change =
          damage === null
            ? ({ status: 'ready', reason: null, verified_at: nowOf(parts) } as const)
            : ({ status: 'failed', reason: damage } as const)
        const { version } = await store.update(tx, id, { ...change, updated_at: nowOf(parts) })
        const event = {
          name: 'snapshot.updated',
          object: { kind: 'snapshot', id },
          version,
          ...scopeOf(row),
        } as const
        if (damage === null) await parts.tell(tx, caller, event)
        else
          await record(tx, caller, {
            action: 'installation.backup_failed',
            target,
            after: { key: row.object_key, reason: damage },
            event,
          })
        return presentBackup(own(await store.find(tx, id)))
      })
    },

    schedule: (): Promise<SnapshotSchedule | null> => shownSchedule(parts, db, null),

    /** @throws Problem not_found for the store; transition_refused without a passphrase; stale */
    async setSchedule(
      caller: Caller,
      wish: NewSnapshotSchedule,
      ifMatch: Versions,
    ): Promise<SnapshotSchedule> {
      await demandPassphrase()
      return inTransaction(db, async (tx) => {
        const before = await store.lockSchedule(tx, null)
        if (before) checkVersion(ifMatch, before.version)
        const shown = await shownSchedule(parts, tx, null)
        const after = await writeSchedule(parts, tx, null, wish, before)
        await record(tx, caller, {
          action: 'installation.backup_schedule_set',
          target,
          before: shown,
          after,
        })
        return after
      })
    },

    /** @throws Problem not_found, stale */
    removeSchedule: (caller: Caller, ifMatch: Versions): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = existing(await store.lockSchedule(tx, null), 'schedule', ifMatch)
        await store.removeSchedule(tx, row.id)
        await record(tx, caller, { action: 'installation.backup_schedule_removed', target })
      }),
  }

  return {
    name: 'backups',
    routes(app) {
      const on = serve(app)
      const heavy = serve(app, { heavy: true })
      on(backupList, ({ query }) => calls.list(query))
      on(backupGet, ({ params }) => calls.get(params.id))
      on(backupCreate, ({ caller, body }) => calls.create(caller, body.store_id))
      on(backupRemove, ({ caller, params, ifMatch }) =>
        calls.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      heavy(backupVerify, ({ caller, params, signal }) => calls.verify(caller, params.id, signal))
      on(backupScheduleGet, async () => ({ schedule: await calls.schedule() }))
      on(backupScheduleSet, ({ caller, body, ifMatch }) => calls.setSchedule(caller, body, ifMatch))
      on(backupScheduleRemove, ({ caller, ifMatch }) =>
        calls.removeSchedule(caller, ifMatch).then(() => undefined),
      )
    },
  }
}

/**
 * Use cases of stores. A store is tested before it is added or its access key is changed. Other
 * domains write and read files through `open`.
 */
import { randomUUID } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import {
  type NewStore,
  type Store,
  type StoreChange,
  storeCreate,
  storeFolderList,
  storeGet,
  storeLimit,
  storeList,
  storePlace,
  storeRemove,
  storeTest,
  storeUpdate,
} from '#contract/storage/stores.ts'
import { causeOf } from '../../causes/causes.ts'
import { type Db, inTransaction, lock, type Tx, violatedConstraint } from '../../db/db.ts'
import { endpointPolicy } from '../../endpoints/policy.ts'
import { type Caller, system } from '../../http/caller.ts'
import { serve } from '../../http/serve.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Domain, Platform } from '../../platform.ts'
import { demandRoom } from '../../room.ts'
import { claimFolder, disclaimFolder, folderStore, whyNotAllowed } from './folder.ts'
import type { Stores } from './api.ts'
import { type ObjectStore, StoreError } from './object-store.ts'
import { s3Store } from './s3.ts'
import * as store from './store.ts'
import { demandFile, tryOut } from './trying.ts'

const present = ({ secret_sealed: _secret, ...row }: store.StoreRow): Store => ({
  ...row,
  verified_at: row.verified_at?.toISOString() ?? null,
  problem_since: row.problem_since?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

const place = (id: string) => ({ table: 'store', column: 'secret_sealed', owner: id })

interface StoreParts extends Platform {
  /** Number of snapshots and schedules that use the store. */
  readonly uses: (on: Db | Tx, storeId: string) => Promise<{ snapshots: number; schedules: number }>
  /** The key of the newest file in the store that can be used. */
  readonly newestFile: (on: Db | Tx, storeId: string) => Promise<string | undefined>
  /** Whether a file is being written to the store or removed from it. */
  readonly isBusy: (on: Db | Tx, storeId: string) => Promise<boolean>
}

export function stores({
  db,
  clock,
  record,
  tell,
  config,
  vault,
  tracing,
  uses,
  newestFile,
  isBusy,
}: StoreParts): Stores & Domain {
  const policy = endpointPolicy(config.storeNetworks)
  const now = () => new Date(clock.now())

  const openWith = (
    row: Pick<
      store.StoreRow,
      'id' | 'folder' | 'endpoint' | 'region' | 'bucket' | 'prefix' | 'path_style' | 'access_key_id'
    >,
    secret: string | undefined,
  ): ObjectStore =>
    row.folder !== null
      ? folderStore(row.folder, row.id)
      : s3Store(
          {
            endpoint: row.endpoint!,
            region: row.region!,
            bucket: row.bucket!,
            prefix: row.prefix,
            pathStyle: row.path_style,
            accessKeyId: row.access_key_id!,
            secretAccessKey: secret!,
          },
          policy,
          tracing,
        )

  const secretOf = async (on: Db | Tx, row: store.StoreRow): Promise<string | undefined> =>
    row.secret_sealed === null
      ? undefined
      : (await vault.open(on, { ...place(row.id), sealed: row.secret_sealed })).toString('utf8')

  const refusedOr = (error: unknown): unknown =>
    error instanceof StoreError ? new Problem('store_refused', error.message) : error
  const takenOr = (error: unknown): unknown => {
    if (violatedConstraint(error) !== 'store_name') return refusedOr(error)
    const { taken } = nameSentences('Store')
    return new Problem('name_taken', taken, { name: taken })
  }

  /**
   * Two stores at one place would count and remove each other's files. Two changes at once wait for
   * each other.
   * @throws Problem invalid
   */
  const demandOwnPlace = async (
    on: Db | Tx,
    row: Pick<store.StoreRow, 'id' | 'endpoint' | 'bucket' | 'prefix'>,
  ): Promise<void> => {
    const other = row.bucket === null ? undefined : await store.atSamePlace(on, row)
    if (!other) return
    const why = `The store ${other.name} has this place already: choose another bucket or prefix`
    throw new Problem('invalid', why, { prefix: why })
  }

  const note = async (id: string, problem: string | null): Promise<void> =>
    inTransaction(db, async (tx) => {
      const row = await store.lock(tx, id)
      if (!row) return
      const change =
        problem === null
          ? { verified_at: now(), problem: null, problem_since: null }
          : { problem, problem_since: row.problem === null ? now() : row.problem_since }
      const { version } = await store.update(tx, id, change)
      await tell(tx, system, { name: 'store.updated', object: { kind: 'store', id }, version })
    })

  const calls = {
    async list(query: Input<typeof storeList>['query']): Promise<Page<Store>> {
      const { rows, total } = await store.page(db, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem not_found */
    get: async (id: string): Promise<Store> => present(existing(await store.find(db, id), 'store')),

    /**
     * @throws Problem invalid for a folder that isn't allowed; store_refused if the test fails;
     * name_taken
     */
    async create(caller: Caller, asked: NewStore, signal: AbortSignal): Promise<Store> {
      const id = randomUUID()
      const {
        name,
        kind,
        prefix,
        path_style,
        folder = null,
        endpoint = null,
        region = null,
        bucket = null,
        access_key_id = null,
        secret_access_key: secret,
      } = asked
      const row = {
        id,
        name,
        kind,
        folder,
        endpoint,
        region,
        bucket,
        prefix,
        path_style,
        access_key_id,
      }
      if (folder !== null) {
        const why = await whyNotAllowed(folder, config.storeFolders)
        if (why !== undefined) throw new Problem('invalid', why, { folder: why })
      }
      if (!(await store.named(db, name))) await demandOwnPlace(db, row)
      let isClaimed = false
      try {
        if (folder !== null) {
          await claimFolder(folder, id)
          isClaimed = true
        }
        await tryOut(openWith(row, secret), signal)
        return await inTransaction(db, async (tx) => {
          await demandRoom(tx, 'store', storeLimit)
          await lock(tx, 'places of stores')
          if (!(await store.named(tx, name))) await demandOwnPlace(tx, row)
          const at = now()
          const secret_sealed =
            secret === undefined
              ? null
              : await vault.seal(tx, { ...place(id), bytes: Buffer.from(secret) })
          const made = present(
            await store.insert(tx, {
              ...row,
              secret_sealed,
              verified_at: at,
              created_at: at,
              updated_at: at,
            }),
          )
          await record(tx, caller, {
            action: 'store.created',
            target: { kind: 'store', id, name: made.name },
            after: made,
            event: { version: made.version },
          })
          return made
        })
      } catch (error) {
        // If the commit was not answered, the store may exist, and needs its marker file.
        if (isClaimed && causeOf(error) !== 'database_unsure') await disclaimFolder(folder!, id)
        throw takenOr(error)
      }
    },

    /**
     * @throws Problem not_found, stale, name_taken; store_refused if the new access key or place
     * doesn't work, or lacks the store's files
     */
    async update(
      caller: Caller,
      id: string,
      { name, secret_access_key: secret, ...s3 }: StoreChange,
      { ifMatch, signal }: { ifMatch: Versions; signal: AbortSignal },
    ): Promise<Store> {
      const read = existing(await store.find(db, id), 'store', ifMatch)
      const isTested = secret !== undefined || Object.keys(s3).length > 0
      if (isTested && read.kind === 'folder') {
        const [field = 'secret_access_key'] = Object.keys(s3)
        const sentence = 'Only the name of a folder can be changed: add another store instead'
        throw new Problem('invalid', sentence, { [field]: sentence })
      }
      const changed: store.StoreRow = {
        ...read,
        endpoint: s3.endpoint ?? read.endpoint,
        region: s3.region ?? read.region,
        bucket: s3.bucket ?? read.bucket,
        prefix: s3.prefix ?? read.prefix,
        path_style: s3.path_style ?? read.path_style,
        access_key_id: s3.access_key_id ?? read.access_key_id,
      }
      try {
        if (isTested) {
          await demandOwnPlace(db, changed)
          const opened = openWith(changed, secret ?? (await secretOf(db, read)))
          await tryOut(opened, signal)
          const newest =
            storePlace(changed) === storePlace(read) ? undefined : await newestFile(db, id)
          if (newest !== undefined) await demandFile(opened, newest, storePlace(changed), signal)
        }
        return await inTransaction(db, async (tx) => {
          await lock(tx, 'places of stores')
          const before = existing(await store.lock(tx, id), 'store', ifMatch)
          if (isTested) await demandOwnPlace(tx, changed)
          if (storePlace(changed) !== storePlace(before) && (await isBusy(tx, id)))
            throw new Problem(
              'store_in_use',
              'A file is being written to the store or removed from it: wait until that has ended',
            )
          const sealed =
            secret === undefined
              ? {}
              : {
                  secret_sealed: await vault.seal(tx, { ...place(id), bytes: Buffer.from(secret) }),
                }
          const after = await store.update(tx, id, {
            ...(name !== undefined && { name }),
            ...s3,
            ...sealed,
            ...(isTested && { verified_at: now(), problem: null, problem_since: null }),
            updated_at: now(),
          })
          const target = { kind: 'store', id, name: after.name }
          await record(tx, caller, {
            action: 'store.updated',
            target,
            before: present(before),
            after: present(after),
            event: { version: after.version },
          })
          return present(after)
        })
      } catch (error) {
        throw takenOr(error)
      }
    },

    /** @throws Problem not_found, stale, store_in_use */
    async remove(caller: Caller, id: string, ifMatch: Versions): Promise<void> {
      const folder = await inTransaction(db, async (tx) => {
        const row = existing(await store.lock(tx, id), 'store', ifMatch)
        const { snapshots, schedules } = await uses(tx, id)
        if (schedules > 0)
          throw new Problem(
            'store_in_use',
            `${row.name} is the store of ${schedules === 1 ? 'a schedule: change or remove it first' : `${schedules} schedules: change or remove them first`}`,
          )
        if (snapshots > 0)
          throw new Problem(
            'store_in_use',
            `${row.name} contains ${snapshots === 1 ? 'a snapshot: remove it first' : `${snapshots} snapshots: remove them first`}`,
          )
        await store.remove(tx, id)
        await record(tx, caller, {
          action: 'store.removed',
          target: { kind: 'store', id, name: row.name },
          before: present(row),
          event: { version: row.version + 1 },
        })
        return row.folder
      })
      if (folder !== null) await disclaimFolder(folder, id)
    },

    async test(
      id: string,
      signal: AbortSignal,
    ): Promise<{ ok: boolean; problem: string | null; took_ms: number }> {
      const row = existing(await store.find(db, id), 'store')
      const began = performance.now()
      let problem: string | null = null
      try {
        await tryOut(openWith(row, await secretOf(db, row)), signal)
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        problem = error.message
      }
      await note(id, problem)
      return { ok: problem === null, problem, took_ms: Math.round(performance.now() - began) }
    },
  }

  return {
    name: 'stores',
    routes(app) {
      const on = serve(app)
      on(storeList, ({ query }) => calls.list(query))
      on(storeGet, ({ params }) => calls.get(params.id))
      on(storeCreate, ({ caller, body, signal }) => calls.create(caller, body, signal))
      on(storeUpdate, ({ caller, params, body, ifMatch, signal }) =>
        calls.update(caller, params.id, body, { ifMatch, signal }),
      )
      on(storeRemove, ({ caller, params, ifMatch }) =>
        calls.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      on(storeFolderList, () => Promise.resolve({ folders: [...config.storeFolders] }))
      on(storeTest, ({ params, signal }) => calls.test(params.id, signal))
    },
    async open(id) {
      const row = existing(await store.find(db, id), 'store')
      return { name: row.name, ...openWith(row, await secretOf(db, row)) }
    },
    some: store.some,
    known: store.find,
    named: async (name) => (await store.named(db, name))?.id ?? null,
    hold: async (tx, id) => existing(await store.lock(tx, id), 'store'),
    note,
  }
}

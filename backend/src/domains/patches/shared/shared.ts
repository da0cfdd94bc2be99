/** Patches of the fleet: their calls, and the reconciler of their roll-outs. */
import { Problem } from '#contract/errors.ts'
import { memoryPage, type MemoryReaders } from '#contract/list.ts'
import { nameSentences } from '#contract/names.ts'
import type { Input } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import type { Page } from '#contract/page.ts'
import { largestPatchBody, patchMask } from '#contract/patches.ts'
import {
  canHaveSharedBytes,
  canRemoveSharedPatch,
  type ListedSharedPatch,
  type NewSharedPatch,
  serverSharedPatches,
  type SharedPatch,
  type SharedPatchChange,
  type SharedPatchFacts,
  sharedPatchCreate,
  sharedPatchLimits,
  sharedPatchGet,
  sharedPatchList,
  sharedPatchNameTaken,
  sharedPatchPreview,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchServers,
  sharedPatchUndo,
  sharedPatchUpdate,
  tooManySharedPatches,
} from '#contract/shared-patches/shared-patches.ts'
import { variablesIn } from '#contract/shared-patches/variables.ts'
import { isDeepStrictEqual } from 'node:util'
import { counted } from '../../../db/counted.ts'
import { inTransaction, type Tx, violatedConstraint } from '../../../db/db.ts'
import { type Caller, callerName } from '../../../http/caller.ts'
import { demand } from '../../../http/errors.ts'
import { serve } from '../../../http/serve.ts'
import { checkVersion, existing, type Versions } from '../../../http/tags.ts'
import type { Domain } from '../../../platform.ts'
import type { For } from '../../../reading/asker.ts'
import { audienceOf } from '../parts.ts'
import { sharedPatchReconciler } from './carrying.ts'
import { demandFilled, demandShort, demandTargets, exampleOf, filling } from './filling.ts'
import { bodyExcerpts } from './listed.ts'
import type { SharedDomainParts, SharedParts } from './parts.ts'
import { previewing } from './previewing.ts'
import { demandIdle, guardRollOutRetries, rolling } from './rolling.ts'
import { type Definition, type SharedPatchRow, sharedStore } from './store.ts'
import { passing } from '../../../slices.ts'
import { isTargetOf } from './selecting.ts'
import { inRollOutOrder, statesOf } from './targets.ts'

const targetOf = ({ id, name }: Pick<SharedPatchRow, 'id' | 'name'>) =>
  ({ kind: 'shared_patch', id, name }) as const
/** Never the body, which may contain secrets. */
const audited = ({ name, weight, targets, revision, body }: SharedPatchRow): object => ({
  name,
  weight,
  targets,
  revision,
  bytes: Buffer.byteLength(body),
})

/** What the order and the search of the list need. */
type Listed = Pick<SharedPatch, 'id' | 'name' | 'weight' | 'servers' | 'updated_at'>
const readers: MemoryReaders<typeof sharedPatchList.list, Listed> = {
  sort: {
    name: (p) => p.name,
    weight: (p) => p.weight,
    targets: (p) => p.servers.targets,
    behind: (p) => p.servers.behind,
    updated_at: (p) => p.updated_at,
  },
  filters: {},
  search: (p, wanted) => p.name.includes(wanted),
  ties: [(p) => p.name, (p) => p.id],
}

export function sharedPatches(given: SharedDomainParts): Domain {
  const { db, clock, engine, record } = given
  const store = sharedStore(given)
  const fills = filling(given)
  const states = given.patches.shared
  const excerpts = bodyExcerpts(fills)
  const parts: SharedParts = { ...given, store, filling: fills, restore }
  const { rollOut, undo } = rolling(parts)
  const previews = previewing(parts)
  engine.register(sharedPatchReconciler(parts))
  guardRollOutRetries(parts)

  async function restore(
    tx: Tx,
    caller: Caller,
    before: SharedPatchRow,
    former: Definition,
    revision: number,
  ): Promise<void> {
    await changed(tx, caller, before, { ...former, name: before.name }, revision)
  }
  const changed = async (
    tx: Tx,
    caller: Caller,
    before: SharedPatchRow,
    wanted: Definition,
    revision: number,
  ): Promise<SharedPatchRow> => {
    const variables = variablesIn(wanted.body)
    const after = await store.update(
      tx,
      before.id,
      { ...wanted, variables, revision, updated_by_name: callerName(caller) },
      new Date(clock.now()),
    )
    await record(tx, caller, {
      action: 'shared_patch.updated',
      target: targetOf(after),
      before: audited(before),
      after: audited(after),
      event: { version: after.version },
    })
    return after
  }
  /** @param replaced id of the patch whose body is replaced; undefined for a new one */
  const demandRoom = async (tx: Tx, body: string, replaced?: string): Promise<void> => {
    const rows = await store.sizes(tx)
    const sum = (some: typeof rows) => some.reduce((total, { bytes }) => total + bytes, 0)
    const others = sum(rows.filter(({ id }) => id !== replaced))
    demand(canHaveSharedBytes(others + Buffer.byteLength(body), sum(rows)), 'conflict')
  }
  const writing = <T>(act: (tx: Tx) => Promise<T>): Promise<T> =>
    inTransaction(db, act).catch((error: unknown) => {
      throw violatedConstraint(error) === 'shared_patch_name'
        ? new Problem('name_taken', sharedPatchNameTaken, { name: nameSentences('Patch').taken })
        : error
    })

  /** The newest undo of a roll-out, or the roll-out itself. */
  const newestOperation = async (rolled: {
    id: string
    operation_id: string
    undone: boolean
  }): Promise<Operation | undefined> => {
    const undo = rolled.undone ? await store.lastUndoOf(db, rolled.id) : undefined
    return given.operations.read(db, undo ?? rolled.operation_id)
  }

  const factsOf = async (
    row: SharedPatchRow,
    servers?: SharedPatch['servers'],
  ): Promise<SharedPatchFacts> => {
    const { id, name, weight, targets, variables, revision, version } = row
    const [last] = await store.rollOuts(db, id, 1)
    const operation = last && (await newestOperation(last))
    return {
      id,
      name,
      weight,
      variables,
      targets,
      revision,
      servers: servers ?? (await states.numbers(id)),
      last_roll_out: last
        ? {
            operation_id: last.operation_id,
            at: last.created_at.toISOString(),
            by: last.created_by_name,
            revision: last.revision,
            undone: last.undone,
          }
        : null,
      last_operation: operation
        ? {
            id: operation.id,
            kind: last.undone ? 'sharedPatchUndo' : 'sharedPatchRollOut',
            status: operation.status,
            reason: operation.reason,
          }
        : null,
      created_by: row.created_by_name,
      updated_by: row.updated_by_name,
      version,
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    }
  }
  const shown = async (who: For, row: SharedPatchRow): Promise<SharedPatch> => ({
    ...(await factsOf(row)),
    body: await fills.shown(who, row.body, audienceOf(who.caller)),
  })
  /**
   * @param known the saved patch that is changed @throws Problem invalid with the line, with the
   * servers without a value, or with both numbers if what is changed costs too much
   */
  const demandUsable = async (who: For, wanted: Definition, known?: Definition): Promise<void> => {
    if (wanted.body.includes(patchMask)) {
      const sentence = `The patch contains ${patchMask} in place of a secret: enter the secret itself`
      throw new Problem('invalid', sentence, { body: sentence })
    }
    fills.demandKnown(wanted.body)
    const hasOtherTargets = !isDeepStrictEqual(wanted.targets, known?.targets)
    if (hasOtherTargets) demandTargets(wanted.targets)
    const hasOtherBody = wanted.body !== known?.body
    if (hasOtherBody) fills.demandFewVariables(wanted.body)
    const targets = await passing(await store.servers(db), isTargetOf(wanted.targets))
    const facts = await given.servers.forPlan(
      db,
      targets.map(({ id }) => id),
    )
    const filled = await fills.fillFor(wanted, 0, targets, new Map(facts.map((f) => [f.id, f])))
    if (hasOtherBody || hasOtherTargets) demandShort(filled)
    await fills.demandBody(who, wanted.body, exampleOf(filled))
    demandFilled(filled)
  }

  const calls = {
    async list(
      who: For,
      query: Input<typeof sharedPatchList>['query'],
    ): Promise<Page<ListedSharedPatch>> {
      const all = (await states.all()).map((patch) => ({
        ...patch,
        updated_at: patch.updated_at.toISOString(),
      }))
      const page = memoryPage(sharedPatchList.list, all, readers, query)
      const items: ListedSharedPatch[] = []
      for (const { id, servers: numbers } of page.items) {
        const row = await store.one(db, id)
        if (row) items.push({ ...(await factsOf(row, numbers)), body: await excerpts(who, row) })
      }
      return { ...page, items }
    },

    async get(who: For, id: string): Promise<SharedPatch> {
      return shown(who, existing(await store.one(db, id), 'shared patch'))
    },

    async create(who: For, asked: NewSharedPatch): Promise<SharedPatch> {
      const { caller } = who
      await demandUsable(who, asked)
      const row = await writing(async (tx) => {
        if ((await counted(tx, 'shared_patch')) >= sharedPatchLimits.patches)
          throw new Problem('conflict', tooManySharedPatches)
        await demandRoom(tx, asked.body)
        const made = await store.insert(
          tx,
          {
            ...asked,
            variables: variablesIn(asked.body),
            created_by_name: callerName(caller),
            updated_by_name: callerName(caller),
          },
          new Date(clock.now()),
        )
        await record(tx, caller, {
          action: 'shared_patch.created',
          target: targetOf(made),
          after: audited(made),
          event: { version: made.version },
        })
        return made
      })
      return shown({ ...who, caller }, row)
    },

    /** @throws Problem stale also without If-Match, if somebody saves during the checks */
    async update(
      who: For,
      id: string,
      asked: SharedPatchChange,
      ifMatch: Versions,
    ): Promise<SharedPatch> {
      const known = existing(await store.one(db, id), 'shared patch', ifMatch)
      const wanted: Definition = {
        name: asked.name ?? known.name,
        weight: asked.weight ?? known.weight,
        targets: asked.targets ?? known.targets,
        body:
          asked.body === undefined
            ? known.body
            : await fills.unmasked(who, asked.body, known.body, audienceOf(who.caller)),
      }
      await demandUsable(who, wanted, known)
      const row = await writing(async (tx) => {
        const before = existing(await store.lock(tx, id), 'shared patch', ifMatch)
        // What is saved must be what was checked.
        checkVersion([known.version], before.version)
        const { name, weight, body, targets } = before
        if (isDeepStrictEqual({ name, weight, body, targets }, wanted)) return before
        await demandIdle(parts, tx, before)
        if (body !== wanted.body) await demandRoom(tx, wanted.body, id)
        const isNew = name !== wanted.name || weight !== wanted.weight || body !== wanted.body
        const revision = isNew ? (await store.lastRevision(tx, id)) + 1 : before.revision
        return changed(tx, who.caller, before, wanted, revision)
      })
      return shown(who, row)
    },

    remove: (caller: Caller, id: string, ifMatch: Versions): Promise<void> =>
      writing(async (tx) => {
        const row = existing(await store.lock(tx, id), 'shared patch', ifMatch)
        await demandIdle(parts, tx, row)
        const verdict = canRemoveSharedPatch((await store.held(tx, { patch: id })).length)
        if (!verdict.ok) throw Problem.of('conflict', verdict)
        await store.remove(tx, id)
        await record(tx, caller, {
          action: 'shared_patch.removed',
          target: targetOf(row),
          before: audited(row),
          event: { version: row.version },
        })
      }),

    async servers(id: string) {
      const row = existing(await store.one(db, id), 'shared patch')
      const [servers, rows] = [await store.servers(db), await store.held(db, { patch: id })]
      return {
        items: (await statesOf(row, inRollOutOrder(servers), rows)).map(
          ({ server, held: has, state }) => ({
            server: { id: server.id, name: server.name },
            cluster:
              server.cluster_id === null || server.cluster_name === null
                ? null
                : { id: server.cluster_id, name: server.cluster_name },
            role: server.cluster_id === null || server.role === 'unknown' ? null : server.role,
            state,
            revision: has?.revision ?? null,
          }),
        ),
      }
    },

    async ofServer(nodeId: string) {
      await given.servers.forPlan(db, [nodeId])
      const held = new Map(
        (await store.held(db, { servers: [nodeId] })).map((row) => [row.patch_id, row.revision]),
      )
      return {
        items: (await states.ofServer(nodeId)).map((patch) => ({
          ...patch,
          revision: held.get(patch.id) ?? null,
        })),
      }
    },
  }

  return {
    name: 'shared-patches',
    routes(app) {
      const on = serve(app)
      const fresh = serve(app, { isVolatile: true })
      const long = serve(app, { largestBody: largestPatchBody })
      on(sharedPatchList, ({ caller, signal, query }) => calls.list({ caller, signal }, query))
      fresh(sharedPatchGet, ({ caller, signal, params }) =>
        calls.get({ caller, signal }, params.id),
      )
      long(sharedPatchCreate, ({ caller, signal, body }) => calls.create({ caller, signal }, body))
      long(sharedPatchUpdate, ({ caller, signal, params, body, ifMatch }) =>
        calls.update({ caller, signal }, params.id, body, ifMatch),
      )
      on(sharedPatchRemove, ({ caller, params, ifMatch }) =>
        calls.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      serve(app, { heavy: true, largestBody: largestPatchBody })(
        sharedPatchPreview,
        ({ caller, signal, body }) => previews.preview({ caller, signal }, body),
      )
      on(sharedPatchRollOut, ({ caller, params, body, ifMatch }) =>
        rollOut(caller, params.id, body, ifMatch),
      )
      on(sharedPatchUndo, ({ caller, params, body }) => undo(caller, params.id, body))
      on(sharedPatchServers, ({ params }) => calls.servers(params.id))
      on(serverSharedPatches, ({ params }) => calls.ofServer(params.id))
    },
  }
}

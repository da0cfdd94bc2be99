/** Changes of patches. The resulting configuration is checked first, and saved together with them. */
import { isDeepStrictEqual } from 'node:util'
import { Problem } from '#contract/errors.ts'
import type { LossConsent } from '#contract/servers/losses.ts'
import { canChangePatch, type NewPatch, type Patch, problemSentence } from '#contract/patches.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { shortly } from '../../db/shortly.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { existing, type Versions } from '../../http/tags.ts'
import { type For, ours } from '../../reading/asker.ts'
import type { Patches } from './api.ts'
import { lately } from './lately.ts'
import {
  asNameTaken,
  audienceOf,
  isSystemLayer,
  noSuchPatch,
  type PatchParts,
  present,
} from './parts.ts'
import { demandPatchRoom } from './room.ts'
import { audited, type PatchChange, type PatchRow } from './store.ts'

/** Somebody else has changed the patch between its checks and its saving. */
class Overtaken extends Problem {}
const mostTries = 10

const demandWritable = (patchId: string): void =>
  demand(canChangePatch({ read_only: isSystemLayer(patchId) }), 'patch_read_only')

/** On a server in a cluster a change is checked by a dry run, saved, and then applied. */
export interface Writing {
  create(caller: Caller, nodeId: string, asked: NewPatch & Partial<Confirmed>): Promise<Patch>
  update(
    caller: Caller,
    nodeId: string,
    patchId: string,
    asked: PatchChange & Partial<Confirmed>,
    ifMatch?: Versions,
  ): Promise<Patch>
  remove(
    caller: Caller,
    nodeId: string,
    patchId: string,
    how?: Partial<Confirmed> & { readonly ifMatch?: Versions },
  ): Promise<void>
}

interface Confirmed {
  /** Servers that may be lost. */
  readonly confirmed_loss: readonly LossConsent[]
}

export function writing({
  db,
  clock,
  read,
  record,
  store,
  servers,
  configurations,
}: PatchParts): Writing & Pick<Patches, 'check' | 'createIn'> {
  const demandNone = (errors: Awaited<ReturnType<typeof errorsOf>>): void => {
    const [first] = errors
    if (first)
      throw new Problem('invalid', problemSentence(first), {
        body: errors.slice(0, 20).map(problemSentence).join('\n'),
      })
  }
  const errorsOf = (who: For, body: string) => read(who, 'check', body)
  const demandBody = async (who: For, body: string): Promise<void> =>
    demandNone(await errorsOf(who, body))

  /**
   * Patches of servers that join a cluster are checked before the transaction that stores them, so
   * it has nothing to read.
   */
  const checked = lately(async (body: string) => {
    const errors = await errorsOf(ours, body)
    return { errors, links: errors.length === 0 ? await read(ours, 'links', body) : [] }
  })

  const insert = async (
    tx: Tx,
    caller: Caller,
    nodeId: string,
    patch: NewPatch,
    links: readonly string[],
  ): Promise<PatchRow> => {
    const made = await store.insert(
      tx,
      nodeId,
      { ...patch, links, created_by_name: callerName(caller) },
      new Date(clock.now()),
    )
    await record(tx, caller, {
      action: 'patch.created',
      target: { kind: 'server', id: nodeId },
      after: audited(made),
      event: { version: made.version, object: { kind: 'patch', id: made.id } },
    })
    return made
  }

  const orNameTaken = <T>(saving: Promise<T>): Promise<T> =>
    saving.catch((error: unknown) => {
      throw asNameTaken(error)
    })

  /** Changes the layers of the server: see `Configurations.change`. */
  const change = async <T>(
    caller: Caller,
    nodeId: string,
    after: {
      readonly stored: readonly PatchRow[]
      readonly more?: readonly NewPatch[]
      readonly confirmedLoss?: readonly LossConsent[] | undefined
    },
    save: (tx: Tx) => Promise<T>,
  ): Promise<T> =>
    orNameTaken(
      configurations.change(
        caller,
        nodeId,
        {
          more: [],
          ...after,
          stored: [...after.stored, ...(await store.sharedOf(db, nodeId))],
          confirmedLoss: after.confirmedLoss ?? [],
        },
        async (tx) => {
          const saved = await save(tx)
          await servers.patched(tx, caller, nodeId, await store.sums(tx, nodeId))
          return saved
        },
      ),
    )

  const updateOnce = async (
    caller: Caller,
    nodeId: string,
    patchId: string,
    { confirmed_loss: confirmedLoss, ...asked }: PatchChange & Partial<Confirmed>,
    ifMatch: Versions,
  ): Promise<Patch> => {
    const known = existing(await store.one(db, nodeId, patchId), 'patch', ifMatch)
    const body =
      asked.body === undefined
        ? undefined
        : await read({ caller }, 'unmask', asked.body, known.body, audienceOf(caller))
    if (body !== undefined) {
      await demandBody({ caller }, body)
      await demandPatchRoom(store, db, nodeId, body, patchId)
    }
    const wanted = { ...asked, body }
    const isMerged = wanted.weight !== undefined || body !== undefined
    const reorders =
      (wanted.weight !== undefined && wanted.weight !== known.weight) ||
      (body !== undefined && body !== known.body)
    const defined = Object.fromEntries(
      Object.entries(wanted).filter(([, value]) => value !== undefined),
    ) as Partial<NewPatch>
    const links = body === undefined ? undefined : await read({ caller }, 'links', body)
    // Masked before the commit, because the reader may refuse, and a saved patch must not be
    // answered with a refusal.
    const shown = body ?? known.body
    const { text } = await read({ caller }, 'mask', shown, audienceOf(caller))
    /** Another request may have saved another body meanwhile. */
    const answer = async (row: PatchRow): Promise<Patch> =>
      present(
        row,
        row.body === shown ? text : (await read(ours, 'mask', row.body, audienceOf(caller))).text,
      )
    const save = async (tx: Tx): Promise<Patch> => {
      await servers.locked(tx, nodeId)
      const before = existing(await store.one(tx, nodeId, patchId), 'patch', ifMatch)
      // The saved patch must be the one that was checked.
      if (isMerged && before.version !== known.version)
        throw new Overtaken('stale', 'Other requests keep changing this object. Please try again.')
      if (
        Object.entries(defined).every(([key, value]) =>
          isDeepStrictEqual(value, before[key as keyof NewPatch]),
        )
      )
        return answer(before)
      // Another request may have saved another patch of the server, which is locked now.
      if (body !== undefined) await demandPatchRoom(store, tx, nodeId, body, patchId)
      const after = await store.update(
        tx,
        before,
        { ...wanted, ...(links && { links }) },
        new Date(clock.now()),
      )
      await record(tx, caller, {
        action: 'patch.updated',
        target: { kind: 'server', id: nodeId },
        before: audited(before),
        after: audited(after),
        event: { version: after.version, object: { kind: 'patch', id: patchId } },
      })
      return answer(after)
    }
    if (!reorders)
      return orNameTaken(
        inTransaction(db, async (tx) => {
          await configurations.lockUnheld(tx, caller, nodeId)
          return save(tx)
        }),
      )
    const stored = (await store.ofServer(db, nodeId)).map((p) =>
      p.id === patchId ? { ...p, ...defined } : p,
    )
    return change(caller, nodeId, { stored, confirmedLoss }, save)
  }

  return {
    check: async (body) => (await checked(body)).errors.map(problemSentence),

    async create(caller, nodeId, { confirmed_loss: confirmedLoss, ...patch }) {
      await demandBody({ caller }, patch.body)
      const links = await read({ caller }, 'links', patch.body)
      const { text } = await read({ caller }, 'mask', patch.body, audienceOf(caller))
      const stored = await store.ofServer(db, nodeId)
      await demandPatchRoom(store, db, nodeId, patch.body)
      return change(caller, nodeId, { stored, more: [patch], confirmedLoss }, async (tx) => {
        // Another request may have added one meanwhile; the server is locked now.
        await demandPatchRoom(store, tx, nodeId, patch.body)
        return present(await insert(tx, caller, nodeId, patch, links), text)
      })
    },

    async update(caller, nodeId, patchId, asked, ifMatch) {
      demandWritable(patchId)
      // Without If-Match the last write wins: if another user saves the patch during the checks,
      // these are repeated, and that user's change is overwritten.
      for (let tries = 1; ; tries++) {
        try {
          return await updateOnce(caller, nodeId, patchId, asked, ifMatch)
        } catch (error) {
          if (!(error instanceof Overtaken) || tries === mostTries) throw error
        }
      }
    },

    async remove(caller, nodeId, patchId, { ifMatch, confirmed_loss: confirmedLoss } = {}) {
      demandWritable(patchId)
      if (!(await store.one(db, nodeId, patchId))) throw noSuchPatch()
      const stored = (await store.ofServer(db, nodeId)).filter((p) => p.id !== patchId)
      await change(caller, nodeId, { stored, confirmedLoss }, async (tx) => {
        const before = existing(await store.one(tx, nodeId, patchId), 'patch', ifMatch)
        await store.remove(tx, patchId)
        await record(tx, caller, {
          action: 'patch.removed',
          target: { kind: 'server', id: nodeId },
          before: audited(before),
          event: { version: before.version, object: { kind: 'patch', id: patchId } },
        })
      })
    },

    async createIn(tx, caller, nodeId, patch) {
      const { errors, links } = await shortly(tx, ['check', patch.body], () => checked(patch.body))
      demandNone(errors)
      await demandPatchRoom(store, tx, nodeId, patch.body)
      await orNameTaken(insert(tx, caller, nodeId, patch, links))
      await servers.patched(tx, caller, nodeId, await store.sums(tx, nodeId))
    },
  }
}

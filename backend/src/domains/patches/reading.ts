/** Shows the patches of a server to a caller, and previews one before it is saved. */
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import {
  mostListedBodyBytes,
  type Patch,
  patchLimits,
  type patchPreview,
  type patchSchema,
  type Preview,
} from '#contract/patches.ts'
import { patchSchema as talosSchema } from '#talos/config/schema.ts'
import { minors, minorText } from '#talos/versions.ts'
import type { Caller } from '../../http/caller.ts'
import type { For } from '../../reading/asker.ts'
import type { SystemLayer } from '../configurations/api.ts'
import {
  audienceOf,
  holdsScope,
  isSystemLayer,
  noSuchPatch,
  type PatchParts,
  present,
} from './parts.ts'
import type { PatchRow } from './store.ts'

export interface Reading {
  /**
   * Lists a server's layers in the order of merging, so the two layers that Steelyard writes come
   * first.
   */
  list(caller: Caller, nodeId: string): Promise<Page<Patch>>
  get(caller: Caller, nodeId: string, patchId: string): Promise<Patch>
  /** @param talosVersion default: the newest supported minor */
  schema(talosVersion?: string): Answer<typeof patchSchema>
  /** Contacts no machine for callers without write permission. */
  preview(who: For, nodeId: string, asked: Input<typeof patchPreview>['body']): Promise<Preview>
}

/** A system layer in the form of a patch. It has no time or author, because it is computed. */
const presentLayer = (nodeId: string, { id, name, weight, body }: SystemLayer): Patch => ({
  patch_id: id,
  node_id: nodeId,
  name,
  weight,
  labels: {},
  body,
  read_only: true,
  version: 0,
  created_at: null,
  updated_at: null,
  created_by: null,
})

export function reading({ db, read, store, servers, configurations }: PatchParts): Reading {
  const shownRow = async (caller: Caller, row: PatchRow): Promise<Patch> =>
    present(row, (await read({ caller }, 'mask', row.body, audienceOf(caller))).text)
  const systemRows = async (nodeId: string): Promise<Patch[]> =>
    (await configurations.systemLayers(nodeId)).map((layer) => presentLayer(nodeId, layer))

  return {
    async list(caller, nodeId) {
      const items = await systemRows(nodeId)
      let left = mostListedBodyBytes
      // One after another, because each read waits in the caller's queue, which is short.
      for (const { bytes: sealed, ...head } of await store.sizes(db, nodeId)) {
        const row = sealed <= left ? await store.one(db, nodeId, head.id) : undefined
        const patch = row && (await shownRow(caller, row))
        // Masks may make a body longer.
        const bytes = patch && Buffer.byteLength(JSON.stringify(patch.body))
        if (bytes !== undefined && bytes <= left) {
          left -= bytes
          items.push(patch!)
        } else {
          left = 0
          items.push({ ...present(head, ''), body_listed: false })
        }
      }
      return { items, page: 1, per_page: items.length, total: items.length }
    },

    async get(caller, nodeId, patchId) {
      if (isSystemLayer(patchId))
        return (await systemRows(nodeId)).find((p) => p.patch_id === patchId)!
      await servers.forPlan(db, [nodeId])
      const row = await store.one(db, nodeId, patchId)
      if (!row) throw noSuchPatch()
      return shownRow(caller, row)
    },

    schema(talosVersion) {
      const of = talosVersion === undefined ? null : minorText(talosVersion)
      const known = minors.filter(({ minor }) => of === null || minor === of)
      const newest = known.at(-1)
      if (newest === undefined)
        throw new Problem(
          'invalid',
          `The patches of Talos ${talosVersion} are not known; choose a version of ${minors.map(({ minor }) => minor).join(', ')}`,
        )
      return {
        schema: { ...talosSchema(newest.version) },
        versions: known.map(({ version }) => version),
        limits: { ...patchLimits },
      }
    },

    async preview(who, nodeId, asked) {
      await servers.forPlan(db, [nodeId])
      const stored = await store.ofServer(db, nodeId)
      const shared = await store.sharedOf(db, nodeId)
      const edited = stored.find((p) => p.id === asked.patch_id)
      const audience = audienceOf(who.caller)
      const body = edited
        ? await read(who, 'unmask', asked.body, edited.body, audience)
        : asked.body
      const name = asked.name?.trim() || edited?.name || 'this patch'
      const change = { name, weight: asked.weight, body }
      return configurations.preview(who, nodeId, {
        layer: { name, body },
        // Compares with the configuration without the edited patch, so that the difference shows
        // the patch's whole effect and not only the last edit.
        without: [...stored.filter((p) => p.id !== edited?.id), ...shared],
        after: {
          stored: [
            ...stored.map((p) => (p.id === edited?.id ? { ...p, ...change } : p)),
            ...shared,
          ],
          more: edited ? [] : [change],
        },
        audience,
        mayAsk: holdsScope(who.caller, 'servers:write'),
      })
    },
  }
}

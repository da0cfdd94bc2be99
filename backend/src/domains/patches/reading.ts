/** Builds a server's configuration from its layers, and shows its patches to a caller. */
import { Problem } from '#contract/errors.ts'
import type { Page } from '#contract/page.ts'
import { type Patch, patchLimits, systemLayers } from '#contract/patches.ts'
import { permits, type Scope } from '#contract/permissions.ts'
import type { Audience } from '#talos/config/mask.ts'
import { patchSchema } from '#talos/config/schema.ts'
import { minors } from '#talos/versions.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import { ours } from '../../reading/reader.ts'
import type { ClusterAccess } from '../servers/for-clusters.ts'
import type { ServerFacts } from '../servers/present.ts'
import type { Servers } from '../servers/servers.ts'
import { freeBase, type Layer, type RenderContext, withPlaceholders } from './layers.ts'
import { demandValid, layersOf, type Rendered, sentenceOf } from './render.ts'
import { afterwards, noChange, type PatchSet } from './sets.ts'
import { type PatchRow, patchStore } from './store.ts'

export type PatchRendering = ReturnType<typeof patchRendering>
export type PatchPlatform = Platform & {
  readonly rendering: PatchRendering
  readonly servers: Pick<
    Servers,
    'forPlan' | 'connection' | 'patched' | 'locked' | 'eligibilityFor' | 'noteDrift' | 'get'
  >
  readonly access: ClusterAccess
}
export type PatchCore = ReturnType<typeof patchReading>['core']

export const holdsScope = (caller: Caller, scope: Scope): boolean =>
  caller.kind === 'system' || (caller.kind === 'user' && permits(caller.scopes, scope).ok)
/**
 * What the caller may see of a single patch. Merged configurations are masked in the same way for
 * all callers.
 */
export const audienceOf = (caller: Caller): Audience =>
  holdsScope(caller, 'secrets:read') ? 'may_read_secrets' : 'everybody'

export const isSystemLayer = (id: string): id is keyof typeof systemLayers =>
  Object.hasOwn(systemLayers, id)
export const noSuchPatch = () => new Problem('not_found', 'There is no such patch')

/** @param body the row's body with masked secrets */
export const present = (
  { id, server_id, links: _links, created_by_name, ...row }: PatchRow,
  body: string,
): Patch => ({
  ...row,
  patch_id: id,
  node_id: server_id,
  body,
  read_only: false,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  created_by: created_by_name,
})

/** A system layer in the form of a patch. It has no time or author, because it is computed. */
const presentLayer = (nodeId: string, { id, name, weight, body }: Layer): Patch => ({
  patch_id: id,
  node_id: nodeId,
  name,
  weight,
  labels: {},
  body: withPlaceholders(body),
  read_only: true,
  version: 0,
  created_at: null,
  updated_at: null,
  created_by: null,
})

/**
 * Renders configurations. Created before the clusters domain, which needs it. The other use cases
 * of patches need clusters, so they are created later.
 */
export function patchRendering({
  vault,
  servers,
  read,
}: Pick<Platform, 'vault' | 'read'> & { servers: Pick<Servers, 'forPlan'> }) {
  const store = patchStore({ vault })
  const factsOf = async (on: Db | Tx, nodeId: string): Promise<ServerFacts> =>
    (await servers.forPlan(on, [nodeId]))[0]!
  return {
    store,
    read,
    factsOf,
    /**
     * The configuration of a server of a cluster: `base` (generated) → static-system → default-node
     * → its patches by weight, creation, id. `set`: changes of patches that aren't stored yet. The
     * result has plaintext secrets: encrypt it before storing it.
     * @throws Problem `invalid` naming the layer, if Talos would refuse the result
     */
    render: async (
      on: Db | Tx,
      nodeId: string,
      base: string,
      context: RenderContext,
      set: PatchSet = noChange,
    ): Promise<Rendered> => {
      const server = await factsOf(on, nodeId)
      const { rows, more } = afterwards(await store.ofServer(on, nodeId), set)
      return demandValid(
        server,
        await read(ours, 'compose', base, layersOf(server, context, rows, more), context),
      )
    },
  }
}

export function patchReading({ config, db, access, rendering }: PatchPlatform) {
  const { store, read, factsOf } = rendering

  /**
   * The base of a server's layers. `isReal`: generated for the server's cluster and not a
   * placeholder.
   */
  const baseOf = async (
    server: ServerFacts,
  ): Promise<{ yaml: string; context: RenderContext; isReal: boolean }> => {
    const generated = server.cluster && (await access.generated(db, server.cluster.id, server.id))
    return generated
      ? { ...generated, isReal: true }
      : { ...freeBase(server, new URL(config.imageFactoryUrl).host), isReal: false }
  }

  const shownRow = async (caller: Caller, row: PatchRow): Promise<Patch> =>
    present(row, (await read({ caller }, 'mask', row.body, audienceOf(caller))).text)

  const systemRows = async (server: ServerFacts): Promise<Patch[]> => {
    const { context } = await baseOf(server)
    return layersOf(server, context, []).map((layer) => presentLayer(server.id, layer))
  }

  return {
    /** For the other parts of this domain. */
    core: { store, read, factsOf, baseOf },

    /**
     * Lists a server's layers in the order of merging, so the two layers that Steelyard writes come
     * first.
     */
    async list(caller: Caller, nodeId: string): Promise<Page<Patch>> {
      const items = await systemRows(await factsOf(db, nodeId))
      // One after another, because each read waits in the caller's queue, which is short.
      for (const row of await store.ofServer(db, nodeId)) items.push(await shownRow(caller, row))
      return { items, page: 1, per_page: items.length, total: items.length }
    },

    async get(caller: Caller, nodeId: string, patchId: string): Promise<Patch> {
      const server = await factsOf(db, nodeId)
      if (isSystemLayer(patchId))
        return (await systemRows(server)).find((p) => p.patch_id === patchId)!
      const row = await store.one(db, nodeId, patchId)
      if (!row) throw noSuchPatch()
      return shownRow(caller, row)
    },

    schema: () => ({
      schema: { ...patchSchema(minors.at(-1)!.version) },
      versions: minors.map((m) => m.version),
      limits: { ...patchLimits },
    }),

    /**
     * The merged configuration of a server with masked secrets; with placeholders if the server is
     * in no cluster.
     */
    async config(caller: Caller, nodeId: string): Promise<{ name: string; yaml: string }> {
      const server = await factsOf(db, nodeId)
      const name = `${server.name}.yaml`
      const mask = async (yaml: string): Promise<string> =>
        (await read({ caller }, 'mask', yaml, 'everybody')).text
      const kept = server.cluster && (await access.renderedConfig(server.cluster.id, nodeId))
      if (kept) return { name, yaml: await mask(kept) }
      const base = await baseOf(server)
      const layers = layersOf(server, base.context, await store.ofServer(db, nodeId))
      const { yaml } = demandValid(
        server,
        await read({ caller }, 'compose', base.yaml, layers, base.context),
      )
      return { name, yaml: withPlaceholders(await mask(yaml)) }
    },

    /** Problems of a patch body as sentences; empty if the body can be saved. */
    check: async (body: string): Promise<string[]> =>
      (await read(ours, 'check', body)).map(sentenceOf),

    /** A merged configuration, masked for everybody. */
    mask: async (yaml: string): Promise<string> =>
      (await read(ours, 'mask', yaml, 'everybody')).text,

    render: rendering.render,
  }
}

/** Changes of servers' patches, and how a server's configuration is made from its layers. */
import { isDeepStrictEqual } from 'node:util'
import { Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { canChangePatch, type NewPatch, type Patch, patchLimits, type patchPreview, type Preview, systemLayers } from '#contract/patches.ts'
import { permits, type Scope } from '#contract/permissions.ts'
import type { Audience } from '#talos/config/mask.ts'
import { patchSchema } from '#talos/config/schema.ts'
import { minors } from '#talos/versions.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { heldSentence, holdOf } from '../../engine/holds.ts'
import { type Caller, callerName, system } from '../../http/caller.ts'
import { checkVersion, type Versions } from '../../http/tags.ts'
import type { Platform } from '../../platform.ts'
import type { ClusterAccess } from '../servers/for-clusters.ts'
import type { ServerFacts } from '../servers/present.ts'
import type { Servers } from '../servers/servers.ts'
import { configuring, configuringQueue } from './configuring.ts'
import { drifts } from './drift/drift.ts'
import { sweeping, sweepQueue } from './drift/sweep.ts'
import { freeBase, withPlaceholders } from './free-base.ts'
import type { RenderContext } from './layers.ts'
import { audited, present, presentLayer } from './present.ts'
import { type For, reader } from './reader.ts'
import { demandValid, layersOf, type Rendered, sentenceOf } from './render.ts'
import { type PatchChange, type PatchRow, patchStore } from './store.ts'
import { verdictOf } from './verdict.ts'
import { warningsOf } from './warnings.ts'

export interface PatchParts {
  readonly rendering: PatchRendering
  readonly servers: Pick<Servers, 'forPlan' | 'connection' | 'patched' | 'locked' | 'eligibilityFor' | 'noteDrift' | 'get'>
  readonly access: ClusterAccess
}
export type Patches = ReturnType<typeof patches>

const holds = (caller: Caller, scope: Scope): boolean => caller.kind === 'system' || (caller.kind === 'user' && permits(caller.scopes, scope).ok)
/** What the caller may see of a patch as it was written. Merged configurations are shown to all as to everybody. */
const audienceOf = (caller: Caller): Audience => (holds(caller, 'secrets:read') ? 'may_read_secrets' : 'everybody')

/** The patch was changed between its rehearsal and its writing. */
class Overtaken extends Problem {}
const mostTries = 10

const isSystem = (id: string): id is keyof typeof systemLayers => Object.hasOwn(systemLayers, id)
const missing = () => new Problem('not_found', 'There is no such patch')
const taken = () => new Problem('name_taken', nameSentences('Patch').taken, { name: nameSentences('Patch').taken })

/** Reads for other domains, which limit their own concurrency. */
const ours: For = { caller: system }

export type PatchRendering = ReturnType<typeof patchRendering>

/** Renders configurations. It is made before clusters, which use it; the other use cases of patches are made after them, because they use clusters. */
export function patchRendering({ vault, servers }: Pick<Platform, 'vault'> & { servers: Pick<Servers, 'forPlan'> }) {
  const store = patchStore({ vault })
  const read = reader()
  return {
    store,
    read,
    /**
     * The configuration of a server of a cluster: `base` (generated) → static-system → default-node → its patches by weight, creation, id.
     * `more` are patches that are not stored yet (the preview of a creation). Secrets in clear: seal what you keep.
     * @throws Problem `invalid` naming the layer, where Talos would refuse the result
     */
    render: async (on: Db | Tx, nodeId: string, base: string, context: RenderContext, more: readonly NewPatch[] = []): Promise<Rendered> => {
      const [server] = (await servers.forPlan(on, [nodeId])) as [ServerFacts]
      return demandValid(server, await read(ours, 'compose', base, layersOf(server, context, await store.ofServer(on, nodeId), more), context))
    },
  }
}

export function patches(platform: Platform & PatchParts) {
  const { config, db, clock, record, engine, servers, access, rendering } = platform
  const { store, read } = rendering
  const factsOf = async (on: Db | Tx, nodeId: string): Promise<ServerFacts> => (await servers.forPlan(on, [nodeId]))[0]!

  /** The base of a server's layers, and whether it is of the server's cluster or a placeholder. */
  const baseOf = async (on: Db | Tx, server: ServerFacts): Promise<{ yaml: string; context: RenderContext; isReal: boolean }> => {
    const generated = server.cluster && (await access.generated(on, server.cluster.id, server.id))
    return generated ? { ...generated, isReal: true } : { ...freeBase(server, new URL(config.imageFactoryUrl).host), isReal: false }
  }

  const drift = drifts({ ...platform, read, store })
  engine.register({ queue: configuringQueue, reconcile: configuring({ ...platform, drifts: drift }), concurrency: 8 })
  engine.register({ queue: sweepQueue, reconcile: sweeping({ ...platform, drifts: drift }), concurrency: 4 })
  const shownRows = async (caller: Caller, rows: readonly PatchRow[]): Promise<Patch[]> => {
    const shown: Patch[] = []
    // One after another: each waits in the caller's line, which is short.
    for (const row of rows) shown.push(present(row, (await read({ caller }, 'mask', row.body, audienceOf(caller))).text))
    return shown
  }
  const shownRow = async (caller: Caller, row: PatchRow): Promise<Patch> => (await shownRows(caller, [row]))[0]!

  const demandBody = async (who: For, body: string): Promise<void> => {
    const errors = await read(who, 'check', body)
    const [first] = errors
    if (first) throw new Problem('invalid', sentenceOf(first), { body: errors.slice(0, 20).map(sentenceOf).join('\n') })
  }

  /** Checks a change of patches: the merged configuration must be valid and, on a server in a cluster, pass a dry run. */
  const rehearse = async (who: For, nodeId: string, change: (stored: PatchRow[]) => { stored: PatchRow[]; more?: NewPatch[] }): Promise<void> => {
    const server = await factsOf(db, nodeId)
    const base = await baseOf(db, server)
    const { stored, more } = change(await store.ofServer(db, nodeId))
    const { yaml } = demandValid(server, await read(who, 'compose', base.yaml, layersOf(server, base.context, stored, more), base.context))
    if (!server.cluster) return
    if (await holdOf(db, nodeId)) throw new Problem('operation_running', heldSentence(server.name))
    if (server.operation_id) throw new Problem('operation_running', `An operation on ${server.name} has not ended`)
    const verdict = await verdictOf({ server, yaml, isReal: base.isReal, servers, access, isHeld: false, mayAsk: true })
    if (verdict.kind === 'not_allowed') throw new Problem('invalid', `Talos refuses it: ${verdict.reason}`, { body: verdict.reason })
    if (verdict.kind === 'unknown') throw new Problem('server_unreachable', verdict.reason)
    await drift.demandNone(server)
  }

  /** After a change of patches, in the same transaction: counts them, renders the configuration again, and has it applied. */
  const follow = async (tx: Tx, caller: Caller, nodeId: string, clusterId: string | null): Promise<void> => {
    await servers.patched(tx, caller, nodeId, await store.sums(tx, nodeId))
    if (clusterId && (await access.renderAgain(tx, clusterId, nodeId))) await engine.wake(tx, configuringQueue, nodeId)
  }

  const insert = async (tx: Tx, caller: Caller, nodeId: string, patch: NewPatch, links: readonly string[]): Promise<PatchRow> => {
    const made = await store.insert(tx, nodeId, { ...patch, links, created_by_name: callerName(caller) }, new Date(clock.now()))
    await record(tx, caller, {
      action: 'patch.created',
      target: { kind: 'server', id: nodeId },
      after: audited(made),
      event: { version: made.version, object: { kind: 'patch', id: made.id } },
    })
    return made
  }

  const changeOne = async <T>(change: (tx: Tx) => Promise<T>): Promise<T> => {
    try {
      return await inTransaction(db, change)
    } catch (error) {
      throw violatedConstraint(error) === 'patch_name' ? taken() : error
    }
  }

  const systemRows = async (server: ServerFacts): Promise<Patch[]> => {
    const { context } = await baseOf(db, server)
    return layersOf(server, context, []).map((l) => presentLayer(server.id, l, withPlaceholders(l.body)))
  }

  const demandWritable = (patchId: string): void => {
    const verdict = canChangePatch({ read_only: isSystem(patchId) })
    if (!verdict.ok) throw new Problem('patch_read_only', verdict.reason)
  }

  const updateOnce = async (caller: Caller, nodeId: string, patchId: string, asked: PatchChange, ifMatch: Versions): Promise<Patch> => {
    const known = await store.one(db, nodeId, patchId)
    if (!known) throw missing()
    checkVersion(ifMatch, known.version)
    const body = asked.body === undefined ? undefined : await read({ caller }, 'unmask', asked.body, known.body, audienceOf(caller))
    if (body !== undefined) await demandBody({ caller }, body)
    const change = { ...asked, body }
    const isMerged = change.weight !== undefined || body !== undefined
    const reorders = (change.weight !== undefined && change.weight !== known.weight) || (body !== undefined && body !== known.body)
    const defined = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as Partial<NewPatch>
    if (reorders) await rehearse({ caller }, nodeId, (stored) => ({ stored: stored.map((p) => (p.id === patchId ? { ...p, ...defined } : p)) }))
    const links = body === undefined ? undefined : await read({ caller }, 'links', body)
    const row = await changeOne(async (tx) => {
      const { cluster_id } = await servers.locked(tx, nodeId)
      const before = await store.one(tx, nodeId, patchId)
      if (!before) throw missing()
      checkVersion(ifMatch, before.version)
      // The saved patch must be the one that was checked.
      if (isMerged && before.version !== known.version) throw new Overtaken('stale', 'It is being changed by others all the time. Please try again.')
      if (Object.entries(defined).every(([key, value]) => isDeepStrictEqual(value, before[key as keyof NewPatch]))) return before
      const after = await store.update(tx, before, { ...change, ...(links && { links }) }, new Date(clock.now()))
      await record(tx, caller, {
        action: 'patch.updated',
        target: { kind: 'server', id: nodeId },
        before: audited(before),
        after: audited(after),
        event: { version: after.version, object: { kind: 'patch', id: patchId } },
      })
      if (reorders) await follow(tx, caller, nodeId, cluster_id)
      return after
    })
    return shownRow(caller, row)
  }

  return {
    /** What others have changed in the configurations of machines. */
    drift,

    /** In the order of merging, the two layers that Steelyard writes first. */
    async list(caller: Caller, nodeId: string): Promise<Page<Patch>> {
      const server = await factsOf(db, nodeId)
      const items = [...(await systemRows(server)), ...(await shownRows(caller, await store.ofServer(db, nodeId)))]
      return { items, page: 1, per_page: items.length, total: items.length }
    },

    async get(caller: Caller, nodeId: string, patchId: string): Promise<Patch> {
      const server = await factsOf(db, nodeId)
      if (isSystem(patchId)) return (await systemRows(server)).find((p) => p.patch_id === patchId)!
      const row = await store.one(db, nodeId, patchId)
      if (!row) throw missing()
      return shownRow(caller, row)
    },

    /** On a server in a cluster the patch is checked by a dry run, saved, and then applied. */
    async create(caller: Caller, nodeId: string, patch: NewPatch): Promise<Patch> {
      await demandBody({ caller }, patch.body)
      await rehearse({ caller }, nodeId, (stored) => ({ stored, more: [patch] }))
      const links = await read({ caller }, 'links', patch.body)
      const { text } = await read({ caller }, 'mask', patch.body, audienceOf(caller))
      return changeOne(async (tx) => {
        const { cluster_id } = await servers.locked(tx, nodeId)
        const made = await insert(tx, caller, nodeId, patch, links)
        await follow(tx, caller, nodeId, cluster_id)
        return present(made, text)
      })
    },

    async update(caller: Caller, nodeId: string, patchId: string, asked: PatchChange, ifMatch?: Versions): Promise<Patch> {
      demandWritable(patchId)
      // Without If-Match the last write wins: what somebody else saved during the rehearsal is rehearsed with, and then replaced.
      for (let tries = 1; ; tries++) {
        try {
          return await updateOnce(caller, nodeId, patchId, asked, ifMatch)
        } catch (error) {
          if (!(error instanceof Overtaken) || tries === mostTries) throw error
        }
      }
    },

    async remove(caller: Caller, nodeId: string, patchId: string, ifMatch?: Versions): Promise<void> {
      demandWritable(patchId)
      const known = await store.one(db, nodeId, patchId)
      if (!known) throw missing()
      await rehearse({ caller }, nodeId, (stored) => ({ stored: stored.filter((p) => p.id !== patchId) }))
      await changeOne(async (tx) => {
        const { cluster_id } = await servers.locked(tx, nodeId)
        const before = await store.one(tx, nodeId, patchId)
        if (!before) throw missing()
        checkVersion(ifMatch, before.version)
        await store.remove(tx, patchId)
        await record(tx, caller, {
          action: 'patch.removed',
          target: { kind: 'server', id: nodeId },
          before: audited(before),
          event: { version: before.version, object: { kind: 'patch', id: patchId } },
        })
        await follow(tx, caller, nodeId, cluster_id)
      })
    },

    /** Previews a patch. Contacts no machine for callers without write permission. */
    async preview(who: For, nodeId: string, asked: Input<typeof patchPreview>['body']): Promise<Preview> {
      const server = await factsOf(db, nodeId)
      const base = await baseOf(db, server)
      const { talosVersion } = base.context
      const stored = await store.ofServer(db, nodeId)
      const edited = stored.find((p) => p.id === asked.patch_id)
      const audience = audienceOf(who.caller)
      const body = edited ? await read(who, 'unmask', asked.body, edited.body, audience) : asked.body
      const name = asked.name?.trim() || edited?.name || 'this patch'
      const refusals = await read(who, 'check', body, talosVersion)
      // The difference shows the whole effect of the patch, also of a stored one, and not only the last edit.
      const others = stored.filter((p) => p.id !== edited?.id)
      const change = { name, weight: asked.weight, body }
      const after = stored.map((p) => (p.id === edited?.id ? { ...p, ...change } : p))
      const changed = layersOf(server, base.context, after, edited ? [] : [change])
      const without = layersOf(server, base.context, others)
      const links = server.hardware && server.links.map((l) => l.name)
      const isBad = refusals.length > 0
      // What breaks the rules of patches is merged with nothing.
      const input = { base: base.yaml, talosVersion, without, with: isBad ? without : changed, patch: { name, body: isBad ? '' : body }, audience, links }
      const merged = await read(who, 'preview', input)
      const errors = isBad ? refusals : merged.errors
      const verdict = async (): Promise<Preview['verdict']> => {
        if (errors[0]) return { kind: 'not_allowed', reason: sentenceOf(errors[0]) }
        const isHeld = (await holdOf(db, nodeId)) !== undefined
        return verdictOf({ server, yaml: merged.yaml, isReal: base.isReal, servers, access, isHeld, mayAsk: holds(who.caller, 'servers:write') })
      }
      return {
        diff: { before: merged.before, after: isBad ? '' : merged.after },
        sources: isBad ? [] : merged.sources,
        errors,
        warnings:
          errors.length > 0 ? [] : warningsOf({ server, links: [...others.flatMap((p) => p.links), ...merged.links], missing: merged.missing }, servers),
        verdict: await verdict(),
      }
    },

    schema: () => ({ schema: { ...patchSchema(minors.at(-1)!.version) }, versions: minors.map((m) => m.version), limits: { ...patchLimits } }),

    /** The merged configuration of a server, secrets masked; of one in no cluster, with placeholders. */
    async config(caller: Caller, nodeId: string): Promise<{ name: string; yaml: string }> {
      const server = await factsOf(db, nodeId)
      const kept = server.cluster && (await access.renderedConfig(server.cluster.id, nodeId))
      if (kept) return { name: `${server.name}.yaml`, yaml: (await read({ caller }, 'mask', kept, 'everybody')).text }
      const base = await baseOf(db, server)
      const layers = layersOf(server, base.context, await store.ofServer(db, nodeId))
      const { yaml } = demandValid(server, await read({ caller }, 'compose', base.yaml, layers, base.context))
      return { name: `${server.name}.yaml`, yaml: withPlaceholders((await read({ caller }, 'mask', yaml, 'everybody')).text) }
    },

    /**
     * For the creation of a cluster: checks and stores a patch in the caller's transaction; nothing is applied.
     * @throws Problem `invalid` with the line, `name_taken`
     */
    async createIn(tx: Tx, caller: Caller, nodeId: string, patch: NewPatch): Promise<void> {
      await demandBody(ours, patch.body)
      try {
        await insert(tx, caller, nodeId, patch, await read(ours, 'links', patch.body))
      } catch (error) {
        throw violatedConstraint(error) === 'patch_name' ? taken() : error
      }
      await servers.patched(tx, caller, nodeId, await store.sums(tx, nodeId))
    },

    /** Problems of a patch body as sentences; empty if it can be saved. */
    check: async (body: string): Promise<string[]> => (await read(ours, 'check', body)).map(sentenceOf),

    /** A merged configuration as everybody may see it. */
    mask: async (yaml: string): Promise<string> => (await read(ours, 'mask', yaml, 'everybody')).text,

    render: rendering.render,
  }
}

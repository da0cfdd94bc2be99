/**
 * Changes of configurations by operations on a cluster, server by server: previews a change of
 * patches, and sends the newest generation after comparing it with the machine's configuration.
 */
import { Problem } from '#contract/errors.ts'
import type { Preview, PreviewWarning } from '#contract/patches.ts'
import { unifiedDiff } from '#contract/servers/diff.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readStage } from '#talos/client/inventory.ts'
import type { Tx } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import { callerName, system } from '../../http/caller.ts'
import { ours, sentBy } from '../../reading/reader.ts'
import type { ServerFacts } from '../servers/present.ts'
import { credentialsLifetimeMs } from './configuring.ts'
import type { Drifts } from './drift/drift.ts'
import { type Found, readFound } from './drift/found.ts'
import type { Previewing } from './previewing.ts'
import { type PatchCore, type PatchPlatform } from './reading.ts'
import { layersOf, sentenceOf } from './render.ts'
import { afterwards, changesOf, noChange, type PatchSet } from './sets.ts'
import { audited } from './store.ts'

const callDeadlineMs = 60_000

/** Preview of a change of patches on one server. */
export interface Rehearsal {
  /** Unified diff with secrets masked; empty if nothing changes. */
  readonly diff: string
  readonly verdict: Preview['verdict']
  readonly warnings: readonly PreviewWarning[]
}

/**
 * `held`: the machine runs its newest configuration. `sent`: it accepted it now. `restarting`: it
 * will run it after its restart. Otherwise nothing was sent: the machine refuses the configuration,
 * needs a restart that isn't allowed, has drift, or does not answer.
 */
export type Delivery =
  | { readonly kind: 'held' | 'restarting' }
  | { readonly kind: 'sent'; readonly reboots: boolean }
  | { readonly kind: 'refused' | 'needs_reboot' | 'changed' | 'silent'; readonly reason: string }

export function rolling(
  { db, clock, record, servers, access }: PatchPlatform,
  { store, read, factsOf, baseOf }: PatchCore,
  {
    verdict,
    warnings,
    drift,
  }: Pick<Previewing, 'verdict' | 'warnings'> & { readonly drift: Drifts },
) {
  const { outside } = access

  const secure = async <T>(
    server: ServerFacts,
    act: (client: TalosClient) => Promise<T>,
    signal: AbortSignal,
    deadlineMs?: number,
  ): Promise<T> => {
    const keys = await access.talosCredentials(server.cluster!.id, {
      role: 'os:admin',
      lifetimeMs: credentialsLifetimeMs,
    })
    if (!keys)
      throw new Problem('server_not_in_cluster', `The cluster of ${server.name} has no credentials`)
    return (await servers.connection(server.id)).secure(keys, act, { signal, deadlineMs })
  }

  /**
   * Whether the machine runs the configuration, is restarting into it, or runs another one. Images
   * are compared as well, although they are no drift.
   */
  const placeOf = async (
    server: ServerFacts,
    yaml: string,
    found: Found,
  ): Promise<'held' | 'restarting' | 'other'> => {
    const equals = async (text: string): Promise<boolean> => {
      if (text === yaml) return true
      const { same, images } = await read(
        sentBy(server.id),
        'difference',
        yaml,
        text,
        talosOf(server),
      )
      return same && images === null
    }
    if (!(await equals(found.stored))) return 'other'
    return (await equals(found.active)) ? 'held' : 'restarting'
  }

  /** Records drift. Changed images are adopted, so a retry keeps them. */
  const changedByOthers = async (client: TalosClient, server: ServerFacts, isImages: boolean) => {
    await drift.look(client, server)
    const what = isImages ? 'Images' : 'The configuration'
    const next = isImages
      ? 'were changed outside of Steelyard: retry'
      : 'was changed outside of Steelyard: keep or overwrite the changes, then retry'
    return { kind: 'changed' as const, reason: `${what} of ${server.name} ${next}` }
  }

  const talosOf = (server: ServerFacts): string => server.talos_version ?? 'v1.13.0'

  return {
    /**
     * Merges and compares, and asks the machine for a dry run. @throws Problem `invalid` if Talos's
     * rules refuse the result; config_drifted
     */
    async rehearse(nodeId: string, set: PatchSet): Promise<Rehearsal> {
      const server = await factsOf(db, nodeId)
      const { yaml: base, context, isReal } = await baseOf(server)
      const stored = await store.ofServer(db, nodeId)
      const { rows, more } = afterwards(stored, set)
      for (const { name, body } of set.patches) {
        const [first] = await read(ours, 'check', body, context.talosVersion)
        if (first) throw new Problem('invalid', `${name}: ${sentenceOf(first)}`)
      }
      const merged = await read(ours, 'preview', {
        base,
        talosVersion: context.talosVersion,
        without: layersOf(server, context, stored),
        with: layersOf(server, context, rows, more),
        patch: { name: '', body: set.patches.map((p) => p.body).join('\n---\n') },
        audience: 'everybody',
        links: server.hardware && server.links.map((l) => l.name),
      })
      const [error] = merged.errors
      if (error)
        throw new Problem(
          'invalid',
          `The configuration of ${server.name} is refused: ${sentenceOf(error)}`,
        )
      if (server.cluster) await drift.demandNone(server)
      const shown = unifiedDiff(merged.before, merged.after)
      const isSame = Object.values(changesOf(stored, set)).every((list) => list.length === 0)
      return {
        diff:
          shown !== '' || isSame
            ? shown
            : '# Only secrets change, or the order of patches: the shown configuration stays the same\n',
        verdict: await verdict(server, merged.yaml, { isReal, mayAsk: true }),
        warnings: warnings(
          server,
          [
            ...new Set([...rows, ...more].flatMap((p) => ('links' in p ? p.links : []))),
            ...merged.links,
          ],
          merged.missing,
        ),
      }
    },

    /** Whether the set changes the patches of the server. */
    changes: async (nodeId: string, set: PatchSet): Promise<boolean> =>
      Object.values(changesOf(await store.ofServer(db, nodeId), set)).some(
        (list) => list.length > 0,
      ),

    /**
     * Prepares a newest generation with these changes. `noChange`: with the server's patches as
     * they are and its current images.
     */
    prepare: (tx: Tx, clusterId: string, nodeId: string, set: PatchSet = noChange) =>
      access.renderWith(tx, clusterId, nodeId, set),

    /** Requests a dry run of the newest generation from the machine. Changes nothing. */
    async tryNewest(
      nodeId: string,
      signal: AbortSignal,
    ): Promise<Delivery | { readonly kind: 'ready'; readonly reboots: boolean }> {
      const server = await factsOf(db, nodeId)
      try {
        return await secure(
          server,
          async (client) => {
            const judged = await drift.judge(client, server)
            if (!judged)
              return { kind: 'silent', reason: `${server.name} has no configuration of Steelyard` }
            const { yaml } = judged.configs.newest
            const place = await placeOf(server, yaml, judged.found)
            if (place !== 'other') return { kind: place }
            if (!judged.same || judged.images !== null)
              return changedByOthers(client, server, judged.same)
            const { mode } = await client.applyConfiguration(yaml, { mode: 'auto', dryRun: true })
            return { kind: 'ready', reboots: mode === 'reboot' }
          },
          signal,
        )
      } catch (error) {
        return undelivered(server, error, signal)
      }
    },

    /**
     * Sends the machine its newest generation, unless it has it. `mayReboot`: the machine was
     * drained; otherwise Talos must apply the configuration without a restart. `also` runs in the
     * transaction that records that the machine has it.
     */
    async deliver(
      job: Job,
      nodeId: string,
      { mayReboot, also }: { mayReboot: boolean; also?: (tx: Tx) => Promise<void> },
    ): Promise<Delivery> {
      const server = await factsOf(db, nodeId)
      const clusterId = server.cluster!.id
      const hold = (generation: number, after: object | null) =>
        job.fence.write(async (tx) => {
          await outside.noteHeld(tx, clusterId, nodeId, generation)
          await servers.noteDrift(tx, nodeId, null)
          await also?.(tx)
          if (after !== null)
            await record(tx, system, {
              action: 'server.configured',
              target: { kind: 'server', id: nodeId, name: server.name },
              after,
            })
        })
      try {
        return await secure(
          server,
          async (client): Promise<Delivery> => {
            const judged = await drift.judge(client, server)
            if (!judged)
              return { kind: 'silent', reason: `${server.name} has no configuration of Steelyard` }
            const { yaml, generation } = judged.configs.newest
            const place = await placeOf(server, yaml, judged.found)
            if (place !== 'other') {
              // The machine also has it after an earlier attempt whose answer was lost.
              await hold(generation, null)
              return { kind: place }
            }
            if (!judged.same || judged.images !== null)
              return changedByOthers(client, server, judged.same)
            const { mode, warnings: said } = await job.effect(`configure/${nodeId}`, () =>
              client.applyConfiguration(
                yaml,
                { mode: mayReboot ? 'auto' : 'no-reboot' },
                { deadlineMs: callDeadlineMs },
              ),
            )
            await hold(generation, { mode, warnings: said })
            return { kind: 'sent', reboots: mode === 'reboot' }
          },
          job.signal,
          callDeadlineMs,
        )
      } catch (error) {
        return undelivered(server, error, job.signal)
      }
    },

    /**
     * Null if the machine runs its newest generation and has started, else what it is waiting for.
     */
    async whyNotRunning(nodeId: string, signal: AbortSignal): Promise<string | null> {
      const server = await factsOf(db, nodeId)
      const configs = await outside.configs(db, server.cluster!.id, nodeId)
      try {
        return await secure(
          server,
          async (client) => {
            const [found, { stage }] = [await readFound(client), await readStage(client)]
            const place = await placeOf(server, configs!.newest.yaml, found)
            if (place === 'other')
              return `${server.name} does not have the configuration that was sent`
            if (place === 'restarting') return `${server.name} restarts to apply its configuration`
            return stage === 'running' ? null : `${server.name} is ${stage.replace('_', ' ')}`
          },
          signal,
        )
      } catch (error) {
        return undelivered(server, error, signal).reason
      }
    },

    /**
     * Saves the patches of the set on the server. `by`: the name of who requested it. Safe to
     * repeat: patches that are saved already stay as they are.
     */
    async save(tx: Tx, nodeId: string, set: PatchSet, by: string | null): Promise<void> {
      const { added, updated, removed } = changesOf(await store.ofServer(tx, nodeId), set)
      if (added.length + updated.length + removed.length === 0) return
      const at = new Date(clock.now())
      const target = { kind: 'server', id: nodeId } as const
      for (const patch of added) {
        const links = await read(ours, 'links', patch.body)
        const made = await store.insert(
          tx,
          nodeId,
          { ...patch, links, created_by_name: by ?? callerName(system) },
          at,
        )
        await record(tx, system, {
          action: 'patch.created',
          target,
          after: audited(made),
          event: { version: made.version, object: { kind: 'patch', id: made.id } },
        })
      }
      for (const { row, patch } of updated) {
        const after = await store.update(
          tx,
          row,
          { ...patch, links: await read(ours, 'links', patch.body) },
          at,
        )
        const event = { version: after.version, object: { kind: 'patch', id: row.id } } as const
        await record(tx, system, {
          action: 'patch.updated',
          target,
          before: audited(row),
          after: audited(after),
          event,
        })
      }
      for (const row of removed) {
        await store.remove(tx, row.id)
        await record(tx, system, {
          action: 'patch.removed',
          target,
          before: audited(row),
          event: { version: row.version, object: { kind: 'patch', id: row.id } },
        })
      }
      await servers.patched(tx, system, nodeId, await store.sums(tx, nodeId))
    },
  }
}

/** The result for an error of the machine. Throws other errors again. */
function undelivered(
  server: ServerFacts,
  error: unknown,
  signal: AbortSignal,
): { kind: 'refused' | 'needs_reboot' | 'silent'; reason: string } {
  if (signal.aborted || !(error instanceof TalosError || error instanceof Problem)) throw error
  if (!(error instanceof TalosError) || error.kind !== 'invalid_argument')
    return { kind: 'silent', reason: `${server.name} does not answer: ${error.message}` }
  // Talos `v1alpha1_server.go`, CanApplyImmediate.
  if (error.message.includes('in immediate mode'))
    return {
      kind: 'needs_reboot',
      reason: `${server.name} must restart to apply its configuration, which the plan did not say: make a new plan`,
    }
  return { kind: 'refused', reason: `${server.name} refuses the configuration: ${error.message}` }
}

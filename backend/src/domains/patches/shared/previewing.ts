/** Shows what a shared patch would change on its servers before it is saved. */
import { isDeepStrictEqual } from 'node:util'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import {
  type sharedPatchPreview,
  type SharedPatchPreview,
  sharedPatchLimits,
} from '#contract/shared-patches/shared-patches.ts'
import { count } from '#contract/words.ts'
import { isForNow } from '../../../for-now.ts'
import type { For } from '../../../reading/asker.ts'
import {
  type Beside,
  missingLink,
  type Rehearsal,
  type SharedChange,
} from '../../configurations/api.ts'
import { audienceOf } from '../parts.ts'
import { changedLines } from './likeness.ts'
import { demandTargets, exampleOf, type FilledFor, type FilledServer } from './filling.ts'
import type { SharedParts } from './parts.ts'
import { passing } from '../../../slices.ts'
import { isTargetOf } from './selecting.ts'
import { inRollOutOrder, type TargetServer } from './targets.ts'

/** How many servers make a dry run at once. */
const atOnce = 8

type Tried =
  | { readonly rehearsal: Rehearsal; readonly filled: Readonly<Record<string, string>> }
  | { readonly refused: string; readonly isForNow?: true }
  | 'unchanged'

/** @throws Problem invalid if these are more than a preview or a roll-out takes */
export function demandFew(servers: readonly unknown[]): void {
  if (servers.length <= sharedPatchLimits.servers) return
  throw new Problem(
    'invalid',
    `These are ${count(servers.length)} servers, and at most ${sharedPatchLimits.servers} are changed at once: narrow the targets, or name the servers`,
  )
}

export function previewing(parts: SharedParts) {
  const { db, store, servers, configurations, patches, filling } = parts

  const tryOn = async (
    { id }: TargetServer,
    change: SharedChange,
    filled: Readonly<Record<string, string>>,
    beside: readonly Beside[] = [],
  ): Promise<Tried> => {
    const set = { patches: [], remove: [], shared: [change] }
    try {
      if (!(await patches.changes(id, set))) return 'unchanged'
      const rehearsal = await configurations.rehearse(id, set, { beside })
      const { kind, reason } = rehearsal.verdict
      const missing = missingLink(rehearsal)
      if (missing !== null) return { refused: missing }
      if (kind === 'not_allowed') return { refused: `Talos refuses it: ${reason}` }
      return kind === 'unknown' ? { refused: reason, isForNow: true } : { rehearsal, filled }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { refused: error.message, ...(isForNow(error) && { isForNow: true as const }) }
    }
  }

  return {
    /** @throws Problem not_found, invalid */
    async preview(
      who: For,
      { id, body: typed, ...asked }: Input<typeof sharedPatchPreview>['body'],
    ): Promise<SharedPatchPreview> {
      const saved = id === undefined ? undefined : await store.one(db, id)
      if (id !== undefined && !saved)
        throw new Problem('not_found', 'There is no such shared patch')
      if (!isDeepStrictEqual(asked.targets, saved?.targets)) demandTargets(asked.targets)
      const body = saved
        ? await filling.unmasked(who, typed, saved.body, audienceOf(who.caller))
        : typed
      filling.demandKnown(body)
      if (body !== saved?.body) filling.demandFewVariables(body)
      const all = await store.servers(db)
      const isTarget = isTargetOf(asked.targets)
      const held = new Set(
        saved ? (await store.held(db, { patch: saved.id })).map((row) => row.server_id) : [],
      )
      const targets = inRollOutOrder(await passing(all, isTarget))
      const losing = inRollOutOrder(await passing(all, (one) => held.has(one.id) && !isTarget(one)))
      demandFew([...targets, ...losing])
      const facts = new Map(
        (
          await servers.forPlan(
            db,
            targets.map((one) => one.id),
          )
        ).map((one) => [one.id, one]),
      )
      const filled = await filling.fillFor({ ...asked, body }, 0, targets, facts)
      await filling.demandBody(who, body, exampleOf(filled))

      const patch_id = saved?.id ?? unsaved
      const waiting = [
        ...filled.map((one) => ({
          server: one.server,
          run: async (): Promise<Tried> =>
            'layer' in one
              ? tryOn(
                  one.server,
                  { patch_id, layer: await one.layer() },
                  one.values,
                  besideOf(filled, one),
                )
              : { refused: one.refused },
        })),
        ...losing.map((server) => ({
          server,
          run: () => tryOn(server, { patch_id, layer: null }, {}),
        })),
      ]
      const order = waiting.map(({ server }) => server)
      const tried = new Map<string, Tried>()
      const worker = async (): Promise<void> => {
        for (let one = waiting.shift(); one; one = waiting.shift()) {
          who.signal?.throwIfAborted()
          tried.set(one.server.id, await one.run())
        }
      }
      await Promise.all(Array.from({ length: atOnce }, worker))
      return grouped(order, tried)
    },
  }
}

/** How many other servers of the patch are looked at, for what two may not have. */
const mostBeside = 20

/**
 * What the patch gives other servers of the same datacenter or cluster: the same address or key is
 * no mistake elsewhere.
 */
function besideOf(filled: readonly FilledFor[], { server: own }: FilledServer): Beside[] {
  const beside: Beside[] = []
  for (const one of filled) {
    if (beside.length === mostBeside) break
    if (!('text' in one) || one.server.id === own.id) continue
    const { name, datacenter_id: datacenter, cluster_id: cluster } = one.server
    if (datacenter === own.datacenter_id || (cluster !== null && cluster === own.cluster_id))
      beside.push({ by: name, body: one.text() })
  }
  return beside
}

/** Id of a patch that is not saved yet. */
const unsaved = '00000000-0000-0000-0000-000000000000'

const effectOf = ({ verdict: { kind } }: Rehearsal) =>
  kind === 'at_install' || kind === 'reboot' ? kind : 'no_reboot'

function grouped(
  order: readonly TargetServer[],
  tried: ReadonlyMap<string, Tried>,
): SharedPatchPreview {
  const groups = new Map<string, SharedPatchPreview['groups'][number]>()
  const refused: SharedPatchPreview['refused'] = []
  const losses: SharedPatchPreview['losses'] = []
  let unchanged = 0
  for (const { id, name } of order) {
    const one = tried.get(id)!
    const server = { id, name }
    if (one === 'unchanged') unchanged++
    else if ('refused' in one)
      refused.push({ server, reason: one.refused, ...(one.isForNow && { for_now: true as const }) })
    else {
      const { rehearsal, filled } = one
      const effect = effectOf(rehearsal)
      const lines = changedLines(rehearsal.diff, filled)
      const key = JSON.stringify([effect, lines])
      const group = groups.get(key) ?? {
        servers: [],
        lines,
        example: rehearsal.diff,
        effect,
        warnings: [],
      }
      groups.set(key, group)
      group.servers.push(server)
      for (const { message } of rehearsal.warnings)
        if (!group.warnings.includes(message) && group.warnings.length < mostWarnings)
          group.warnings.push(message)
      losses.push(...rehearsal.losses)
    }
  }
  return {
    servers: order.length,
    unchanged,
    groups: [...groups.values()].toSorted((a, b) => b.servers.length - a.servers.length),
    refused,
    losses,
  }
}
const mostWarnings = 20

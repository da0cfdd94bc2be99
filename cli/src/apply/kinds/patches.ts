import type { PatchDocument } from '#contract/apply/documents.ts'
import { type Patch, patchCreate, patchMask, patchRemove, patchUpdate } from '#contract/patches.ts'
import { queryOfLoss } from '#contract/servers/losses.ts'
import type { Server } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import type { Placed } from '../files.ts'
import {
  bodyOf,
  changesOf,
  fieldsOf,
  keyOf,
  planner,
  type Planning,
  planRemoval,
  planUpdate,
  ranks,
  refuse,
  type Step,
} from '../plan.ts'
import { isFreed, serverFinder } from '../servers.ts'
import { type PatchWish, planRollOuts, runningClusterOf } from '../running/patches.ts'
import { withLosses } from '../../commands/confirm-loss.ts'

const nameOf = ({ server, name }: Pick<PatchDocument, 'server' | 'name'>): string =>
  `${name} of ${server}`

/** The text without the line break at its end, which editors add and remove. */
const trimmed = (body: string): string => body.replace(/\n$/, '')

/**
 * Compares a text with the masked text of the API. `hidden`: they differ at most in the masked
 * values, which nobody can compare. Looks for the parts between the masks one after the other, so
 * it takes linear time.
 */
export function compareMasked(wanted: string, masked: string): 'equal' | 'hidden' | 'different' {
  const [text, shown] = [trimmed(wanted), trimmed(masked)]
  if (text === shown) return 'equal'
  const parts = shown.split(patchMask)
  if (parts.length === 1) return 'different'
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return 'different'
  const end = text.length - last.length
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found < 0 || found + part.length > end) return 'different'
    at = found + part.length
  }
  return 'hidden'
}

const inCluster = (planning: Planning, server: Server): string | undefined =>
  server.cluster === null || isFreed(planning, server)
    ? undefined
    : `the server is in the cluster ${server.cluster.name}, so the change is applied at once and may reboot it`

/** Whether the patches of the server are a change of its cluster, which runs and keeps it. */
const rollsOut = async (planning: Planning, server: Server): Promise<boolean> =>
  !isFreed(planning, server) && (await runningClusterOf(planning, server)) !== null

/** What a document asks for; null if the patch is as it says. Adds what can't be done. */
function wishOf(
  planning: Planning,
  placed: Placed<PatchDocument>,
  server: Server,
  known: Patch | undefined,
): PatchWish | null {
  const { document } = placed
  const { kind: _kind, server: _server, ...patch } = document
  const body = known ? compareMasked(patch.body, known.body) : 'different'
  const changes = known
    ? changesOf(
        { ...known },
        {
          weight: patch.weight,
          labels: patch.labels,
          ...(body !== 'equal' && { body: patch.body }),
        },
      )
    : fieldsOf(document).filter(({ field }) => field === 'body')
  if (known) planning.described.add(keyOf('patch', known.patch_id))
  if (changes.length === 0) {
    planning.plan.unchanged++
    return null
  }
  return { server, name: document.name, patch, placed, changes }
}

function planOne(
  planning: Planning,
  placed: Placed<PatchDocument>,
  server: Server,
  known: Patch | undefined,
): void {
  const { document } = placed
  const { kind: _kind, server: _server, ...patch } = document
  const note = inCluster(planning, server)
  const step = {
    kind: 'patch',
    name: nameOf(document),
    placed,
    rank: ranks.patch,
    ...(note !== undefined && { note }),
  } as const satisfies Partial<Step>
  const push = (
    does: Step['does'],
    changes: Step['changes'],
    run: Step['run'],
    more: Partial<Step> = {},
  ) => void planning.plan.steps.push({ ...step, does, changes, run, ...more })
  if (!known) {
    if (document.body.includes(patchMask))
      return refuse(
        planning,
        placed,
        `body: ${patchMask} stands for a secret that this installation does not have. Enter the secret itself`,
        'body',
      )
    return push(
      'create',
      fieldsOf(document),
      async (run) =>
        void (await withLosses(run.context, run.confirmedLoss, (losses) =>
          run.call(patchCreate, { params: { id: server.id }, body: { ...patch, ...losses } }),
        )),
    )
  }
  planning.described.add(keyOf('patch', known.patch_id))
  const params = { id: server.id, patchId: known.patch_id }
  const body = compareMasked(patch.body, known.body)
  const changes = changesOf(
    { ...known },
    {
      weight: patch.weight,
      labels: patch.labels,
      ...(body === 'different' && { body: patch.body }),
    },
  )
  if (body === 'hidden')
    return push(
      changes.length > 0 ? 'update' : 'send',
      changes,
      async (run) =>
        void (await withLosses(run.context, run.confirmedLoss, (losses) =>
          run.call(
            patchUpdate,
            { params, body: { ...bodyOf(changes), body: patch.body, ...losses } },
            known.version,
          ),
        )),
      {
        note: [
          'its secrets cannot be compared, so they are sent again',
          ...(note === undefined ? [] : [note]),
        ].join('; '),
      },
    )
  return planUpdate(planning, { ...step, changes }, async (run) => {
    await withLosses(run.context, run.confirmedLoss, (losses) =>
      run.call(patchUpdate, { params, body: { ...bodyOf(changes), ...losses } }, known.version),
    )
  })
}

/** How many servers' patches are read at once. */
const atOnce = 8

/** The patches of servers, in the order of the servers. */
async function patchesOf(
  planning: Pick<Planning, 'world'>,
  ids: readonly string[],
): Promise<Map<string, Patch[]>> {
  const patches = new Map<string, Patch[]>()
  for (let from = 0; from < ids.length; from += atOnce) {
    const some = ids.slice(from, from + atOnce)
    const read = await Promise.all(some.map((id) => planning.world.patchesOf(id)))
    for (const [i, id] of some.entries()) patches.set(id, read[i]!)
  }
  return patches
}

export const patches = planner<PatchDocument>({
  kind: 'patch',
  appliedKind: 'patch',
  nameOf,

  async plan(planning, placed) {
    if (placed.length === 0) return
    const find = await serverFinder(planning)
    const found = placed.map((one) => ({ one, server: find(one.document.server) }))
    const ids = new Set(
      found.flatMap(({ server }) => (server && 'server' in server ? [server.server.id] : [])),
    )
    const known = await patchesOf(planning, [...ids])
    const wishes: PatchWish[] = []
    for (const { one, server } of found) {
      const { document } = one
      if (server === null)
        refuse(
          planning,
          one,
          `There is no server ${document.server}, and no document gives a server this name`,
          'server',
        )
      else if ('waiting' in server)
        planning.plan.waiting.push({
          kind: 'patch',
          name: nameOf(document),
          placed: one,
          reason: server.waiting,
        })
      else {
        const there = known.get(server.server.id)!.find(({ name }) => name === document.name)
        // Only the server can put the stored secret in the place of a mask.
        const isMasked = there !== undefined && document.body.includes(patchMask)
        if (isMasked || !(await rollsOut(planning, server.server)))
          planOne(planning, one, server.server, there)
        else wishes.push(...[wishOf(planning, one, server.server, there)].filter((w) => w !== null))
      }
    }
    await planRollOuts(planning, wishes)
  },

  async prune(planning, applied) {
    if (applied.length === 0) return
    const servers = new Map((await planning.world.servers()).map((s) => [s.id, s]))
    const ids = [
      ...new Set(
        applied.flatMap(({ server_id }) =>
          server_id !== null && servers.has(server_id) ? [server_id] : [],
        ),
      ),
    ]
    const known = await patchesOf(planning, ids)
    const wishes: PatchWish[] = []
    for (const { id, server_id } of applied) {
      const server = server_id === null ? undefined : servers.get(server_id)
      const patch = server && known.get(server.id)!.find(({ patch_id }) => patch_id === id)
      if (!server || !patch) continue
      if (await rollsOut(planning, server)) {
        const lines = counted(trimmed(patch.body).split('\n').length, 'line')
        const changes = [{ field: 'body', before: lines, after: null }]
        wishes.push({ server, name: patch.name, patch: null, placed: null, changes })
        continue
      }
      const note = inCluster(planning, server)
      planRemoval(planning, {
        kind: 'patch',
        name: nameOf({ server: server.name, name: patch.name }),
        ...(note !== undefined && { note }),
        rank: ranks.patchRemove,
        run: async (run) =>
          withLosses(run.context, run.confirmedLoss, ({ confirmed_loss = [] }) =>
            run.call(patchRemove, {
              params: { id: server.id, patchId: id },
              query: queryOfLoss(confirmed_loss),
            }),
          ),
      })
    }
    await planRollOuts(planning, wishes)
  },

  async export(world, tell) {
    const servers = (await world.servers()).toSorted((a, b) => a.name.localeCompare(b.name))
    const known = await patchesOf(
      { world },
      servers.map((s) => s.id),
    )
    return servers.flatMap((server) =>
      known.get(server.id)!.map(({ name, weight, labels, body }): PatchDocument => {
        if (body.includes(patchMask))
          tell(
            `The patch ${name} of ${server.name} has secrets, which are masked: enter them before you apply it elsewhere`,
          )
        return { kind: 'patch', server: server.name, name, weight, labels, body }
      }),
    )
  },
})

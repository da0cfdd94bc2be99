/** Shared patches in files. Saving one sends nothing; `roll_out: true` rolls it out as well. */
import type { ClusterDocument, SharedPatchDocument } from '#contract/apply/documents.ts'
import { patchMask } from '#contract/patches.ts'
import {
  type SharedPatch,
  sharedPatchCreate,
  sharedPatchGet,
  sharedPatchPreview,
  type SharedPatchPreview,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchServers,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { counted } from '#contract/words.ts'
import { withLosses } from '../../commands/confirm-loss.ts'
import { CliError } from '../../exit.ts'
import type { Placed } from '../files.ts'
import {
  type Change,
  changesOf,
  documentsOf,
  fieldsOf,
  keyOf,
  planner,
  type Planning,
  planRemoval,
  ranks,
  refuse,
  type Run,
  type Step,
} from '../plan.ts'
import { openOperations, openText } from '../running/start.ts'
import { serverFinder } from '../servers.ts'
import type { World } from '../world.ts'
import { compareMasked } from './patches.ts'

type Targets = SharedPatchDocument['targets']
type One = Placed<SharedPatchDocument>

/** The targets with names in place of ids. Objects that are gone are left out. */
async function named(world: World, { targets }: SharedPatch): Promise<Targets> {
  const names = (all: readonly { id: string; name: string }[], ids: readonly string[]) =>
    ids.flatMap((id) => all.find((one) => one.id === id)?.name ?? [])
  return {
    labels: targets.labels,
    clusters: names(await world.clusters(), targets.cluster_ids),
    roles: targets.roles,
    servers: names(await world.servers(), targets.node_ids),
  }
}

async function resolved(
  { labels, clusters, roles, servers }: Targets,
  idOf: (kind: 'cluster' | 'server', name: string) => Promise<string>,
): Promise<SharedPatch['targets']> {
  const [cluster_ids, node_ids]: [string[], string[]] = [[], []]
  for (const name of clusters) cluster_ids.push(await idOf('cluster', name))
  for (const name of servers) node_ids.push(await idOf('server', name))
  return { labels, cluster_ids, roles, node_ids }
}

/**
 * The ids of the targets; `later` if one of them exists only after the run. Adds the problems, and
 * the document if it waits for a server.
 */
async function targetsNow(
  planning: Planning,
  placed: One,
): Promise<SharedPatch['targets'] | 'later' | 'refused'> {
  const { world, defined, referred, plan } = planning
  const { targets, canary, name } = placed.document
  const find = await serverFinder(planning)
  let state: 'now' | 'later' | 'refused' = 'now'
  const demand = (kind: string, missing: string, ...path: string[]) => {
    state = 'refused'
    refuse(
      planning,
      placed,
      `There is no ${kind} ${missing}, and no document describes it`,
      ...path,
    )
  }
  const clusters = new Map((await world.clusters()).map((c) => [c.name, c.id]))
  for (const [i, cluster] of targets.clusters.entries()) {
    const key = keyOf('cluster', cluster)
    if (!referred.has(key)) referred.set(key, placed)
    if (clusters.has(cluster)) continue
    if (!defined.has(key)) demand('cluster', cluster, 'targets', 'clusters', String(i))
    else if (state === 'now') state = 'later'
  }
  const servers = new Map<string, string>()
  for (const server of new Set([...targets.servers, ...(canary === undefined ? [] : [canary])])) {
    const found = find(server)
    if (found === null)
      demand('server', server, ...(server === canary ? ['canary'] : ['targets', 'servers']))
    else if ('server' in found) servers.set(server, found.server.id)
    else {
      state = 'refused'
      plan.waiting.push({ kind: 'shared-patch', name, placed, reason: found.waiting })
    }
  }
  return state === 'now'
    ? resolved(targets, async (kind, one) => (kind === 'cluster' ? clusters : servers).get(one)!)
    : state
}

/** Whether lines of the run before this one decide which servers the patch is for. */
const changesTargets = ({ plan }: Planning): boolean =>
  plan.steps.some(
    ({ kind, rank, changes }) =>
      (kind === 'server' && changes.some(({ field }) => field !== 'datacenter')) ||
      (kind === 'cluster' && membership.has(rank)),
  )
const membership: ReadonlySet<number> = new Set([ranks.clusterRemove, ranks.cluster, ranks.change])

/**
 * The differences on the servers as they are now; null if an earlier line of the run decides them.
 * Adds the servers that would refuse a roll-out as problems.
 */
async function previewOf(
  planning: Planning,
  placed: One,
  known: SharedPatch | undefined,
  targets: SharedPatch['targets'] | 'later',
): Promise<SharedPatchPreview | null | 'refused'> {
  if (targets === 'later' || changesTargets(planning)) return null
  const { name, weight, body, roll_out } = placed.document
  try {
    const preview = await planning.context.api.call(sharedPatchPreview, {
      body: { ...(known && { id: known.id }), name, weight, body, targets },
    })
    // The roll-out waits for a server that only doesn't answer now.
    const refused = preview.refused.filter((one) => one.for_now !== true)
    if (!roll_out || refused.length === 0) return preview
    for (const { server, reason } of refused)
      refuse(planning, placed, `${server.name} refuses it: ${reason}`, 'body')
  } catch (error) {
    if (!(error instanceof CliError) || error.body?.code !== 'invalid') throw error
    refuse(planning, placed, error.message, 'body')
  }
  return 'refused'
}

/** Rolls the patch out to the servers that are behind by then. */
async function rollOut(
  run: Run,
  id: string,
  canary: string | undefined,
): Promise<'begun' | 'done'> {
  const shared = await run.call(sharedPatchGet, { params: { id } })
  if (shared.servers.behind === 0) return 'done'
  const { items } = await run.call(sharedPatchServers, { params: { id } })
  // An earlier roll-out may have changed the canary already.
  const first = items.find(({ server, state }) => server.name === canary && state !== 'current')
  const { operation } = await withLosses(run.context, run.confirmedLoss, (losses) =>
    run.call(
      sharedPatchRollOut,
      {
        params: { id },
        body: {
          ...(first && { canary_id: first.server.id }),
          in_window: run.start?.in_window === true,
          ...losses,
        },
      },
      shared.version,
    ),
  )
  if (!run.waits) return 'begun'
  await run.wait(operation.id)
  return 'done'
}

/** What the document changes of the saved patch. */
async function differences(
  planning: Planning,
  { document }: One,
  known: SharedPatch,
): Promise<{ changes: Change[]; isHidden: boolean }> {
  const { weight, targets, body } = document
  const text = compareMasked(body, known.body)
  return {
    isHidden: text === 'hidden',
    changes: [
      ...changesOf({ ...known }, { weight, ...(text === 'different' && { body }) }),
      ...changesOf(await named(planning.world, known), targets).map((change) => ({
        ...change,
        field: `targets.${change.field}`,
      })),
    ],
  }
}

async function planOne(
  planning: Planning,
  placed: One,
  known: SharedPatch | undefined,
): Promise<void> {
  const { document } = placed
  const { plan } = planning
  const { name, weight, body, targets, roll_out, canary } = document
  if (known) planning.described.add(keyOf('shared_patch', known.id))
  else if (body.includes(patchMask))
    return refuse(
      planning,
      placed,
      `body: ${patchMask} stands for a secret that this installation does not have. Enter the secret itself`,
      'body',
    )
  const now = await targetsNow(planning, placed)
  if (now === 'refused') return
  const { changes, isHidden } = known
    ? await differences(planning, placed, known)
    : {
        changes: fieldsOf(document).filter((c) => c.field !== 'roll_out' && c.field !== 'canary'),
        isHidden: false,
      }
  const isSaved = known !== undefined && changes.length === 0 && !isHidden
  const isCurrent = isSaved && known.servers.behind === 0
  const rolls = roll_out && (!isCurrent || changesTargets(planning))
  if (isSaved && !rolls) {
    plan.unchanged++
    return
  }
  const [open] = known ? await openOperations(planning.context.api, known.id) : []
  if (open) {
    const reason = `${openText(open)}. Apply again when it has ended, or use --wait`
    plan.waiting.push({ kind: 'shared-patch', name, placed, reason })
    return
  }
  const preview = await previewOf(planning, placed, known, now)
  if (preview === 'refused') return
  const step = { kind: 'shared-patch', name, placed } as const satisfies Partial<Step>
  const shown =
    preview === null
      ? { note: 'what it changes on servers is known after the lines above' }
      : { preview }
  let id = known?.id
  if (!isSaved)
    plan.steps.push({
      ...step,
      rank: ranks.sharedPatch,
      does: known ? (changes.length > 0 ? 'update' : 'send') : 'create',
      changes,
      ...(isHidden && { note: 'its secrets cannot be compared, so they are sent again' }),
      ...(!rolls && shown),
      async run(run) {
        const ids = await resolved(targets, (kind, one) => run.idOf(kind, one))
        const wanted = { weight, body, targets: ids }
        if (known)
          await run.call(
            sharedPatchUpdate,
            { params: { id: known.id }, body: wanted },
            known.version,
          )
        else id = (await run.call(sharedPatchCreate, { body: { name, ...wanted } })).id
      },
    })
  if (rolls)
    plan.steps.push({
      ...step,
      rank: ranks.rollOut,
      does: 'update',
      changes: [
        {
          field: 'roll_out',
          before: known ? `${counted(known.servers.behind, 'server')} behind` : null,
          after: canary === undefined ? 'one server after another' : `${canary} first`,
        },
      ],
      ...shown,
      async run(run) {
        // A cluster that is being created or changed refuses other changes.
        for (const { document: of } of documentsOf<ClusterDocument>(planning, 'cluster'))
          await run.waitForCluster(of.name)
        return rollOut(run, id!, canary)
      },
    })
}

export const sharedPatches = planner<SharedPatchDocument>({
  kind: 'shared-patch',
  appliedKind: 'shared_patch',
  nameOf: ({ name }) => name,

  async plan(planning, placed) {
    if (placed.length === 0) return
    const now = new Map((await planning.world.sharedPatches()).map((p) => [p.name, p]))
    for (const one of placed) await planOne(planning, one, now.get(one.document.name))
  },

  async prune(planning, applied) {
    if (applied.length === 0) return
    const now = new Map((await planning.world.sharedPatches()).map((p) => [p.id, p]))
    for (const { id } of applied) {
      const known = now.get(id)
      if (!known) continue
      const { name } = known
      const { items } = await planning.context.api.call(sharedPatchServers, { params: { id } })
      const held = items.filter(({ revision }) => revision !== null).length
      if (held > 0)
        planning.plan.withheld.push(
          `The shared patch ${name} is in no document, but ${counted(held, 'server')} ${held === 1 ? 'has' : 'have'} it. Roll it out with targets: {} first, or undo its roll-out`,
        )
      else
        planRemoval(planning, {
          kind: 'shared-patch',
          name,
          rank: ranks.patchRemove,
          run: async (run) => run.call(sharedPatchRemove, { params: { id } }, known.version),
        })
    }
  },

  async export(world, tell) {
    const documents: object[] = []
    for (const shared of await world.sharedPatches()) {
      const { name, weight, body } = shared
      if (body.includes(patchMask))
        tell(
          `The shared patch ${name} has secrets, which are masked: enter them before you apply it elsewhere`,
        )
      const targets = Object.fromEntries(
        Object.entries(await named(world, shared)).filter(([, list]) => list.length > 0),
      )
      documents.push({ kind: 'shared-patch', name, weight, targets, body })
    }
    return documents
  },
})

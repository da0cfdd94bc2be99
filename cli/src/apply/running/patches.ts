/**
 * Patches of servers in a running cluster: they are a change of the cluster, which reaches one server
 * after the other through the checks, gates and windows of every change.
 */
import {
  changeOperations,
  type ClusterChangeInput,
  clusterPlan,
  type ClusterPlan,
} from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { canChangeHeld } from '#contract/clusters/files.ts'
import { kindTitles } from '#contract/operations.ts'
import type { NewPatch } from '#contract/patches.ts'
import type { Server } from '#contract/servers/servers.ts'
import { CliError } from '../../exit.ts'
import { grouped } from '../../grouped.ts'
import type { Placed } from '../files.ts'
import { type Change, mayWait, type Planning, ranks, refuse, type Step } from '../plan.ts'
import { beginChange, openOperations, openText, refusalOf } from './start.ts'

/** A patch that a server of a running cluster gets, or loses. */
export interface PatchWish {
  readonly server: Server
  readonly name: string
  /** The patch; null if it is removed. */
  readonly patch: NewPatch | null
  /** The document; null for a patch that no document describes any more. */
  readonly placed: Placed | null
  readonly changes: readonly Change[]
}

/** Most patches that a change may add, and most that it may remove. */
const mostPatches = 10

/** Patches that the same servers get. */
interface Group {
  readonly wishes: readonly PatchWish[]
  readonly change: ClusterChangeInput & { readonly kind: 'configure' }
}

const title = kindTitles[changeOperations.configure]

/** Wishes of servers that get the same patches are one change; workers are first in it. */
function groupsOf(cluster: Cluster, wishes: readonly PatchWish[]): Group[] {
  const place = new Map(
    cluster.servers.map(({ node_id, role }) => [node_id, role === 'worker' ? 0 : 1]),
  )
  const parts = [...grouped(wishes, ({ server }) => server.id).values()].flatMap((ofServer) => {
    const sorted = ofServer.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const count = Math.ceil(sorted.length / mostPatches)
    return Array.from({ length: count }, (_, at) => {
      const some = sorted.slice(at * mostPatches, (at + 1) * mostPatches)
      const set = {
        patches: some.flatMap(({ patch }) => patch ?? []),
        remove: some.flatMap(({ patch, name }) => (patch === null ? [name] : [])),
      }
      return { some, set, key: JSON.stringify([at, set]) }
    })
  })
  return [...grouped(parts, ({ key }) => key).values()].map((same) => ({
    wishes: same.flatMap(({ some }) => some),
    change: {
      kind: 'configure',
      ...same[0]!.set,
      node_ids: same
        .map(({ some }) => some[0]!.server.id)
        .toSorted((a, b) => (place.get(a) ?? 0) - (place.get(b) ?? 0)),
    },
  }))
}

const textOf = ({ name, server }: PatchWish): string => `patch ${name} of ${server.name}`

/** Whether the plan refuses the change only because the servers have the patches already. */
const isNothing = ({ checks }: ClusterPlan): boolean => {
  const failed = checks.filter((c) => !c.ok)
  return failed.length > 0 && failed.every((c) => c.check === 'changes')
}

function addStep(planning: Planning, cluster: Cluster, group: Group, plan: ClusterPlan): void {
  const { id, name } = cluster
  const { steps } = planning.plan
  const step: Step = {
    does: 'update',
    kind: 'cluster',
    name,
    placed: group.wishes[0]!.placed,
    rank: ranks.configure,
    changes: group.wishes.flatMap((wish) =>
      wish.changes.map((change) => ({
        ...change,
        field:
          change.before === null || change.after === null
            ? textOf(wish)
            : `${change.field} of the ${textOf(wish)}`,
      })),
    ),
    note: `${title}: one server after the other`,
    plan,
    async run(run) {
      await run.waitForCluster(name)
      // An earlier change of the cluster makes the plan that was shown another one.
      const first = steps
        .filter((s) => s.kind === 'cluster' && s.name === name && s.rank >= ranks.change)
        .toSorted((a, b) => a.rank - b.rank)[0]
      const isSeen = first === step && refusalOf(plan) === null
      return beginChange(run, { id, name }, group.change, isSeen ? plan.seen : null)
    },
  }
  steps.push(step)
}

/** A wish that can't be carried out. */
function fail(planning: Planning, { placed }: PatchWish, message: string): void {
  // A removal has no place in a file.
  if (!placed) throw new CliError('conflict', message, { hint: 'Nothing was changed' })
  refuse(planning, placed, message)
}

/** A wish that waits for an operation. */
function postpone({ plan }: Planning, wish: PatchWish, running: string): void {
  const { placed, name, server } = wish
  const reason = `${running}. Apply again when it has ended, or use --wait`
  if (placed)
    plan.waiting.push({ kind: 'patch', name: `${name} of ${server.name}`, placed, reason })
  else plan.notes.push(`${textOf(wish)} is not removed yet: ${reason}`)
}

async function planGroup(planning: Planning, cluster: Cluster, group: Group): Promise<void> {
  const { plan: all, context } = planning
  let plan: ClusterPlan
  try {
    plan = await context.api.call(clusterPlan, {
      params: { id: cluster.id },
      body: { change: group.change },
    })
  } catch (error) {
    if (!(error instanceof CliError) || error.body === undefined) throw error
    return fail(planning, group.wishes[0]!, error.message)
  }
  if (isNothing(plan)) {
    all.unchanged += group.wishes.length
    return
  }
  const refused = refusalOf(plan)
  if (refused === null || mayWait(planning, refused)) addStep(planning, cluster, group, plan)
  else fail(planning, group.wishes[0]!, `${title} of ${cluster.name}: ${refused.reason}`)
}

/** The running cluster of a server, whose patches are a change of the cluster. */
export async function runningClusterOf(
  { world }: Pick<Planning, 'world'>,
  { cluster }: Pick<Server, 'cluster'>,
): Promise<Cluster | null> {
  const found = cluster && (await world.clusters()).find((c) => c.id === cluster.id)
  return found && (found.status === 'ready' || found.status === 'degraded') ? found : null
}

/** Adds the changes of clusters that carry out the wishes, or the reasons why not. */
export async function planRollOuts(
  planning: Planning,
  wishes: readonly PatchWish[],
): Promise<void> {
  const clusters = new Map((await planning.world.clusters()).map((c) => [c.id, c]))
  for (const [id, some] of grouped(wishes, ({ server }) => server.cluster!.id)) {
    const cluster = clusters.get(id)!
    const held = canChangeHeld(cluster, planning.set)
    const [open] = await openOperations(planning.context.api, id)
    if (!held.ok) for (const wish of some) fail(planning, wish, held.reason)
    else if (open) for (const wish of some) postpone(planning, wish, openText(open))
    else for (const group of groupsOf(cluster, some)) await planGroup(planning, cluster, group)
  }
}

/** Makes the plan: what the documents ask for, compared with the installation. Changes nothing. */
import { type Applied, appliedMove, mostMoved } from '#contract/apply/applied.ts'
import { counted } from '#contract/words.ts'
import type { Context } from '../command.ts'
import { CliError } from '../exit.ts'
import { oneLine } from '../text.ts'
import type { Placed, Problem } from './files.ts'
import { kinds } from './kinds.ts'
import { keyOf, type Plan, type Planning, type PruneOptions } from './plan.ts'
import { openWorld } from './world.ts'

export interface PlanOptions {
  readonly set: string
  readonly prune: PruneOptions | null
  /** Names of the servers that may leave their clusters, which wipes them. */
  readonly removable?: readonly string[]
  readonly noSnapshot?: boolean
  readonly waits?: boolean
  readonly templates?: Planning['templates']
}

/** An object of another set that the documents describe: the run moves it to their set. */
export interface Moving {
  readonly objects: readonly Pick<Applied, 'kind' | 'id'>[]
  readonly from: readonly string[]
}

export interface WholePlan extends Plan {
  readonly set: string
  readonly moving: Moving
}

/**
 * The documents by kind and name, and a problem for each that has the kind and name of an earlier
 * one.
 */
function byName(documents: readonly Placed[]): {
  first: ReadonlyMap<string, Placed>
  problems: Problem[]
} {
  const first = new Map<string, Placed>()
  const problems: Problem[] = []
  for (const placed of documents) {
    const { document, file, line } = placed
    const name = kinds.find((k) => k.kind === document.kind)!.nameOf(document)
    const key = keyOf(document.kind, name)
    const earlier = first.get(key)
    if (earlier)
      problems.push({
        file,
        line,
        message: `${earlier.file}:${earlier.line} describes the same ${document.kind}`,
      })
    else first.set(key, placed)
  }
  return { first, problems }
}

/**
 * Problems with `--prune-cluster`: it removes only a cluster that an earlier `apply` of this set
 * has created, and that no document describes.
 */
function demandPruned({ plan, prune, set }: Planning): void {
  for (const name of prune?.clusters ?? []) {
    if (plan.steps.some((s) => s.kind === 'cluster' && s.does === 'remove' && s.name === name))
      continue
    throw new CliError('usage', `--prune-cluster ${oneLine(name)} removes nothing`, {
      hint: `It names a cluster that an earlier apply of the set ${set} has created, and that is in no document now`,
    })
  }
}

/** `--remove-server` names only servers that leave a cluster, so that a slip is noticed. */
function demandRemoved({ plan, removable }: Planning): void {
  const leaving = new Set(
    plan.steps.flatMap(({ changes, plan: change }) =>
      change?.kind === 'shrink' ? changes.map(({ field }) => field) : [],
    ),
  )
  const idle = [...removable].find((name) => !leaving.has(name))
  if (idle !== undefined && plan.problems.length === 0 && plan.waiting.length === 0)
    throw new CliError('usage', `--remove-server ${oneLine(idle)} removes nothing`, {
      hint: 'It names a server of a cluster whose document no longer names the server',
    })
}

/** @throws CliError if the installation can't be read, or an option is wrong */
export async function makePlan(
  context: Context,
  documents: readonly Placed[],
  {
    set,
    prune,
    removable = [],
    noSnapshot = false,
    waits = false,
    templates = new Map(),
  }: PlanOptions,
): Promise<WholePlan> {
  const { first, problems } = byName(documents)
  const plan: Plan = { steps: [], problems, waiting: [], notes: [], withheld: [], unchanged: 0 }
  const world = openWorld(context.api)
  const planning: Planning = {
    context,
    world,
    documents,
    defined: new Set(first.keys()),
    set,
    prune,
    removable: new Set(removable),
    noSnapshot,
    waits,
    templates,
    plan,
    described: new Set(),
    referred: new Map(),
  }
  const none: Moving = { objects: [], from: [] }
  if (plan.problems.length > 0) return { ...plan, set, moving: none }
  for (const kind of kinds) {
    const some = documents.filter(({ document }) => document.kind === kind.kind)
    if (some.length > 0) await kind.plan(planning, some)
  }
  demandRemoved(planning)
  const applied = await planning.world.applied()
  const isDescribed = (a: Applied) => planning.described.has(keyOf(a.kind, a.id))
  if (prune) {
    for (const kind of kinds) {
      if (kind.appliedKind === null) continue
      const some = applied.filter(
        (a) => a.kind === kind.appliedKind && a.set === set && !isDescribed(a),
      )
      if (some.length > 0) await kind.prune(planning, some)
    }
    demandPruned(planning)
  }
  const steps = plan.steps.toSorted((a, b) => a.rank - b.rank)
  const others = applied.filter((a) => a.set !== set && isDescribed(a))
  return {
    ...plan,
    steps,
    set,
    moving: {
      objects: others.map(({ kind, id }) => ({ kind, id })),
      from: [...new Set(others.map((a) => a.set))],
    },
  }
}

/** Moves the objects of other sets to this set, so that those sets don't prune them. */
export async function moveObjects(
  { api }: Context,
  { set, moving: { objects } }: WholePlan,
): Promise<void> {
  for (let from = 0; from < objects.length; from += mostMoved)
    await api.call(appliedMove, { body: { set, objects: objects.slice(from, from + mostMoved) } })
}

/** Whether a run would send anything. */
export const isEmpty = ({ steps, moving }: WholePlan): boolean =>
  steps.length === 0 && moving.objects.length === 0

/** Whether nothing differs, as far as this can be compared. */
export const isSame = ({ steps, moving, withheld }: WholePlan): boolean =>
  steps.every((s) => s.does === 'send') && moving.objects.length === 0 && withheld.length === 0

/** "2 objects move here from the set rack-a". */
export const movingText = ({ moving: { objects, from } }: WholePlan): string =>
  `${counted(objects.length, 'object')} ${objects.length === 1 ? 'moves' : 'move'} here from the set ${from.map(oneLine).join(', ')}`

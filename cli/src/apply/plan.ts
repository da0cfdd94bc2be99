/** A plan: what `apply` would do, in order. The kinds of documents add to it; see `kinds/`. */
import { isDeepStrictEqual } from 'node:util'
import type { Applied, AppliedKind } from '#contract/apply/applied.ts'
import type { AnyDocument, DocumentKind } from '#contract/apply/documents.ts'
import type { ChangeStart, ClusterPlan } from '#contract/clusters/changes/changes.ts'
import type { Answer, Asked, Operation } from '#contract/operation.ts'
import type { LabelChange } from '#contract/labels/labels.ts'
import type { Labels } from '#contract/labels/selector.ts'
import type { Refusal } from '#contract/rule.ts'
import type { ConfirmedDisk } from '#contract/disks/disks.ts'
import type { SharedPatchPreview } from '#contract/shared-patches/shared-patches.ts'
import type { NewTemplate } from '#contract/templates/templates.ts'
import type { Context } from '../command.ts'
import type { LossOptions } from '../commands/confirm-loss.ts'
import type { Placed, Problem } from './files.ts'
import type { World } from './world.ts'

export interface Change {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

/** What a line of the plan does. `send`: sends a text again of which a part can't be compared. */
export type Does = 'create' | 'update' | 'send' | 'remove'

/** The state of a run of the plan's steps. */
export interface Run {
  readonly context: Context
  /** Disks with content that the user has agreed to wipe. */
  readonly confirmedDisks: readonly ConfirmedDisk[]
  /** Servers that may be lost, and what undoes their changes. */
  readonly confirmedLoss: LossOptions
  /** Whether each change of a cluster is followed to its end. */
  readonly waits: boolean
  /** When changes of running clusters begin; null: at once. */
  readonly start: ChangeStart | null
  /** Calls the API as part of the set, so that created objects are recorded. */
  call<O extends Operation>(
    operation: O,
    ask: Partial<Asked<O>>,
    version?: number,
  ): Promise<Answer<O>>
  /**
   * Ids of objects by their kind and name, also of those that the run has created. Throws CliError
   * `not_found`.
   */
  idOf(kind: DocumentKind, name: string): Promise<string>
  made(kind: DocumentKind, name: string, id: string): void
  /** Waits until an operation has ended. Throws CliError if it failed. */
  wait(operationId: string): Promise<void>
  /** An operation that a later step may have to wait for. */
  begun(clusterName: string, operationId: string): void
  /** Waits until the cluster's operation of this run has ended. */
  waitForCluster(name: string): Promise<void>
}

export interface Step {
  readonly does: Does
  readonly kind: DocumentKind
  readonly name: string
  readonly changes: readonly Change[]
  /** More about the step, as a sentence without a full stop. */
  readonly note?: string
  /** The document; null for an object that is removed. */
  readonly placed: Placed | null
  /** The plan of a change of a running cluster, as it is now. */
  readonly plan?: ClusterPlan
  /** What a shared patch would change on its servers, as they are now. */
  readonly preview?: SharedPatchPreview
  /** Lines that a plan always shows, such as the servers that were chosen. */
  readonly details?: readonly string[]
  /** Order of the steps; see `ranks`. */
  readonly rank: number
  /** Resolves to `begun` if the step has started an operation that has not ended. */
  run(run: Run): Promise<void | 'begun' | 'done'>
}

/**
 * Order of the steps. What frees something (servers, addresses, names) comes first; what needs
 * something comes after what creates it.
 */
export const ranks = {
  clusterRemove: 10,
  unassign: 20,
  offerWithdraw: 5,
  patchRemove: 40,
  imageRemove: 50,
  joinTokenRemove: 55,
  subnetRemove: 60,
  templateRemove: 65,
  datacenter: 100,
  joinToken: 110,
  server: 120,
  subnet: 130,
  image: 140,
  patch: 150,
  template: 155,
  cluster: 160,
  lock: 161,
  settings: 162,
  change: 164,
  configure: 166,
  assign: 170,
  sharedPatch: 172,
  rollOut: 174,
  offer: 180,
  datacenterRemove: 900,
} as const

/** A document that can't be carried out yet, because its server isn't registered. */
export interface Waiting {
  readonly kind: DocumentKind
  readonly name: string
  readonly placed: Placed
  readonly reason: string
}

export interface Plan {
  readonly steps: Step[]
  readonly problems: Problem[]
  readonly waiting: Waiting[]
  /** Sentences that need no action. */
  readonly notes: string[]
  /** What the documents ask for and the run leaves, because nobody has confirmed it by name. */
  readonly withheld: string[]
  unchanged: number
}

export interface PruneOptions {
  /** Names of clusters that may be removed. */
  readonly clusters: readonly string[]
}

/** Everything that a kind needs to plan its documents. */
export interface Planning {
  readonly context: Context
  readonly world: World
  readonly documents: readonly Placed[]
  /** Kinds and names of the objects that the documents describe. */
  readonly defined: ReadonlySet<string>
  readonly set: string
  /** Null without `--prune`. */
  readonly prune: PruneOptions | null
  /** Names of the servers that may leave their clusters, which wipes them. */
  readonly removable: ReadonlySet<string>
  /** Whether upgrades take no snapshot of etcd first. */
  readonly noSnapshot: boolean
  /** `--wait`: a refusal that is only for now doesn't stop the plan, because its line waits. */
  readonly waits: boolean
  /** Templates that are neither saved nor in a document, by name. */
  readonly templates: ReadonlyMap<string, NewTemplate>
  readonly plan: Plan
  /**
   * Objects that the documents describe, by kind and id: they aren't pruned, and those of another
   * set move to this set.
   */
  readonly described: Set<string>
  /** What the documents refer to by name, with the first document that does. */
  readonly referred: Map<string, Placed>
}

/** How documents of one kind become steps, and objects become documents. */
export interface KindPlanner<D extends AnyDocument = AnyDocument> {
  readonly kind: D['kind']
  /**
   * The kind's name in the record of applied objects; null for servers, which are never created or
   * removed.
   */
  readonly appliedKind: AppliedKind | null
  /**
   * A short name for people, such as `edge-pool`. Two documents of a kind with the same name are
   * refused.
   */
  nameOf(document: D): string
  plan(planning: Planning, placed: readonly Placed<D>[]): Promise<void>
  /**
   * Adds steps that remove the objects, which an earlier `apply` has created and no document
   * describes.
   */
  prune(planning: Planning, applied: readonly Applied[]): Promise<void>
  /** Documents of all objects of the kind. */
  export(world: World, tell: (sentence: string) => void): Promise<object[]>
}

/** Keeps the document's type while planners of all kinds are in one list. */
export const planner = <D extends AnyDocument>(declared: KindPlanner<D>): KindPlanner => declared

export const documentsOf = <D extends AnyDocument>(
  { documents }: Planning,
  kind: D['kind'],
): Placed<D>[] => documents.filter(({ document }) => document.kind === kind) as Placed<D>[]

export const keyOf = (kind: string, name: string): string => `${kind}\u0000${name}`

/** Whether the line of a change that is refused now waits until it may begin. */
export const mayWait = ({ waits }: Pick<Planning, 'waits'>, { kind }: Refusal): boolean =>
  waits && kind === 'for_now'

/** Adds a problem at a field of a document. */
export const refuse = (
  { plan }: Planning,
  { file, lineOf }: Placed,
  message: string,
  ...path: readonly string[]
): void => void plan.problems.push({ file, line: lineOf(path), message })

/** The fields that differ. A field that is undefined in `wanted` isn't managed. */
export const changesOf = (
  now: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
): Change[] =>
  Object.entries(wanted).flatMap(([field, after]) => {
    const before = now[field] ?? null
    return after === undefined || isDeepStrictEqual(before, after) ? [] : [{ field, before, after }]
  })

/** A change per label that differs. Labels that are undefined in `wanted` aren't managed. */
export function labelChangesOf(now: Labels = {}, wanted: Labels | undefined): Change[] {
  if (wanted === undefined) return []
  const keys = [...new Set([...Object.keys(wanted), ...Object.keys(now)])]
  const valueOf = (labels: Labels, key: string) => (Object.hasOwn(labels, key) ? labels[key] : null)
  return keys.flatMap((key) => {
    const [before, after] = [valueOf(now, key), valueOf(wanted, key)]
    return before === after ? [] : [{ field: `${labelField}${key}`, before, after }]
  })
}
const labelField = 'labels.'
/** The changes of labels among changes, as the API takes them; undefined if there are none. */
export function labelsIn(changes: readonly Change[]): LabelChange | undefined {
  const some = changes.filter(({ field }) => field.startsWith(labelField))
  return some.length === 0
    ? undefined
    : Object.fromEntries(
        some.map(({ field, after }) => [field.slice(labelField.length), after as string | null]),
      )
}

/** The values of the changes by field: the body of an update. */
export const bodyOf = (changes: readonly Change[]) =>
  Object.fromEntries(changes.map(({ field, after }) => [field, after])) as Record<string, never>

/**
 * The fields of a document as changes from nothing; nulls and empty lists are left out, because
 * they say nothing.
 */
export const fieldsOf = ({ kind: _kind, ...fields }: AnyDocument): Change[] =>
  Object.entries(fields).flatMap(([field, after]) =>
    after === null || after === undefined || (Array.isArray(after) && after.length === 0)
      ? []
      : [{ field, before: null, after }],
  )

/**
 * The datacenter that a field names: its id is looked up when the step runs. Adds a problem if
 * neither the installation nor a document has the datacenter. Resolves to whether it is known.
 */
export async function demandDatacenter(
  planning: Planning,
  placed: Placed,
  code: string,
): Promise<boolean> {
  const { world, referred, defined } = planning
  const key = keyOf('datacenter', code)
  if (!referred.has(key)) referred.set(key, placed)
  const isKnown = defined.has(key) || (await world.datacenters()).some((d) => d.code === code)
  if (!isKnown)
    refuse(
      planning,
      placed,
      `There is no datacenter ${code}, and no document describes it`,
      'datacenter',
    )
  return isKnown
}

/**
 * The difference between a document and an object: a step if there is one, otherwise the object
 * counts as unchanged.
 */
export function planUpdate(
  planning: Planning,
  step: Omit<Step, 'does' | 'run'>,
  run: Step['run'],
): void {
  if (step.changes.length === 0) planning.plan.unchanged++
  else planning.plan.steps.push({ ...step, does: 'update', run })
}

export function planRemoval(
  planning: Planning,
  step: Pick<Step, 'kind' | 'name' | 'rank' | 'run'> & { readonly note?: string },
): void {
  const needed = planning.referred.get(keyOf(step.kind, step.name))
  if (needed)
    return refuse(
      planning,
      needed,
      `${step.kind} ${step.name} would be pruned, but this document needs it: add a document for it`,
    )
  planning.plan.steps.push({ ...step, does: 'remove', changes: [], placed: null })
}

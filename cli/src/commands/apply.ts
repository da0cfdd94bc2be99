/** `apply`, `diff` and `export`: files that describe an installation. */
import * as z from 'zod/mini'
import { defaultSet, SetName } from '#contract/apply/applied.ts'
import { type DocumentKind, documentKinds } from '#contract/apply/documents.ts'
import { counted } from '#contract/words.ts'
import { kinds } from '../apply/kinds.ts'
import { type Placed, readDocuments } from '../apply/files.ts'
import { isEmpty, isSame, makePlan, moveObjects, type WholePlan } from '../apply/planning.ts'
import { ranks } from '../apply/plan.ts'
import { type Outcome, runSteps, Stopped } from '../apply/run.ts'
import { outcomesJson, outcomeText, planJson, planText, problemsText } from '../apply/show.ts'
import { openOperations } from '../apply/running/start.ts'
import { openWorld } from '../apply/world.ts'
import { documentsText } from '#contract/apply/write.ts'
import { command, type Command, type Context, type Given, type Operands } from '../command.ts'
import { CliError, exitCodes } from '../exit.ts'
import { oneLine } from '../text.ts'
import { watch } from '../watch.ts'
import { changeOptions, demandTime } from './cluster-changes/run-change.ts'
import { confirmedDisks, confirmOption } from './confirm-disks.ts'
import { lossOption } from './confirm-loss.ts'

const planOptions = {
  file: {
    kind: 'text',
    short: 'f',
    value: 'FILE|DIR',
    many: true,
    whole: true,
    help: 'YAML documents: a file, a folder with all its .yaml and .yml files, or - for standard input',
  },
  prune: {
    kind: 'flag',
    help: 'Remove what an earlier apply of the same set has created and no document describes any more; clusters only if they are named',
  },
  'prune-cluster': {
    kind: 'text',
    value: 'NAME',
    many: true,
    help: 'With --prune, also remove this cluster, which wipes its servers',
  },
  'remove-server': {
    kind: 'text',
    value: 'SERVER',
    many: true,
    help: 'A server that may leave its cluster because its document no longer names it: it is drained, wiped and removed',
  },
  'no-snapshot': { kind: 'flag', help: 'Take no snapshot of etcd before upgrades of clusters' },
  set: {
    kind: 'text',
    value: 'NAME',
    help: `Name of the set of files; sets do not prune each other's objects (default: ${defaultSet})`,
  },
} as const
type PlanOptions = Given<Operands, typeof planOptions>['options']

/**
 * Reads the files and makes the plan. Throws CliError with a line per problem; then nothing was
 * changed.
 */
async function planOf(
  context: Context,
  {
    file,
    prune,
    'prune-cluster': clusters,
    'remove-server': removable,
    'no-snapshot': noSnapshot,
    set = defaultSet,
  }: PlanOptions,
  waits = false,
): Promise<WholePlan> {
  if (file.length === 0) throw new CliError('usage', 'Name the files: -f FILE or -f DIR')
  if (clusters.length > 0 && !prune) throw new CliError('usage', '--prune-cluster needs --prune')
  const name = z.safeParse(SetName, set)
  if (!name.success) throw new CliError('usage', name.error.issues[0]!.message)
  const { documents, problems } = await readDocuments(file)
  const hint = 'Nothing was changed'
  if (problems.length > 0) throw new CliError('usage', problemsText(problems), { hint })
  // A folder that was emptied by mistake must not remove everything.
  if (documents.length === 0)
    throw new CliError('usage', 'The files contain no documents', { hint })
  if (waits) await settle(context, documents)
  const plan = await makePlan(context, documents, {
    set: name.data,
    prune: prune ? { clusters } : null,
    removable,
    noSnapshot,
    waits,
  })
  if (plan.problems.length > 0)
    throw new CliError('conflict', problemsText(plan.problems), { hint })
  return plan
}

/**
 * Waits for the changes of the documents' clusters and shared patches that run already, such as those of an apply that
 * was interrupted. Their outcome is in the plan that is made afterwards.
 */
async function settle(context: Context, documents: readonly Placed[]): Promise<void> {
  const namesOf = (kind: 'cluster' | 'patch' | 'shared-patch') =>
    new Set(
      documents.flatMap(({ document }) =>
        document.kind !== kind
          ? []
          : document.kind === 'patch'
            ? [document.server]
            : [document.name],
      ),
    )
  const [clusters, servers] = [namesOf('cluster'), namesOf('patch')]
  const shared = namesOf('shared-patch')
  const world = openWorld(context.api)
  const ids = [
    ...(shared.size === 0 ? [] : await world.sharedPatches()).flatMap(({ id, name }) =>
      shared.has(name) ? [id] : [],
    ),
    ...(clusters.size + servers.size === 0 ? [] : await world.clusters()).flatMap(
      ({ id, name, servers: members }) =>
        clusters.has(name) || members.some((m) => servers.has(m.name)) ? [id] : [],
    ),
  ]
  for (const id of ids)
    for (const { id: operationId } of await openOperations(context.api, id))
      await watch(context, operationId, 'err')
}

/** When the changes of running clusters begin; null: at once. @throws CliError */
function startOf({ at, 'in-window': in_window }: { at: string | undefined; 'in-window': boolean }) {
  if (at !== undefined) demandTime(at)
  return at === undefined && !in_window ? null : { ...(at !== undefined && { at }), in_window }
}

/**
 * Asks whether the plan is to be carried out. Throws CliError if not, or if there is no terminal.
 */
async function confirm({ terminal }: Context, plan: WholePlan, yes: boolean): Promise<void> {
  if (yes) return
  const removals = plan.steps.filter((s) => s.does === 'remove').length
  const what =
    removals > 0
      ? `${counted(plan.steps.length, 'line')}, which remove ${counted(removals, 'object')}`
      : counted(plan.steps.length, 'line')
  const answer = await terminal.ask(`Carry out this plan (${what})? Type yes to continue: `, {
    secret: false,
  })
  if (answer === null)
    throw new CliError('usage', 'There is no terminal to ask for confirmation', {
      hint: 'Confirm with --yes',
    })
  if (answer.trim() !== 'yes') throw new CliError('failure', 'Nothing was done')
}

export const applyCommands: Command[] = [
  command({
    name: 'apply',
    summary:
      'Make the installation as the files describe it: datacenters, join tokens, servers, subnets, images, patches, clusters. Shows a plan first and asks. A second run changes nothing.',
    options: {
      ...planOptions,
      ...confirmOption,
      ...lossOption,
      at: changeOptions.at,
      'in-window': changeOptions['in-window'],
      'dry-run': { kind: 'flag', help: 'Only show the plan' },
      yes: { kind: 'flag', help: 'Do not ask for confirmation; required if there is no terminal' },
      wait: {
        kind: 'flag',
        help: 'Wait until every cluster is ready and changed, and show the steps. A change that runs already is awaited first',
      },
    },
    examples: [
      'apply -f racks.yaml',
      'apply -f racks/ --prune --yes --wait',
      'apply -f racks/ --prune --prune-cluster web',
    ],
    async run(context, { options }) {
      const { terminal, json, show } = context
      const disks = confirmedDisks(options['confirm-disk'])
      const plan = await planOf(context, options, options.wait && !options['dry-run'])
      if (!json) terminal.out(planText(terminal, plan, false))
      if (isEmpty(plan) || options['dry-run']) {
        if (json) show(planJson(plan), () => '')
        return exitCodes.ok
      }
      if (options.at !== undefined && plan.steps.some(({ rank }) => rank === ranks.rollOut))
        throw new CliError(
          'usage',
          'A roll-out of a shared patch begins at once or with --in-window, not --at',
        )
      await confirm(context, plan, options.yes)
      // From here on a closed pipe must not end the program between two changes.
      terminal.outlivePipes()
      if (plan.moving.objects.length > 0) await moveObjects(context, plan)
      const tell = (outcome: Outcome) => {
        if (!json) terminal.out(outcomeText(terminal, outcome))
      }
      const run = {
        steps: plan.steps,
        world: openWorld(context.api),
        set: plan.set,
        confirmedDisks: disks,
        confirmedLoss: options,
        waits: options.wait,
        start: startOf(options),
      }
      try {
        const outcomes = await runSteps(context, run, tell)
        if (json) show({ ...planJson(plan), steps: outcomesJson(outcomes) }, () => '')
        return exitCodes.ok
      } catch (error) {
        if (!(error instanceof Stopped)) throw error
        const { reason, outcomes } = error
        if (json) show({ ...planJson(plan), steps: outcomesJson(outcomes) }, () => '')
        const count = (result: string) => outcomes.filter((o) => o.result === result).length
        throw new CliError(
          reason.exit,
          `${oneLine(reason.message)}. ${count('done')} of ${counted(outcomes.length, 'line')} of the plan are done`,
          {
            hint: [reason.hint, 'To continue, run the same command again']
              .filter(Boolean)
              .join('\n'),
            ...(reason.body && { body: reason.body }),
            cause: reason,
          },
        )
      }
    },
  }),
  command({
    name: 'diff',
    summary:
      'Show what apply would change, with the fields that differ; changes nothing. Exits 1 if there are differences.',
    options: planOptions,
    examples: ['diff -f racks/', 'diff -f racks/ --prune --json'],
    async run(context, { options }) {
      const plan = await planOf(context, options)
      context.show(planJson(plan), () => planText(context.terminal, plan, true))
      return isSame(plan) ? exitCodes.ok : exitCodes.failure
    },
  }),
  command({
    name: 'export',
    summary: 'Write the installation as YAML documents for apply: everything, or the given kinds.',
    options: {
      kind: {
        kind: 'text',
        value: 'KIND',
        many: true,
        help: 'Only documents of these kinds',
        choices: documentKinds,
      },
    },
    examples: ['export > racks.yaml', 'export --kind subnet,datacenter'],
    json: false,
    async run({ terminal, api }, { options }) {
      const wanted: readonly DocumentKind[] = options.kind.length > 0 ? options.kind : documentKinds
      const world = openWorld(api)
      const documents: object[] = []
      const tell = (sentence: string) => terminal.err(`${oneLine(sentence)}\n`)
      for (const kind of kinds)
        if (wanted.includes(kind.kind)) documents.push(...(await kind.export(world, tell)))
      terminal.out(documentsText(documents))
    },
  }),
]

/** Carries out a plan, one step after the other, and says of each line what became of it. */
import type { DocumentKind } from '#contract/apply/documents.ts'
import type { Context } from '../command.ts'
import { CliError, exitCodes } from '../exit.ts'
import { watch } from '../watch.ts'
import { patiently } from './patience.ts'
import { keyOf, type Run, type Step } from './plan.ts'
import type { World } from './world.ts'

export interface Outcome {
  readonly step: Step
  /** `begun`: the step has started an operation that has not ended. */
  readonly result: 'done' | 'begun' | 'failed' | 'not_done'
  readonly error?: CliError
}

/** Ids of the installation's objects by kind and name. */
const lists: Readonly<
  Partial<
    Record<
      DocumentKind,
      (world: World) => Promise<readonly (readonly [name: string, id: string])[]>
    >
  >
> = {
  datacenter: async (world) => (await world.datacenters()).map((d) => [d.code, d.id]),
  subnet: async (world) => (await world.subnets()).map((s) => [s.name, s.id]),
  cluster: async (world) => (await world.clusters()).map((c) => [c.name, c.id]),
  server: async (world) => (await world.servers()).map((s) => [s.name, s.id]),
  template: async (world) => (await world.templates()).map((t) => [t.name, t.id]),
  'join-token': async (world) =>
    (await world.joinTokens()).filter((t) => t.status !== 'revoked').map((t) => [t.name, t.id]),
}

/** @param world the installation, read when a step first needs an id */
function openRun(
  context: Context,
  world: World,
  set: string | null,
  options: Pick<Run, 'confirmedDisks' | 'confirmedLoss' | 'waits' | 'start'>,
): Run & { readonly operations: ReadonlyMap<string, string> } {
  const made = new Map<string, string>()
  const operations = new Map<string, string>()
  const wait = async (operationId: string): Promise<void> => {
    const { operation, exit } = await watch(context, operationId, 'err')
    operations.forEach((id, cluster) => id === operationId && operations.delete(cluster))
    if (exit !== exitCodes.ok)
      throw new CliError('failure', operation.reason ?? `The operation is ${operation.status}`, {
        hint: `steelyard operation retry ${operationId}`,
      })
  }
  return {
    context,
    ...options,
    operations,
    call: (operation, ask, version) => {
      const call = () =>
        context.api.call(operation, ask as never, { version, set: set ?? undefined })
      return options.waits ? patiently(context, call) : call()
    },
    async idOf(kind, name) {
      const id =
        made.get(keyOf(kind, name)) ??
        (await lists[kind]?.(world))?.find(([known]) => known === name)?.[1]
      if (id === undefined) throw new CliError('not_found', `There is no ${kind} ${name}`)
      return id
    },
    made: (kind, name, id) => void made.set(keyOf(kind, name), id),
    wait,
    begun: (cluster, operationId) => void operations.set(cluster, operationId),
    async waitForCluster(name) {
      const id = operations.get(name)
      if (id !== undefined) await wait(id)
    },
  }
}

/**
 * Carries out the steps in order and stops at the first that fails. `tell` is called after each
 * step. Ctrl-C ends the run between two steps. With `waits`, waits for the clusters that the run
 * has created.
 */
export async function runSteps(
  context: Context,
  {
    steps,
    world,
    set,
    ...options
  }: Pick<Run, 'confirmedDisks' | 'confirmedLoss' | 'waits' | 'start'> & {
    steps: readonly Step[]
    world: World
    /** null: what is created belongs to no set. */
    set: string | null
  },
  tell: (outcome: Outcome) => void,
): Promise<Outcome[]> {
  const { terminal } = context
  const run = openRun(context, world, set, options)
  const stop = terminal.interrupted()
  const outcomes: Outcome[] = []
  const add = (outcome: Outcome) => {
    outcomes.push(outcome)
    tell(outcome)
  }
  let failed: CliError | undefined
  for (const step of steps) {
    if (!failed && stop.aborted) failed = new CliError('interrupted', 'Stopped')
    if (failed) {
      add({ step, result: 'not_done' })
      continue
    }
    try {
      add({ step, result: (await step.run(run)) ?? 'done' })
    } catch (error) {
      failed =
        error instanceof CliError
          ? error
          : new CliError('failure', error instanceof Error ? error.message : String(error), {
              cause: error,
            })
      add({ step, result: 'failed', error: failed })
    }
  }
  if (failed) throw new Stopped(failed, outcomes)
  if (options.waits) for (const id of run.operations.values()) await run.wait(id)
  return outcomes
}

/** A run that did not carry out every step. */
export class Stopped extends Error {
  readonly reason: CliError
  readonly outcomes: readonly Outcome[]

  constructor(reason: CliError, outcomes: readonly Outcome[]) {
    super(reason.message, { cause: reason })
    this.name = 'Stopped'
    this.reason = reason
    this.outcomes = outcomes
  }
}

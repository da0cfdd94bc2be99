/** `cluster create` from a template, or like another cluster. */
import { defaultSet } from '#contract/apply/applied.ts'
import type { ClustersDocument } from '#contract/apply/documents.ts'
import { clusterGet } from '#contract/clusters/clusters.ts'
import {
  clusterTemplate,
  definitionOf,
  type NewTemplate,
  templateGet,
} from '#contract/templates/templates.ts'
import { counted } from '#contract/words.ts'
import type { Placed } from '../../apply/files.ts'
import { makePlan } from '../../apply/planning.ts'
import { runSteps, Stopped } from '../../apply/run.ts'
import { outcomesJson, outcomeText, planJson, planText } from '../../apply/show.ts'
import { openWorld } from '../../apply/world.ts'
import type { Context, Given, Operands } from '../../command.ts'
import { CliError, exitCodes } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { oneLine } from '../../text.ts'
import type { createOptions } from '../cluster-create.ts'
import { confirmedDisks } from '../confirm-disks.ts'
import type { LossOptions } from '../confirm-loss.ts'
import { firstOptions } from './first-settings.ts'

export const templateOptions = {
  template: {
    kind: 'text',
    value: 'TEMPLATE',
    help: 'Choose the servers by the needs of this template, and show why',
  },
  like: { kind: 'text', value: 'CLUSTER', help: 'Make a cluster like this one, on other servers' },
  'control-planes': {
    kind: 'number',
    value: 'N',
    help: 'With --template or --like: number of control planes',
  },
  workers: { kind: 'number', value: 'N', help: 'With --template or --like: number of workers' },
  also: {
    kind: 'text',
    value: 'NAME',
    many: true,
    help: 'With --template or --like: another cluster of the same kind',
  },
} as const

interface Asked {
  readonly names: readonly string[]
  readonly template: string | undefined
  readonly like: string | undefined
  readonly datacenter: string | undefined
  readonly endpoint: string | undefined
  readonly control_planes: number | undefined
  readonly workers: number | undefined
  readonly talos_version: string | undefined
  readonly kubernetes_version: string | undefined
  readonly confirm: readonly string[]
  readonly losses: LossOptions
  readonly dryRun: boolean
  readonly yes: boolean
  readonly wait: boolean
}

type Options = Given<Operands, typeof templateOptions & typeof createOptions>['options'] & {
  readonly 'dry-run': boolean
  readonly yes: boolean
  readonly wait: boolean
}
const optionNames = <T extends object>(options: T) => Object.keys(options) as (keyof T)[]

/** Options that a template decides. */
const decided = [
  'control-plane',
  'worker',
  'install-disk',
  'workload-disk',
  'patch',
  'interface',
  'virtual-ip',
  'vlan-id',
  'pod-cidr',
  'service-cidr',
  ...optionNames(firstOptions),
] as const

/** What the options ask of a template; null if they name none. @throws CliError */
export function askedOf(name: string, options: Options): Asked | null {
  const { template, like, workers } = options
  const control_planes = options['control-planes']
  if (template === undefined && like === undefined) {
    if (control_planes !== undefined || workers !== undefined || options.also.length > 0)
      throw new CliError(
        'usage',
        '--control-planes, --workers and --also need --template or --like; without them the servers are named: --control-plane and --worker',
      )
    return null
  }
  if (template !== undefined && like !== undefined)
    throw new CliError('usage', 'Give either --template or --like')
  const stray = decided.find((one) => {
    const value = options[one]
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false
  })
  if (stray !== undefined)
    throw new CliError('usage', `--${stray} is decided by the template: leave it out`)
  return {
    names: [name, ...options.also],
    template,
    like,
    datacenter: options.datacenter,
    endpoint: options.endpoint,
    control_planes,
    workers,
    talos_version: options['talos-version'],
    kubernetes_version: options['kubernetes-version'],
    confirm: options['confirm-disk'],
    losses: options,
    dryRun: options['dry-run'],
    yes: options.yes,
    wait: options.wait,
  }
}

/** The document that describes the clusters, and a template that isn't saved. */
async function documentOf(
  context: Context,
  asked: Asked,
): Promise<{ document: ClustersDocument; templates: ReadonlyMap<string, NewTemplate> }> {
  const { api, terminal } = context
  const templates = new Map<string, NewTemplate>()
  let code = asked.datacenter
  let name = ''
  if (asked.template !== undefined) {
    const params = { id: await noun.idOf(api, noun.template, asked.template) }
    const template = definitionOf(await api.call(templateGet, { params }))
    name = template.name
    templates.set(name, template)
  }
  if (asked.like !== undefined) {
    const params = { id: await noun.idOf(api, noun.cluster, asked.like) }
    const { template, left_out } = await api.call(clusterTemplate, { params })
    for (const sentence of left_out) terminal.err(`Not taken over: ${oneLine(sentence)}\n`)
    name = template.name
    templates.set(name, template)
    code ??= (await api.call(clusterGet, { params })).datacenter.code
  }
  if (code === undefined)
    throw new CliError('usage', '--datacenter is missing', {
      hint: 'steelyard datacenter list shows the codes',
    })
  const [first] = asked.names
  const { control_planes, workers, talos_version, kubernetes_version, endpoint } = asked
  return {
    templates,
    document: {
      kind: 'clusters',
      template: name,
      datacenter: code.toUpperCase(),
      names: [...asked.names],
      endpoints: endpoint === undefined ? {} : { [first!]: endpoint },
      ...(control_planes !== undefined && { control_planes }),
      ...(workers !== undefined && { workers }),
      ...(talos_version !== undefined && { talos_version }),
      ...(kubernetes_version !== undefined && { kubernetes_version }),
    },
  }
}

/** Shows the plan, asks, and makes the clusters. @throws CliError */
export async function createFromTemplate(context: Context, asked: Asked): Promise<number> {
  const { terminal, json, show, api } = context
  if (asked.endpoint !== undefined && asked.names.length > 1)
    throw new CliError('usage', '--endpoint belongs to one cluster, and several are named', {
      hint: 'A document of the kind clusters gives each its endpoint: steelyard apply',
    })
  const world = openWorld(api)
  const taken = (await world.clusters()).find((c) => asked.names.includes(c.name))
  if (taken) throw new CliError('conflict', `There is a cluster ${oneLine(taken.name)} already`)
  const { document, templates } = await documentOf(context, asked)
  const placed: Placed<ClustersDocument> = {
    document,
    file: 'cluster create',
    line: 1,
    lineOf: () => 1,
  }
  const plan = await makePlan(context, [placed], { set: defaultSet, prune: null, templates })
  if (plan.problems.length > 0)
    throw new CliError('conflict', plan.problems.map(({ message }) => message).join('\n'), {
      hint: 'Nothing was changed',
    })
  if (!json) terminal.out(planText(terminal, plan, false))
  if (asked.dryRun) {
    if (json) show(planJson(plan), () => '')
    return exitCodes.ok
  }
  if (!asked.yes) {
    const answer = await terminal.ask(
      `Make ${counted(asked.names.length, 'cluster')} as shown? Its disks are wiped. Type yes to continue: `,
      { secret: false },
    )
    if (answer === null)
      throw new CliError('usage', 'There is no terminal to ask for confirmation', {
        hint: 'Confirm with --yes',
      })
    if (answer.trim() !== 'yes') throw new CliError('failure', 'Nothing was done')
  }
  terminal.outlivePipes()
  const run = {
    steps: plan.steps,
    world,
    set: null,
    confirmedDisks: confirmedDisks(asked.confirm),
    confirmedLoss: asked.losses,
    waits: asked.wait,
    start: null,
  }
  try {
    const outcomes = await runSteps(context, run, (outcome) => {
      if (!json) terminal.out(outcomeText(terminal, outcome))
    })
    if (json) show({ ...planJson(plan), steps: outcomesJson(outcomes) }, () => '')
    return exitCodes.ok
  } catch (error) {
    if (!(error instanceof Stopped)) throw error
    const { reason, outcomes } = error
    if (json) show({ ...planJson(plan), steps: outcomesJson(outcomes) }, () => '')
    throw new CliError(reason.exit, oneLine(reason.message), {
      ...(reason.hint !== undefined && { hint: reason.hint }),
      ...(reason.body && { body: reason.body }),
      cause: reason,
    })
  }
}

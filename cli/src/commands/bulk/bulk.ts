/**
 * Commands on one server that take several as well, by names or labels: the plan of the whole is
 * shown, and one operation with a result per server carries it out.
 */
import { labelFilter } from '#contract/labels/filter.ts'
import { priceShown } from '#contract/marketplace/money.ts'
import {
  type BulkAct,
  bulkActs,
  type BulkActKind,
  type BulkItem,
  type BulkPlan,
  bulkWords,
  plannedItems,
  serverBulk,
  serverBulkPlan,
} from '#contract/servers/bulk.ts'
import { devicePath } from '#contract/disks/disks.ts'
import { diskName } from '#contract/disks/wipe.ts'
import { counted } from '#contract/words.ts'
import { beSure, sureOption } from '../../ask.ts'
import {
  type AnyGiven,
  command,
  type Command,
  type Context,
  type Operands,
  type Options,
} from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { table } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime, oneLine, words } from '../../text.ts'
import { showBegun, waitOption } from '../../watch.ts'

export const bulkOptions = {
  label: {
    kind: 'text',
    value: labelFilter.placeholder,
    short: labelFilter.short,
    help: 'The servers with these labels, such as rack=3,gen!=r640',
  },
  'failed-of': {
    kind: 'text',
    value: 'OPERATION',
    help: 'The servers that failed in this earlier operation on several servers',
  },
  'dry-run': { kind: 'flag', help: 'Only show the plan for several servers' },
  ...sureOption,
  ...waitOption,
} as const
const expectOption = {
  expect: {
    kind: 'number',
    value: 'N',
    help: 'The number of servers, instead of typing it; with several servers, --yes needs it',
  },
} as const

const whereOf = ({ cluster, role }: BulkItem): string =>
  cluster === null ? 'no cluster' : `${cluster.name}, ${words(role ?? 'unknown')}`

const verdictOf = ({ ok, reason, warnings }: BulkItem): string =>
  ok ? warnings.join('. ') || 'yes' : `no: ${reason}`

/** "1.25 EUR per hour for the server, until 2027-02-14 00:00, 16 CU" */
function promised({ commitment }: BulkItem): string {
  if (commitment === null) return ''
  const { price, starts_at, expires_at, compute_units } = commitment
  return [
    price === null ? 'no price' : priceShown(price),
    starts_at && `from ${localTime(starts_at)}`,
    expires_at === null ? 'no end' : `until ${localTime(expires_at)}`,
    compute_units === null ? 'CU unknown' : `${compute_units} CU`,
  ]
    .filter(Boolean)
    .join(', ')
}

function planText(terminal: Terminal, plan: BulkPlan): string {
  const { act, items, allowed, refused, warnings } = plan
  const rows = table(
    terminal,
    items,
    [
      { title: 'SERVER', text: (one) => oneLine(one.name) },
      { title: 'IN', text: (one) => oneLine(whereOf(one)) },
      ...(act.kind === 'reset'
        ? [
            {
              title: 'WIPES',
              text: (one: BulkItem) =>
                oneLine(one.disks.map((d) => `${devicePath(d.id)} (${diskName(d)})`).join('; ')),
            },
          ]
        : []),
      ...(act.kind === 'commit' ? [{ title: 'TERMS', text: promised }] : []),
      { title: bulkActs[act.kind].title.toUpperCase(), text: (one) => oneLine(verdictOf(one)) },
    ],
    'No servers',
  )
  return [
    rows,
    ...warnings.map((one) => `Warning: ${oneLine(one)}\n`),
    `${counted(allowed, 'server')}${refused === 0 ? '' : `, ${refused} refused`}\n`,
  ].join('')
}

type Given = AnyGiven['options']

async function planFor(
  { api }: Context,
  act: BulkAct,
  names: readonly string[],
  options: Given,
): Promise<BulkPlan> {
  const [label, failed] = [options['label'], options['failed-of']] as (string | undefined)[]
  if ([names.length > 0, label !== undefined, failed !== undefined].filter(Boolean).length !== 1)
    throw new CliError('usage', 'Give either names of servers, --label or --failed-of')
  if (label !== undefined) {
    const filter = new URLSearchParams({ label }).toString()
    return api.call(serverBulkPlan, { body: { act, filter } })
  }
  if (failed !== undefined) {
    const failed_of = await noun.idOf(api, noun.operation, failed)
    return api.call(serverBulkPlan, { body: { act, failed_of } })
  }
  const found = await Promise.all(names.map((name) => noun.server.find(api, name)))
  return api.call(serverBulkPlan, { body: { act, node_ids: found.map(({ id }) => id) } })
}

/** Asks for the number of servers before a dangerous act, else for a yes. @throws CliError */
async function confirm(
  { terminal }: Context,
  { act, allowed, expected }: BulkPlan,
  options: Given,
): Promise<void> {
  const given = options['expect']
  if (given !== undefined && given !== allowed)
    throw new CliError(
      'conflict',
      `The plan has ${counted(allowed, 'server')}, not ${String(given)}: nothing was done`,
    )
  const isSure = options['yes'] === true
  if (expected === null)
    return beSure(
      terminal,
      act.kind === 'commit'
        ? 'Commit the capacity of these servers. The terms are then fixed.'
        : `${bulkActs[act.kind].title} these servers.`,
      'yes',
      isSure,
    )
  if (given !== undefined) return
  if (isSure)
    throw new CliError('usage', 'With several servers, --yes needs their number', {
      hint: `Add --expect ${expected} if the plan is right`,
    })
  return beSure(
    terminal,
    `This is the ${bulkWords(act.kind, allowed)}, with what is on the disks above.`,
    String(expected),
    false,
  )
}

/** Plans the act, shows the plan, asks, and begins it. @throws CliError */
export async function runBulk(
  context: Context,
  act: BulkAct,
  names: readonly string[],
  options: Given,
): Promise<number | undefined> {
  const { api, terminal, json, show } = context
  const plan = await planFor(context, act, names, options)
  if (plan.items.length === 0) throw new CliError('not_found', 'No server matches')
  if (options['dry-run'] === true) {
    show(plan, (p) => planText(terminal, p))
    return plan.allowed > 0 ? 0 : 1
  }
  if (!json || options['yes'] !== true) terminal.err(planText(terminal, plan))
  if (plan.allowed === 0)
    throw new CliError('conflict', 'Every server refuses this: nothing was done')
  await confirm(context, plan, options)
  const items = plannedItems(plan)
  const begun = await api.call(serverBulk, {
    body: { act, items, ...(plan.expected !== null && { expected: items.length }) },
  })
  return showBegun(
    context,
    begun,
    options['wait'] === true,
    `The ${bulkWords(act.kind, items.length)} has begun`,
  )
}

/**
 * The command on one server, which also accepts several. With one name it does what it did.
 * `actOf`: the act of the options.
 */
export function orMany(
  one: Command,
  kind: BulkActKind,
  actOf: (options: Given) => Partial<BulkAct> = () => ({}),
): Command {
  const summary = one.summary.replace(/\.$/, '')
  const { danger } = bulkActs[kind]
  return command<Operands, Options>({
    ...one,
    summary: `${summary}. Several servers, by names or labels, follow each other in each cluster.`,
    operands: { servers: { ...noun.server, many: true, optional: true } },
    options: { ...bulkOptions, ...one.options, ...(danger && expectOption) },
    examples: [
      ...one.examples,
      `${one.name} -l rack=3 --dry-run`,
      `${one.name} -l rack=3 ${danger ? '--expect 12' : '--yes --wait'}`,
    ],
    async run(context, { operands, options }) {
      const names = operands['servers'] as string[]
      const isOne =
        names.length === 1 &&
        options['label'] === undefined &&
        options['failed-of'] === undefined &&
        options['dry-run'] !== true &&
        options['expect'] === undefined
      if (isOne) return one.run(context, { operands: { server: names[0]! }, options })
      return runBulk(
        context,
        { kind, keep_workload_disks: false, in_window: false, ...actOf(options) },
        names,
        options,
      )
    },
  })
}

/**
 * Shared by the commands that change a running cluster: shows the plan, asks for confirmation,
 * starts the change now or later, and follows it.
 */
import * as z from 'zod/mini'
import {
  clusterChange,
  type ClusterChangeInput,
  clusterPlan,
  type ClusterPlan,
} from '#contract/clusters/changes/changes.ts'
import { windowText } from '#contract/clusters/changes/window.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { time } from '#contract/page.ts'
import { beSure, sureOption } from '../../ask.ts'
import type { Context, Given, Operands } from '../../command.ts'
import { CliError } from '../../exit.ts'
import { table } from '../../table.ts'
import * as noun from '../../nouns.ts'
import type { Terminal } from '../../terminal.ts'
import { manyLines, oneLine } from '../../text.ts'
import { showBegun, waitOption } from '../../watch.ts'
import { checksText } from '../checks.ts'
import { confirmedDisks, confirmOption, withDisks } from '../confirm-disks.ts'
import { lossOption, withLosses } from '../confirm-loss.ts'
import { remedyCommands } from './remedies.ts'

/** Options of every command that changes a cluster. */
export const changeOptions = {
  at: {
    kind: 'text',
    value: 'TIME',
    help: 'Begin at this time, such as 2026-12-01T02:00:00Z (default: now)',
  },
  'in-window': {
    kind: 'flag',
    help: "Change servers only while the cluster's maintenance window is open",
  },
  'dry-run': { kind: 'flag', help: 'Only show the plan' },
  ...confirmOption,
  ...lossOption,
  ...sureOption,
  ...waitOption,
} as const

type ChangeOptions = Given<Operands, typeof changeOptions>['options']

const duration = (seconds: number | null): string =>
  seconds === null
    ? ''
    : seconds < 90
      ? `${Math.max(1, Math.round(seconds))} s`
      : `${Math.round(seconds / 60)} min`

/**
 * The commands that settle the reasons of the failed checks: `What helps: steelyard cluster
 * defragment web`.
 */
const helps = (cluster: string, { checks }: ClusterPlan): string[] =>
  remedyCommands(
    cluster,
    checks.flatMap((c) => c.remedies ?? []),
  ).map((command) => `What helps: ${command}`)

/** The steps of each server in order. */
const stepsText = (terminal: Terminal, plan: ClusterPlan): string =>
  table(
    terminal,
    plan.groups.flatMap((group) =>
      group.steps.map((step, i) => ({ ...group, step, isFirst: i === 0 })),
    ),
    [
      { title: 'SERVER', text: (s) => (s.isFirst ? (s.name ?? 'cluster') : '') },
      { title: 'STEP', text: (s) => s.step.title },
      {
        title: 'DRAINED',
        text: (s) => (s.isFirst && s.node_id !== null ? (s.drains ? 'yes' : 'no') : ''),
      },
      { title: 'REBOOT', text: (s) => (s.isFirst && s.node_id !== null ? s.reboots : '') },
      { title: 'LAST TIME', text: (s) => (s.isFirst ? duration(s.took_s) : '') },
    ],
    'Nothing to do',
  )

/**
 * The plan as text: checks, the steps of each server in order, and how long they took last time.
 */
function planText(terminal: Terminal, cluster: string, plan: ClusterPlan): string {
  return [
    checksText(terminal, plan.checks),
    ...helps(cluster, plan).map((line) => `${line}\n`),
    ...plan.warnings.map((warning) => `Warning: ${oneLine(warning)}\n`),
    // A refused plan may have no steps.
    ...(plan.groups.length === 0 && plan.checks.some((c) => !c.ok)
      ? []
      : ['\n', stepsText(terminal, plan)]),
    ...plan.differences.map(({ name, diff }) => `\n${oneLine(name)}:\n${manyLines(diff)}\n`),
  ].join('')
}

/**
 * Shows the plan, asks for confirmation, starts the change, and follows it with `--wait`. Resolves
 * to the exit code. @throws CliError
 */
export async function runChange(
  context: Context,
  named: string,
  change: ClusterChangeInput,
  options: ChangeOptions,
): Promise<number | undefined> {
  const { api, terminal, show } = context
  const cluster = await noun.cluster.find(api, named)
  const params = { id: cluster.id }
  if (options.at !== undefined && !z.safeParse(time, options.at).success)
    throw new CliError(
      'usage',
      `--at takes a time in UTC such as 2026-12-01T02:00:00Z, not ${oneLine(options.at)}`,
    )
  const plan = await api.call(clusterPlan, { params, body: { change } })
  const refused = plan.checks.find((c) => !c.ok)
  if (options['dry-run']) {
    show(plan, (p) => planText(terminal, cluster.name, p))
    return refused === undefined ? 0 : 1
  }
  if (!context.json || !options.yes) terminal.err(planText(terminal, cluster.name, plan))
  if (refused)
    throw new CliError('conflict', oneLine(refused.message), {
      hint: ['Nothing was changed', ...helps(cluster.name, plan)].join('. '),
    })
  await beSure(terminal, `This changes ${oneLine(cluster.name)}.`, cluster.name, options.yes)
  const isLater = options.at !== undefined || options['in-window']
  const start = isLater
    ? { ...(options.at !== undefined && { at: options.at }), in_window: options['in-window'] }
    : undefined
  const begun = await withDisks(
    context,
    async () => plan.disks,
    confirmedDisks(options['confirm-disk']),
    (confirmed) =>
      withLosses(context, options['confirm-loss'], (losses) =>
        api.call(clusterChange, {
          params,
          body: {
            change,
            seen: plan.seen,
            ...(start && { start }),
            ...(confirmed.length > 0 && { confirmed_disks: confirmed }),
            ...losses,
          },
        }),
      ),
  )
  return showBegun(
    context,
    begun,
    options.wait,
    isLater ? 'The change is scheduled' : 'The change has begun',
  )
}

/** Text of a cluster's window, or why there is none. */
export const shownWindow = (window: Cluster['maintenance_window']): string =>
  window == null ? 'none' : windowText(window)

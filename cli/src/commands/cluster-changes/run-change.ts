/**
 * Shared by the commands that change a running cluster: shows the plan, asks for confirmation,
 * starts the change now or later, and follows it.
 */
import * as z from 'zod/mini'
import {
  clusterChange,
  type ClusterChangeInput,
  clusterPlan,
} from '#contract/clusters/changes/changes.ts'
import { windowText } from '#contract/clusters/changes/window.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { time } from '#contract/page.ts'
import { beSure, sureOption } from '../../ask.ts'
import type { Context, Given, Operands } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { oneLine } from '../../text.ts'
import { showBegun, waitOption } from '../../watch.ts'
import { confirmedDisks, confirmOption, withDisks } from '../confirm-disks.ts'
import { lossOption, withLosses } from '../confirm-loss.ts'
import { helps, planText } from './plan-text.ts'

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

/** @throws CliError `usage` unless `--at` is a time */
export function demandTime(at: string): void {
  if (!z.safeParse(time, at).success)
    throw new CliError(
      'usage',
      `--at takes a time in UTC such as 2026-12-01T02:00:00Z, not ${oneLine(at)}`,
    )
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
  if (options.at !== undefined) demandTime(options.at)
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
      withLosses(context, options, (losses) =>
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

/** The plan of a change as text. */
import type { ClusterPlan } from '#contract/clusters/changes/changes.ts'
import { table } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { manyLines, oneLine } from '../../text.ts'
import { checksText } from '../checks.ts'
import { remedyCommands } from './remedies.ts'

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
export const helps = (cluster: string, { checks }: ClusterPlan): string[] =>
  remedyCommands(
    cluster,
    checks.flatMap((c) => c.remedies ?? []),
  ).map((command) => `What helps: ${command}`)

/** The steps of each server in order. */
export const stepsText = (terminal: Terminal, plan: ClusterPlan): string =>
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
export function planText(terminal: Terminal, cluster: string, plan: ClusterPlan): string {
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

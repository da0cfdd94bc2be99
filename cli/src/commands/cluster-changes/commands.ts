/** Every command that changes a running cluster. */
import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import * as z from 'zod/mini'
import { MaintenanceWindow, weekdays } from '#contract/clusters/changes/window.ts'
import { command, type Command } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { clusterGrow } from './grow.ts'
import { clusterReplace } from './replace.ts'
import { clusterRole } from './role.ts'
import { rotateCommands } from './rotate.ts'
import { changeOptions, runChange, shownWindow } from './run-change.ts'
import { restoreCommand } from './restore.ts'
import { clusterShrink } from './shrink.ts'
import { snapshotCommand } from './snapshot.ts'
import { extensionCommands } from './extensions.ts'
import { releaseCommand } from './release.ts'
import { upgradeTalosCommands } from './upgrade-talos.ts'
import { configureCommand } from './configure.ts'
import { disksCommand } from './disks.ts'
import { endpointCommand } from './endpoint.ts'
import { upgradeKubernetesCommand } from './upgrade-kubernetes.ts'

export const clusterChangeCommands: Command[] = [
  clusterGrow,
  clusterShrink,
  clusterRole,
  clusterReplace,
  ...rotateCommands,
  snapshotCommand,
  restoreCommand,
  command({
    name: 'cluster defragment',
    summary:
      'Defragment etcd of a cluster, one member at a time, and clear the alarms about missing space.',
    operands: { cluster: noun.cluster },
    options: changeOptions,
    examples: ['cluster defragment web --dry-run', 'cluster defragment web --yes --wait'],
    async run(context, { operands, options }) {
      return runChange(context, operands.cluster, { kind: 'defragment' }, options)
    },
  }),
  configureCommand,
  command({
    name: 'cluster move-to-documents',
    summary:
      "Move the configurations of a cluster's servers to the documents of Talos 1.14, one server after another.",
    operands: { cluster: noun.cluster },
    options: changeOptions,
    examples: [
      'cluster move-to-documents web --dry-run',
      'cluster move-to-documents web --yes --wait',
    ],
    async run(context, { operands, options }) {
      return runChange(context, operands.cluster, { kind: 'documents' }, options)
    },
  }),
  upgradeKubernetesCommand,
  endpointCommand,
  disksCommand,
  command({
    name: 'cluster window',
    summary:
      'Set or remove the maintenance window of a cluster: the weekly times in which scheduled changes run.',
    operands: { cluster: noun.cluster },
    options: {
      day: {
        kind: 'text',
        value: 'DAY',
        many: true,
        choices: weekdays,
        help: 'Days on which the window opens',
      },
      from: { kind: 'text', value: 'HH:MM', help: 'Local time at which it opens' },
      minutes: {
        kind: 'number',
        value: 'MINUTES',
        help: 'How long it is open, 15 to 1440 minutes',
      },
      'time-zone': {
        kind: 'text',
        value: 'ZONE',
        help: 'Time zone, such as Europe/Warsaw (default: UTC)',
      },
      remove: { kind: 'flag', help: 'Remove the window' },
    },
    examples: [
      'cluster window web --day sat,sun --from 02:30 --minutes 240 --time-zone Europe/Warsaw',
      'cluster window web --remove',
    ],
    async run(
      { api, show },
      { operands, options: { remove, day, from, minutes, 'time-zone': time_zone = 'UTC' } },
    ) {
      const isGiven = day.length > 0 || from !== undefined || minutes !== undefined
      if (isGiven === remove)
        throw new CliError('usage', 'Give either --day, --from and --minutes, or --remove')
      const read = remove
        ? null
        : z.safeParse(MaintenanceWindow, { days: day, from, minutes, time_zone })
      if (read?.success === false)
        throw new CliError('usage', `Invalid window: ${read.error.issues[0]!.message}`)
      const id = await noun.idOf(api, noun.cluster, operands.cluster)
      const body = { window: read?.data ?? null }
      show(
        await api.call(clusterWindowSet, { params: { id }, body }),
        (c) => `Maintenance window of ${c.name}: ${shownWindow(c.maintenance_window)}\n`,
      )
    },
  }),
  releaseCommand,
  ...upgradeTalosCommands,
  ...extensionCommands,
]

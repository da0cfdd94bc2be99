/** Options of `cluster create` for what a cluster has from its first moment. */
import * as z from 'zod/mini'
import { MaintenanceWindow, weekdays } from '#contract/clusters/changes/window.ts'
import type { NewClusterInput } from '#contract/clusters/clusters.ts'
import { type Context, given, type Given, type Operands } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { wanted } from '../cluster-changes/extensions.ts'
import { labelsOf } from '../patches.ts'

export const firstOptions = {
  label: { kind: 'text', value: 'KEY[=VALUE]', many: true, help: 'A label of the cluster' },
  subnet: {
    kind: 'text',
    value: 'SUBNET',
    many: true,
    help: 'A free workload subnet: reserved at once, given to the load balancer when the cluster is ready',
  },
  extension: {
    kind: 'text',
    value: 'NAME',
    many: true,
    help: 'An extension of the image that is installed, such as siderolabs/gvisor (default: those of the image that each server runs)',
  },
  'no-extensions': { kind: 'flag', help: 'Install an image without extensions' },
  'kernel-arg': {
    kind: 'text',
    value: 'ARG',
    many: true,
    whole: true,
    help: 'An extra kernel argument of the image (default: those of the image that each server runs)',
  },
  'no-kernel-args': { kind: 'flag', help: 'Install an image without extra kernel arguments' },
  'window-day': {
    kind: 'text',
    value: 'DAY',
    many: true,
    choices: weekdays,
    help: 'Days on which the maintenance window opens',
  },
  'window-from': { kind: 'text', value: 'HH:MM', help: 'Local time at which the window opens' },
  'window-minutes': {
    kind: 'number',
    value: 'MINUTES',
    help: 'How long the window is open, 15 to 1440 minutes',
  },
  'window-time-zone': {
    kind: 'text',
    value: 'ZONE',
    help: 'Time zone of the window, such as Europe/Warsaw (default: UTC)',
  },
  'snapshot-store': { kind: 'text', value: 'STORE', help: 'Store of scheduled snapshots' },
  'snapshot-every': {
    kind: 'number',
    value: 'HOURS',
    help: 'Hours between two snapshots (default: 24)',
  },
  'snapshot-at': {
    kind: 'number',
    value: 'HOUR',
    help: 'Hour of the day, UTC, of the first snapshot (default: 2)',
  },
  'snapshot-keep': {
    kind: 'number',
    value: 'N',
    help: 'How many snapshots are kept (default: 14); 0: all',
  },
  'snapshot-keep-days': {
    kind: 'number',
    value: 'DAYS',
    help: 'How many days snapshots are kept (default: no limit)',
  },
} as const

type FirstOptions = Given<Operands, typeof firstOptions>['options']
type First = Pick<
  NewClusterInput,
  'labels' | 'subnet_ids' | 'extensions' | 'kernel_args' | 'maintenance_window' | 'snapshots'
>

function windowOf(o: FirstOptions): First['maintenance_window'] {
  const { 'window-day': days, 'window-from': from, 'window-minutes': minutes } = o
  const zone = o['window-time-zone']
  if (days.length === 0 && from === undefined && minutes === undefined && zone === undefined)
    return undefined
  const read = z.safeParse(MaintenanceWindow, { days, from, minutes, time_zone: zone ?? 'UTC' })
  if (!read.success)
    throw new CliError('usage', `Invalid window: ${read.error.issues[0]!.message}`, {
      hint: 'A window needs --window-day, --window-from and --window-minutes',
    })
  return read.data
}

async function snapshotsOf({ api }: Context, o: FirstOptions): Promise<First['snapshots']> {
  const keep = o['snapshot-keep']
  const schedule = given({
    at_hour: o['snapshot-at'],
    keep_count: keep === 0 ? null : keep,
    keep_days: o['snapshot-keep-days'],
  })
  const store = o['snapshot-store']
  const every = o['snapshot-every']
  if (store !== undefined)
    return {
      // The client validates the request before it sends it.
      every_hours: (every ?? 24) as 24,
      ...schedule,
      store_id: await noun.idOf(api, noun.store, store),
    }
  if (every !== undefined || Object.keys(schedule).length > 0)
    throw new CliError('usage', 'A schedule of snapshots needs --snapshot-store', {
      hint: 'steelyard store list shows the stores',
    })
  return undefined
}

/** The fields of the body of `clusterCreate`. @throws CliError */
export async function firstSettings(context: Context, options: FirstOptions): Promise<First> {
  const subnet_ids: string[] = []
  for (const subnet of options.subnet)
    subnet_ids.push(await noun.idOf(context.api, noun.subnet, subnet))
  return given({
    labels: options.label.length === 0 ? undefined : labelsOf(options.label),
    subnet_ids: subnet_ids.length === 0 ? undefined : subnet_ids,
    extensions: wanted('extension', options.extension, options['no-extensions']),
    kernel_args: wanted('kernel-arg', options['kernel-arg'], options['no-kernel-args']),
    maintenance_window: windowOf(options),
    snapshots: await snapshotsOf(context, options),
  })
}

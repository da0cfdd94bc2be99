import { command } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { changeOptions, runChange } from './run-change.ts'

export const clusterShrink = command({
  name: 'cluster shrink',
  summary:
    'Remove servers from a running cluster: each is drained and wiped, and comes back in maintenance mode. Workers first, then control planes one at a time.',
  operands: { cluster: noun.cluster },
  options: {
    server: {
      kind: 'text',
      value: 'SERVER',
      many: true,
      help: 'Servers that are drained, reset and removed',
    },
    force: {
      kind: 'text',
      value: 'SERVER',
      many: true,
      help: 'Servers that do not answer: removed without a reset, and reset as soon as they answer',
    },
    'keep-workload-disks': { kind: 'flag', help: 'Do not wipe the workload disks' },
    ...changeOptions,
  },
  examples: [
    'cluster shrink web --server w-4 --dry-run',
    'cluster shrink web --force brave-otter-042 --yes --wait',
  ],
  async run(context, { operands, options }) {
    const names = [...options.server, ...options.force]
    if (names.length === 0) throw new CliError('usage', 'Name the servers with --server or --force')
    const cluster = await noun.clusterOf(context.api, operands.cluster)
    const servers = names.map((name) => ({
      node_id: noun.memberId(cluster, name),
      keep_workload_disks: options['keep-workload-disks'],
      force: options.force.includes(name),
    }))
    return runChange(context, operands.cluster, { kind: 'shrink', servers }, options)
  },
})

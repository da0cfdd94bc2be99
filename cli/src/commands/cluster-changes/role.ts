import { command } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { changeOptions, runChange } from './run-change.ts'

export const clusterRole = command({
  name: 'cluster role',
  summary:
    'Give servers of a running cluster the other role: each is drained, reset and joins again. Workload disks are kept.',
  operands: { cluster: noun.cluster },
  options: {
    'control-plane': {
      kind: 'text',
      value: 'SERVER',
      many: true,
      help: 'Workers that become control planes',
    },
    worker: {
      kind: 'text',
      value: 'SERVER',
      many: true,
      help: 'Control planes that become workers',
    },
    ...changeOptions,
  },
  examples: [
    'cluster role web --control-plane w-1,w-2 --dry-run',
    'cluster role web --worker cp-5 --yes --wait',
  ],
  async run(context, { operands, options }) {
    const names = [...options['control-plane'], ...options.worker]
    if (names.length === 0)
      throw new CliError('usage', 'Name the servers with --control-plane or --worker')
    const cluster = await noun.clusterOf(context.api, operands.cluster)
    const servers = names.map((name) => ({
      node_id: noun.memberId(cluster, name),
      role: options['control-plane'].includes(name)
        ? ('control_plane' as const)
        : ('worker' as const),
    }))
    return runChange(context, operands.cluster, { kind: 'role', servers }, options)
  },
})

import type { ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import { command, given } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { CliError } from '../../exit.ts'
import { changeOptions, runChange } from './run-change.ts'

const many = { kind: 'text', many: true } as const

export const restoreCommand = command({
  name: 'cluster restore',
  summary:
    'Restore a cluster from a snapshot: on its own control planes, or on other servers if all its servers are lost.',
  operands: { cluster: noun.cluster, snapshot: noun.snapshot },
  options: {
    reset: {
      ...many,
      value: 'SERVERS',
      help: 'Control planes whose etcd is wiped: every one that answers and has etcd data',
    },
    'control-plane': {
      ...many,
      value: 'SERVERS',
      help: 'Other servers that become the control planes',
    },
    worker: { ...many, value: 'SERVERS', help: 'Other servers that become workers' },
    of: {
      kind: 'text',
      value: 'NAME',
      help: "Name of the snapshot's cluster; required if that is another cluster",
    },
    ...changeOptions,
  },
  examples: [
    'cluster restore web 0198c0de-0000-7000-8000-000000000001 --reset cp-1,cp-2,cp-3 --dry-run',
    'cluster restore web 0198c0de-0000-7000-8000-000000000001 --control-plane new-1,new-2,new-3 --worker new-4 --wait',
  ],
  async run(context, { operands, options }) {
    const { api } = context
    const names = [...options['control-plane'], ...options.worker]
    if (options.reset.length > 0 && names.length > 0)
      throw new CliError('usage', 'Give either --reset, or --control-plane and --worker')
    const twice = names.find((name, i) => names.indexOf(name) !== i)
    if (twice !== undefined) throw new CliError('usage', `${twice} is named twice`)
    const cluster = await api.call(clusterGet, {
      params: { id: await noun.idOf(api, noun.cluster, operands.cluster) },
    })
    const servers: NonNullable<Extract<ClusterChangeInput, { kind: 'restore' }>['servers']> = []
    for (const name of names)
      servers.push({
        node_id: await noun.idOf(api, noun.server, name),
        role: options['control-plane'].includes(name) ? 'control_plane' : 'worker',
      })
    const change = {
      kind: 'restore' as const,
      snapshot_id: await noun.idOf(api, noun.snapshot, operands.snapshot),
      reset: options.reset.map((name) => noun.memberId(cluster, name)),
      servers,
      ...given({ of: options.of }),
    }
    return runChange(context, operands.cluster, change, options)
  },
})

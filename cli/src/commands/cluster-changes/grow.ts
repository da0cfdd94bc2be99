import type { ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import { command, given } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { oneLine } from '../../text.ts'
import { createOptions, patchesOf, perServer, single } from '../cluster-create.ts'
import { changeOptions, runChange } from './run-change.ts'

const {
  'install-disk': installDisk,
  'workload-disk': workloadDisk,
  interface: link,
  patch,
} = createOptions

export const clusterGrow = command({
  name: 'cluster grow',
  summary:
    'Add servers to a running cluster: control planes one at a time, then all workers. The chosen disks are wiped.',
  operands: { cluster: noun.cluster },
  options: {
    'control-plane': {
      kind: 'text',
      value: 'SERVER',
      many: true,
      help: 'Servers that become control planes; their number must be odd at the end',
    },
    worker: { kind: 'text', value: 'SERVER', many: true, help: 'Servers that become workers' },
    'install-disk': installDisk,
    'workload-disk': workloadDisk,
    interface: link,
    patch: {
      ...patch,
      help: 'YAML file of a patch for one new server, or without SERVER for all others; the patch is named after the file',
    },
    ...changeOptions,
  },
  examples: [
    'cluster grow web --worker w-4,w-5 --dry-run',
    'cluster grow web --control-plane cp-4,cp-5 --yes --wait',
  ],
  async run(context, { operands, options }) {
    const names = [...options['control-plane'], ...options.worker]
    if (names.length === 0)
      throw new CliError('usage', 'Name the servers with --control-plane or --worker')
    const twice = names.find((name, i) => names.indexOf(name) !== i)
    if (twice !== undefined) throw new CliError('usage', `${oneLine(twice)} is named twice`)
    const installDisks = perServer('install-disk', options['install-disk'], names)
    const workloadDisks = perServer('workload-disk', options['workload-disk'], names)
    const interfaces = perServer('interface', options.interface, names)
    const patchOf = await patchesOf(options.patch, names)
    const servers: Extract<ClusterChangeInput, { kind: 'grow' }>['servers'] = []
    for (const name of names)
      servers.push({
        node_id: await noun.idOf(context.api, noun.server, name),
        role: options['control-plane'].includes(name) ? 'control_plane' : 'worker',
        ...given({
          interface: single('interface', interfaces, name),
          install_disk: single('install-disk', installDisks, name),
          workload_disks: workloadDisks.get(name),
          patch: patchOf(name),
        }),
      })
    return runChange(context, operands.cluster, { kind: 'grow', servers }, options)
  },
})

/** Changes the workload disks of a server of a running cluster. */
import { command } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { membersNamed } from './configure.ts'
import { changeOptions, runChange } from './run-change.ts'

export const disksCommand = command({
  name: 'cluster disks',
  summary:
    'Add or remove workload disks of a server of a cluster. Workload disks are wiped when the server leaves.',
  operands: { cluster: noun.cluster, server: noun.server },
  options: {
    add: {
      kind: 'text',
      value: 'DISK',
      many: true,
      help: 'Id or path of a disk that becomes a workload disk',
    },
    remove: {
      kind: 'text',
      value: 'DISK',
      many: true,
      help: 'Id or path of a workload disk to remove',
    },
    wipe: { kind: 'flag', help: 'Wipe the removed disks' },
    ...changeOptions,
  },
  examples: [
    'cluster disks web brave-otter-042 --add nvme2n1 --dry-run',
    'cluster disks web brave-otter-042 --remove nvme1n1 --wipe --wait',
  ],
  async run(context, { operands, options }) {
    if (options.add.length + options.remove.length === 0)
      throw new CliError('usage', 'Name a disk with --add or --remove')
    const [node_id] = await membersNamed(context, operands.cluster, [operands.server])
    return runChange(
      context,
      operands.cluster,
      {
        kind: 'disks',
        node_id: node_id!,
        add: options.add,
        remove: options.remove,
        wipe: options.wipe,
      },
      options,
    )
  },
})

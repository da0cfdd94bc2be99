import { clusterServerReplace } from '#contract/clusters/clusters.ts'
import { command, given } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { oneLine } from '../../text.ts'
import { showBegun } from '../../watch.ts'
import { confirmedDisks, withDisks } from '../confirm-disks.ts'
import { withLosses } from '../confirm-loss.ts'
import { changeOptions, runChange } from './run-change.ts'

export const clusterReplace = command({
  name: 'cluster replace',
  summary:
    'Replace a server of a running cluster, dead or alive, or a server that failed during the creation of its cluster. The disk of the replacement is wiped.',
  operands: {
    cluster: noun.cluster,
    server: { value: 'SERVER', help: 'Name or id of the server that leaves' },
  },
  options: {
    by: {
      kind: 'text',
      value: 'SERVER',
      help: 'Name or id of the server that takes its place. Required',
    },
    'install-disk': {
      kind: 'text',
      value: 'DISK',
      help: 'System disk of the new server, by id or path; in a running cluster',
    },
    'keep-workload-disks': {
      kind: 'flag',
      help: 'Do not wipe the workload disks of the server that leaves a running cluster',
    },
    ...changeOptions,
  },
  examples: [
    'cluster replace web brave-otter-042 --by calm-lake-007 --dry-run',
    'cluster replace web brave-otter-042 --by calm-lake-007 --yes --wait',
  ],
  async run(context, { operands, options }) {
    const { api } = context
    if (options.by === undefined)
      throw new CliError('usage', '--by is missing', {
        hint: 'steelyard server list --eligible shows the servers that can take its place',
      })
    const cluster = await noun.clusterOf(api, operands.cluster)
    const old = noun.memberId(cluster, operands.server)
    const node_id = await noun.idOf(api, noun.server, options.by)
    if (cluster.status === 'ready' || cluster.status === 'degraded') {
      const by = { node_id, ...given({ install_disk: options['install-disk'] }) }
      return runChange(
        context,
        operands.cluster,
        { kind: 'replace', node_id: old, by, keep_workload_disks: options['keep-workload-disks'] },
        options,
      )
    }
    const params = { id: cluster.id, node_id: old }
    const begun = await withDisks(
      context,
      [{ node_id }],
      confirmedDisks(options['confirm-disk']),
      (confirmed_disks) =>
        withLosses(context, options, (losses) =>
          api.call(clusterServerReplace, {
            params,
            body: { node_id, confirmed_disks, ...losses },
          }),
        ),
    )
    return showBegun(
      context,
      begun,
      options.wait,
      `${oneLine(options.by)} takes the place of ${oneLine(operands.server)} in ${oneLine(cluster.name)}`,
    )
  },
})

/** Changes patches on the servers of a running cluster, one server at a time. */
import { clusterGet } from '#contract/clusters/clusters.ts'
import { command, type Context } from '../../command.ts'
import { CliError } from '../../exit.ts'
import { readText } from '../../files.ts'
import * as noun from '../../nouns.ts'
import { oneLine } from '../../text.ts'
import { changeOptions, runChange } from './run-change.ts'

/**
 * The ids of named members of a cluster, in the order in which they were named. Throws CliError.
 */
export async function membersNamed(
  { api }: Context,
  cluster: string,
  names: readonly string[],
): Promise<string[]> {
  const { servers } = await api.call(clusterGet, {
    params: { id: await noun.idOf(api, noun.cluster, cluster) },
  })
  return names.map((name) => {
    const found = servers.find((s) => s.name === name || s.node_id === name)
    if (!found) throw new CliError('not_found', `The cluster has no server ${oneLine(name)}`)
    return found.node_id
  })
}

export const configureCommand = command({
  name: 'cluster configure',
  summary:
    'Change patches on the servers of a cluster, one server at a time; a server restarts only where Talos says so.',
  operands: { cluster: noun.cluster },
  options: {
    patch: {
      kind: 'text',
      value: 'NAME=FILE',
      many: true,
      help: 'Add or replace the patch NAME with the YAML of FILE',
    },
    remove: { kind: 'text', value: 'NAME', many: true, help: 'Remove the patch NAME' },
    weight: {
      kind: 'number',
      value: 'N',
      help: '0 to 999: a patch with a higher weight is merged later and wins (default 500)',
    },
    'take-back': {
      kind: 'text',
      value: 'OPERATION',
      help: 'Take back an earlier change of patches: they become again what they were before it',
    },
    mends: {
      kind: 'text',
      value: 'SERVER',
      many: true,
      help: 'A control plane that is not well and that this change mends: it is changed first',
    },
    server: {
      kind: 'text',
      value: 'SERVER',
      many: true,
      help: 'Only these servers, in this order (default: all, workers first)',
    },
    ...changeOptions,
  },
  examples: [
    'cluster configure web --patch sysctls=sysctls.yaml --dry-run',
    'cluster configure web --take-back 3f0c7a52-6b1e-4c6e-9f0a-2d8b7c1e5a44 --mends brave-otter-042',
    'cluster configure web --remove sysctls --server brave-otter-042 --yes --wait',
  ],
  async run(context, { operands, options }) {
    const patches = await Promise.all(
      options.patch.map(async (pair) => {
        const [name = '', file = ''] = pair.split(/=(.*)/s)
        if (name === '' || file === '')
          throw new CliError('usage', `--patch takes NAME=FILE, not ${oneLine(pair)}`)
        return {
          name,
          body: await readText(file),
          ...(options.weight !== undefined && { weight: options.weight }),
        }
      }),
    )
    const chosen =
      options.server.length === 0
        ? undefined
        : await membersNamed(context, operands.cluster, options.server)
    return runChange(
      context,
      operands.cluster,
      {
        kind: 'configure',
        patches,
        remove: options.remove,
        mends: options.mends,
        ...(options['take-back'] !== undefined && { take_back: options['take-back'] }),
        ...(chosen && { node_ids: chosen }),
      },
      options,
    )
  },
})

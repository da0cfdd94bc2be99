/**
 * The command that shows and changes the extensions and kernel arguments of a cluster's servers.
 */
import { clusterGet } from '#contract/clusters/clusters.ts'
import { clusterExtensions } from '#contract/clusters/extensions.ts'
import { command, type Command } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { table } from '../../table.ts'
import { changeOptions, runChange } from './run-change.ts'

/**
 * The given values; an empty list for `--no-…`; undefined if neither is given, so that nothing
 * changes.
 */
export function wanted(
  option: string,
  values: readonly string[],
  none: boolean,
): string[] | undefined {
  if (none && values.length > 0)
    throw new CliError('usage', `Give either --${option} or --no-${option}s`)
  return none ? [] : values.length > 0 ? [...values] : undefined
}

export const extensionCommands: Command[] = [
  command({
    name: 'cluster extensions',
    summary:
      'Set the extensions and kernel arguments of servers. The servers restart one after another with another image of their version. Without options: show them.',
    operands: { cluster: noun.cluster },
    options: {
      extension: {
        kind: 'text',
        value: 'NAME',
        help: 'An extension, such as siderolabs/gvisor; extensions that are not listed are removed',
        many: true,
      },
      'no-extensions': { kind: 'flag', help: 'Remove all extensions' },
      'kernel-arg': {
        kind: 'text',
        value: 'ARG',
        help: 'An extra kernel argument; arguments that are not listed are removed',
        many: true,
        whole: true,
      },
      'no-kernel-args': { kind: 'flag', help: 'Remove all extra kernel arguments' },
      server: {
        kind: 'text',
        value: 'SERVER',
        help: 'Servers to change (default: all)',
        many: true,
      },
      ...changeOptions,
    },
    examples: [
      'cluster extensions web',
      'cluster extensions web --extension siderolabs/gvisor --dry-run',
      'cluster extensions web --kernel-arg panic=10 --server brave-otter-042 --yes --wait',
    ],
    async run(context, { operands, options }) {
      const { api } = context
      const extensions = wanted('extension', options.extension, options['no-extensions'])
      const kernel_args = wanted('kernel-arg', options['kernel-arg'], options['no-kernel-args'])
      const id = await noun.idOf(api, noun.cluster, operands.cluster)
      if (extensions === undefined && kernel_args === undefined) {
        context.show(await api.call(clusterExtensions, { params: { id } }), ({ items }) =>
          table(
            context.terminal,
            items.filter(
              (s) =>
                options.server.length === 0 ||
                options.server.includes(s.name) ||
                options.server.includes(s.node_id),
            ),
            [
              { title: 'SERVER', text: (s) => s.name },
              {
                title: 'EXTENSIONS',
                text: (s) =>
                  s.extensions === null ? 'unknown' : s.extensions.join(', ') || 'none',
              },
              {
                title: 'KERNEL ARGUMENTS',
                text: (s) =>
                  s.kernel_args === null ? 'unknown' : s.kernel_args.join(' ') || 'none',
              },
              { title: 'REASON', text: (s) => s.reason ?? '' },
            ],
            'No servers',
          ),
        )
        return undefined
      }
      const cluster = await api.call(clusterGet, { params: { id } })
      const node_ids = options.server.map((name) => noun.memberId(cluster, name))
      const change = {
        kind: 'extensions' as const,
        ...(extensions !== undefined && { extensions }),
        ...(kernel_args !== undefined && { kernel_args }),
        ...(node_ids.length > 0 && { node_ids }),
      }
      return runChange(context, operands.cluster, change, options)
    },
  }),
]

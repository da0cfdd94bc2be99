/** Upgrades Talos on servers of several clusters. */
import { command } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { bulkOptions, runBulk } from './bulk.ts'

export const serverUpgradeCommand = command({
  name: 'server upgrade',
  summary:
    'Upgrade Talos on servers, by names or labels: each of their clusters takes a snapshot, if it has a store, and upgrades them one after another. All servers of a cluster that lack the version have to be chosen.',
  operands: { servers: { ...noun.server, many: true, optional: true } },
  options: {
    'talos-version': {
      kind: 'text',
      value: 'VERSION',
      help: 'Talos version that the servers get, such as v1.13.9',
    },
    'in-window': {
      kind: 'flag',
      help: 'Each cluster begins in its maintenance window',
    },
    ...bulkOptions,
  },
  examples: [
    'server upgrade -l rack=3 --talos-version v1.13.9 --dry-run',
    'server upgrade -l gen=r640 --talos-version v1.13.9 --yes --wait',
  ],
  run(context, { operands, options }) {
    const { 'talos-version': talos_version, 'in-window': in_window } = options
    if (talos_version === undefined) throw new CliError('usage', '--talos-version is missing')
    const act = { kind: 'upgrade', keep_workload_disks: false, talos_version, in_window } as const
    return runBulk(context, act, operands.servers, options)
  },
})

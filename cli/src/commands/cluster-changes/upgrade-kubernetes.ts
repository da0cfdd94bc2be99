/** Upgrades Kubernetes of a cluster. */
import { command } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { changeOptions, runChange } from './run-change.ts'
import { snapshotFields, snapshotOptions } from './snapshot-first.ts'

export const upgradeKubernetesCommand = command({
  name: 'cluster upgrade-kubernetes',
  summary: 'Upgrade Kubernetes of a cluster by at most one minor release; no server restarts.',
  operands: {
    cluster: noun.cluster,
    version: { value: 'VERSION', help: 'Version of Kubernetes, such as 1.36.3' },
  },
  options: {
    drain: {
      kind: 'flag',
      help: 'Move the workload off each server before its kubelet is updated',
    },
    'accept-removed-apis': {
      kind: 'flag',
      help: 'Upgrade even if programs still use APIs that the new version no longer serves',
    },
    ...snapshotOptions,
    ...changeOptions,
  },
  examples: [
    'cluster upgrade-kubernetes web 1.36.3 --dry-run',
    'cluster upgrade-kubernetes web 1.36.3 --in-window --yes',
  ],
  async run(context, { operands, options }) {
    const change = {
      kind: 'upgradeKubernetes',
      version: operands.version,
      drain: options.drain,
      accept_removed_apis: options['accept-removed-apis'],
      ...(await snapshotFields(context.api, options)),
    } as const
    return runChange(context, operands.cluster, change, options)
  },
})

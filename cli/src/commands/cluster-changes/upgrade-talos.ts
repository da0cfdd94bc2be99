/** Commands that upgrade Talos on a cluster's servers, and roll one server back. */
import { clusterGet } from '#contract/clusters/clusters.ts'
import { command, type Command } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { changeOptions, runChange } from './run-change.ts'
import { snapshotFields, snapshotOptions } from './snapshot-first.ts'

export const upgradeTalosCommands: Command[] = [
  command({
    name: 'cluster upgrade-talos',
    summary:
      'Upgrade Talos on the servers of a cluster, one after another: workers first, the leader of etcd last.',
    operands: {
      cluster: noun.cluster,
      version: { value: 'VERSION', help: 'Talos version, such as v1.13.9' },
    },
    options: {
      canary: {
        kind: 'text',
        value: 'SERVER',
        help: 'Server that is upgraded first; the others follow once it is healthy',
      },
      stage: {
        kind: 'flag',
        help: 'Install the new version during the next boot, for servers on which a normal upgrade fails',
      },
      ...snapshotOptions,
      ...changeOptions,
    },
    examples: [
      'cluster upgrade-talos web v1.13.9 --dry-run',
      'cluster upgrade-talos web v1.13.9 --canary brave-otter-042 --yes --wait',
    ],
    async run(context, { operands, options }) {
      const { api } = context
      const cluster = await noun.idOf(api, noun.cluster, operands.cluster)
      const canary =
        options.canary === undefined
          ? undefined
          : noun.memberId(await api.call(clusterGet, { params: { id: cluster } }), options.canary)
      const change = {
        kind: 'upgradeTalos' as const,
        version: operands.version,
        stage: options.stage,
        ...(canary !== undefined && { canary }),
        ...(await snapshotFields(api, options)),
      }
      return runChange(context, operands.cluster, change, options)
    },
  }),
  command({
    name: 'cluster rollback-talos',
    summary: 'Roll a server back to the Talos version that it ran before its last upgrade.',
    operands: {
      cluster: noun.cluster,
      server: { value: 'SERVER', help: 'Name or id of the server' },
    },
    options: changeOptions,
    examples: ['cluster rollback-talos web brave-otter-042 --yes --wait'],
    async run(context, { operands, options }) {
      const { api } = context
      const cluster = await noun.idOf(api, noun.cluster, operands.cluster)
      const node_id = noun.memberId(
        await api.call(clusterGet, { params: { id: cluster } }),
        operands.server,
      )
      return runChange(context, operands.cluster, { kind: 'rollbackTalos', node_id }, options)
    },
  }),
]

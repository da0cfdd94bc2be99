import { command, given } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { changeOptions, runChange } from './run-change.ts'

export const snapshotCommand = command({
  name: 'cluster snapshot',
  summary: 'Take a snapshot of the etcd of a cluster, and verify it by reading it back.',
  operands: { cluster: noun.cluster },
  options: {
    store: {
      kind: 'text',
      value: 'STORE',
      help: "Name or id of the store (default: the store of the cluster's schedule, or the only store)",
    },
    ...changeOptions,
  },
  examples: ['cluster snapshot web --yes --wait', 'cluster snapshot web --store offsite'],
  async run(context, { operands, options }) {
    const store_id =
      options.store === undefined
        ? undefined
        : await noun.idOf(context.api, noun.store, options.store)
    return runChange(
      context,
      operands.cluster,
      { kind: 'snapshot', ...given({ store_id }) },
      options,
    )
  },
})

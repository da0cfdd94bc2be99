/** The options of commands that take a snapshot of etcd before they change anything. */
import type { Api } from '../../api/client.ts'
import { type Given, given, type Operands } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'

export const snapshotOptions = {
  'no-snapshot': { kind: 'flag', help: 'Take no snapshot of etcd first' },
  store: {
    kind: 'text',
    value: 'STORE',
    help: "Name or id of the store of the snapshot (default: the store of the cluster's schedule, or the only store)",
  },
} as const

/** The fields of the change. @throws CliError */
export async function snapshotFields(
  api: Api,
  options: Given<Operands, typeof snapshotOptions>['options'],
): Promise<{ snapshot?: false; store_id?: string }> {
  const { store, 'no-snapshot': without } = options
  if (without && store !== undefined)
    throw new CliError('usage', 'Give either --store or --no-snapshot')
  return given({
    snapshot: without ? (false as const) : undefined,
    store_id: store === undefined ? undefined : await noun.idOf(api, noun.store, store),
  })
}

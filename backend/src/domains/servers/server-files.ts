/** Files that are made for one download: the talosconfig of a server, and its configuration with secrets masked. */
import { Problem } from '#contract/errors.ts'
import { canControlServer } from '#contract/servers.ts'
import { talosconfig } from '#talos/access/talosconfig.ts'
import { maskSecrets } from '#talos/config/mask.ts'
import { type Db, inTransaction } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Recorder } from '../../record.ts'
import type { ClusterAccess } from './for-clusters.ts'
import { present } from './present.ts'
import * as store from './store.ts'

export interface ServerFiles {
  /** @throws Problem not_found, server_not_in_cluster */
  talosconfig(caller: Caller, id: string): Promise<{ name: string; yaml: string }>
  /** @throws Problem not_found */
  config(id: string): Promise<{ name: string; yaml: string }>
}

const lifetimeMs = 24 * 3_600_000

export function serverFiles({ db, recorder: { record }, access }: { db: Db; recorder: Recorder; access: ClusterAccess }): ServerFiles {
  const known = async (id: string): Promise<store.ServerRow> => {
    const row = await store.byId(db, id)
    if (!row) throw new Problem('not_found', `Server ${id} not found`)
    return row
  }
  return {
    async talosconfig(caller, id) {
      const row = await known(id)
      const verdict = canControlServer(present(row, null))
      if (!verdict.ok) throw new Problem('server_not_in_cluster', verdict.reason)
      const isAdmin = caller.kind === 'user' && caller.scopes.includes('users:manage')
      const keys = await access.talosCredentials(row.cluster_id!, { role: isAdmin ? 'os:admin' : 'os:operator', lifetimeMs })
      if (!keys) throw new Problem('server_not_in_cluster', 'The cluster of the server is gone')
      const endpoints = await access.controlPlaneAddresses(row.cluster_id!)
      await inTransaction(db, (tx) => record(tx, caller, { action: 'server.talosconfig_minted', target: { kind: 'server', id, name: row.name }, after: { cluster: row.cluster_name } }))
      return { name: `talosconfig-${row.name}.yaml`, yaml: talosconfig({ context: row.cluster_name!, endpoints, nodes: [row.address], ...keys }) }
    },

    async config(id) {
      const row = await known(id)
      const yaml = row.cluster_id ? await access.renderedConfig(row.cluster_id, id) : null
      if (yaml === null) throw new Problem('not_found', `${row.name} has no configuration: it is in no cluster`)
      return { name: `${row.name}.yaml`, yaml: maskSecrets(yaml) }
    },
  }
}

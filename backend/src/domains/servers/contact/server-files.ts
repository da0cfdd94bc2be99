/** The talosconfig of a server, minted for one download and its user. */
import { Problem } from '#contract/errors.ts'
import { canControlServer } from '#contract/servers/servers.ts'
import { talosconfig } from '#talos/access/access.ts'
import { type Db, inTransaction } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import type { Recorder } from '../../../record.ts'
import type { ClusterAccess } from '../for-clusters.ts'
import { present } from '../present.ts'
import * as store from '../store.ts'

export interface ServerFiles {
  /** @throws Problem not_found, server_not_in_cluster */
  talosconfig(caller: Caller, id: string): Promise<{ name: string; yaml: string }>
}

const lifetimeMs = 24 * 3_600_000

export function serverFiles({ db, recorder: { record }, access }: { db: Db; recorder: Recorder; access: ClusterAccess }): ServerFiles {
  return {
    async talosconfig(caller, id) {
      const row = await store.byId(db, id)
      if (!row) throw new Problem('not_found', `Server ${id} not found`)
      const verdict = canControlServer(present(row, null))
      if (!verdict.ok) throw new Problem('server_not_in_cluster', verdict.reason)
      const isAdmin = caller.kind === 'user' && caller.scopes.includes('users:manage')
      const keys = await access.talosCredentials(row.cluster_id!, { role: isAdmin ? 'os:admin' : 'os:operator', lifetimeMs })
      if (!keys) throw new Problem('server_not_in_cluster', `The cluster ${row.cluster_name} is gone`)
      const endpoints = await access.controlPlaneAddresses(row.cluster_id!)
      const after = { cluster: row.cluster_name, hours: lifetimeMs / 3_600_000 }
      await inTransaction(db, (tx) => record(tx, caller, { action: 'server.talosconfig_minted', target: { kind: 'server', id, name: row.name }, after }))
      return { name: `talosconfig-${row.name}.yaml`, yaml: talosconfig({ context: row.cluster_name!, endpoints, nodes: [row.address], ...keys }) }
    },
  }
}

/**
 * Brings the configuration that was last rendered for a server of a cluster onto the machine. The same bytes twice are no change to Talos, so it
 * may be repeated; what Talos refuses is said and not tried again, because the bytes would be the same.
 */
import { createHash } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import { type Db, inTransaction } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import type { Recorder } from '../../record.ts'
import type { ClusterAccess, ForClusters } from '../servers/for-clusters.ts'

/** The key is the server's id. */
export const configuringQueue = 'server-config'
export const credentialsLifetimeMs = 3_600_000
const applyDeadlineMs = 60_000

export interface ConfiguringParts {
  readonly db: Db
  readonly recorder: Recorder
  readonly servers: Pick<ForClusters, 'forPlan' | 'connection'>
  readonly access: ClusterAccess
}

export function configuring({ db, recorder: { record }, servers, access }: ConfiguringParts): (job: Job) => Promise<void> {
  return async (job) => {
    const [server] = await servers.forPlan(db, [job.key]).catch((error: unknown) => {
      // Removed since.
      if (error instanceof Problem && error.code === 'not_found') return []
      throw error
    })
    if (!server?.cluster) return
    const yaml = await access.renderedConfig(server.cluster.id, server.id)
    const keys = await access.talosCredentials(server.cluster.id, { role: 'os:admin', lifetimeMs: credentialsLifetimeMs })
    if (yaml === null || !keys) return
    const tell = (result: 'ok' | 'invalid', after: object) =>
      inTransaction(db, (tx) =>
        record(tx, system, { action: 'server.configured', target: { kind: 'server', id: server.id, name: server.name }, result, after }),
      )
    const hash = createHash('sha256').update(yaml).digest('hex')
    const connection = await servers.connection(server.id)
    try {
      const { mode, warnings } = await job.effect(`configure/${hash.slice(0, 16)}`, () =>
        connection.secure(keys, (client) => client.applyConfiguration(yaml, { mode: 'auto' }), { signal: job.signal, deadlineMs: applyDeadlineMs }),
      )
      await tell('ok', { hash, mode, warnings })
    } catch (error) {
      if (!(error instanceof TalosError && error.kind === 'invalid_argument')) throw error
      await tell('invalid', { hash, reason: error.message })
    }
  }
}

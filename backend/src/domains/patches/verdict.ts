/** What happens when a configuration is saved: Talos's own dry run on a server in a cluster, nothing before the installation on a free one. */
import { Problem } from '#contract/errors.ts'
import type { Preview } from '#contract/patches.ts'
import { TalosError } from '#talos/client/errors.ts'
import { heldSentence } from '../../engine/holds.ts'
import type { ClusterAccess, ForClusters } from '../servers/for-clusters.ts'
import type { ServerFacts } from '../servers/present.ts'
import { credentialsLifetimeMs } from './configuring.ts'

export type Verdict = Preview['verdict']

export interface VerdictInput {
  readonly server: ServerFacts
  /** Secrets in clear: it goes to the machine, which has them. */
  readonly yaml: string
  /** The configuration is the server's real one, not a stand-in. */
  readonly isReal: boolean
  readonly servers: Pick<ForClusters, 'connection'>
  readonly access: ClusterAccess
  /** Held since a restore: nothing is sent to it. */
  readonly isHeld: boolean
  /** The caller may change the server. Texts of other callers are not sent to it. */
  readonly mayAsk: boolean
}

const afterRotation = 'Where the authorities of its cluster were changed outside of Steelyard, import the new secrets'

export async function verdictOf({ server, yaml, isReal, servers, access, isHeld, mayAsk }: VerdictInput): Promise<Verdict> {
  if (!server.cluster) return { kind: 'at_install', reason: 'Applied at install' }
  if (!isReal || server.status !== 'ready') return { kind: 'unknown', reason: `${server.name} is still joining ${server.cluster.name}` }
  if (isHeld) return { kind: 'unknown', reason: heldSentence(server.name) }
  if (!mayAsk)
    return {
      kind: 'unknown',
      reason: `${server.name} was not asked: only what those write who may change servers (servers:write) is sent to one for a dry run`,
    }
  const keys = await access.talosCredentials(server.cluster.id, { role: 'os:admin', lifetimeMs: credentialsLifetimeMs })
  if (!keys) return { kind: 'unknown', reason: `The cluster ${server.cluster.name} has no credentials` }
  try {
    const connection = await servers.connection(server.id)
    const { mode } = await connection.secure(keys, (client) => client.applyConfiguration(yaml, { mode: 'auto', dryRun: true }))
    return mode === 'reboot'
      ? { kind: 'reboot', reason: `${server.name} reboots to apply it` }
      : { kind: 'no_reboot', reason: `Applied on ${server.name} without a reboot` }
  } catch (error) {
    if (error instanceof TalosError && error.kind === 'invalid_argument') return { kind: 'not_allowed', reason: error.message }
    // The sweep that names changed authorities comes by every two minutes: until then this is what there is to say.
    if (error instanceof TalosError && (error.kind === 'refused' || error.kind === 'certificate'))
      return { kind: 'unknown', reason: `${server.name} did not answer a dry run: ${error.message}. ${afterRotation}` }
    if (error instanceof TalosError || error instanceof Problem) return { kind: 'unknown', reason: `${server.name} did not answer a dry run: ${error.message}` }
    throw error
  }
}

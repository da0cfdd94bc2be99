/**
 * Drift: a machine's configuration that was changed outside of Steelyard, for instance with
 * `talosctl patch`. Steelyard reads the configuration every few minutes and before sending a new
 * one, and compares it with the configuration sent last. Nothing is overwritten until a user
 * decides.
 */
import * as z from 'zod/mini'
import { operation, type Words } from '../operation.ts'
import { time } from '../page.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { ConfirmedLoss } from './losses.ts'
import type { Server } from './servers.ts'

export const driftStates = ['none', 'drifted', 'overwriting', 'unknown'] as const

export const Drift = z.object({
  /**
   * `unknown`: the configuration could not be read, `reason` explains why. `overwriting`: a user
   * chose to overwrite, and the configuration is being sent.
   */
  state: z.enum(driftStates),
  reason: z.nullable(z.string()),
  since: z.nullable(time),
  seen: z.nullable(z.string()),
  /**
   * The configuration sent last and the current one. Secrets and fields that may contain a secret
   * are masked for everybody. Null if equal.
   */
  diff: z.nullable(z.object({ before: z.string(), after: z.string() })),
  /** How the change would be kept; null if there is no change. */
  keep: z.nullable(
    z.object({
      /**
       * `patch`: the difference becomes a patch of the server. `base`: no patch can express it, so
       * the machine's configuration becomes the base that patches are merged onto. `secrets`: the
       * difference concerns keys of the cluster, which are imported for the cluster.
       */
      how: z.enum(['patch', 'base', 'secrets']),
      reason: z.string(),
    }),
  ),
})
export type Drift = z.infer<typeof Drift>

const Chosen = z.strictObject({
  seen: z
    .string()
    .check(z.regex(/^[0-9a-f]{64}$/, 'Use the `seen` value of the drift that you looked at')),
})

export const serverDrift = operation('serverDrift', 'GET /v1/nodes/{id}/drift', 'servers:read', {
  summary:
    'Reads the configuration of a server in a cluster and compares it with the one that Steelyard sent last.',
  answer: Drift,
  errors: ['server_not_in_cluster'],
})
export const serverDriftKeep = operation(
  'serverDriftKeep',
  'POST /v1/nodes/{id}/drift/keep',
  'servers:write',
  {
    summary:
      "Keeps changes made outside of Steelyard to a server's configuration: they become a patch, or the whole configuration becomes the base of the server's patches. Nothing is sent.",
    body: Chosen,
    answer: Drift,
    errors: [
      'server_not_in_cluster',
      'server_unreachable',
      'operation_running',
      'stale',
      'held_by_files',
    ],
  },
)
export const serverDriftOverwrite = operation(
  'serverDriftOverwrite',
  'POST /v1/nodes/{id}/drift/overwrite',
  'servers:write',
  {
    summary:
      "Overwrites changes made outside of Steelyard to a server's configuration, if the configuration is still the one that `seen` names.",
    body: z.extend(Chosen, { confirmed_loss: ConfirmedLoss }),
    answer: Drift,
    errors: [
      'server_not_in_cluster',
      'server_unreachable',
      'operation_running',
      'stale',
      'cluster_not_ready',
      'loss_not_confirmed',
    ],
  },
)

/** The sentence for a server that has drifted. */
export const driftSentence = 'Configuration was changed outside of Steelyard'

/** Steelyard sends no configuration to a server that has drifted. */
export const canConfigure = (server: Pick<Server, 'name' | 'drift'>): Verdict =>
  server.drift
    ? no(`${driftSentence}: look at the difference of ${server.name}, then keep or overwrite it`)
    : yes

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Drift: [
      Drift,
      'Changes made outside of Steelyard to the configuration of a machine, and how they would be kept.',
    ],
  },
  fields: {
    seen: 'The `seen` value of `serverDrift`. The request is refused if the configuration has changed since.',
  },
  bodies: {
    serverDriftKeep: { seen: '0000000000000000000000000000000000000000000000000000000000000000' },
    serverDriftOverwrite: {
      seen: '0000000000000000000000000000000000000000000000000000000000000000',
    },
  },
}

/**
 * A machine's configuration that somebody else has changed, such as with `talosctl patch`. It is read before anything is sent and every few minutes, and
 * compared with what the machine was given last. Nothing is overwritten until a person has chosen.
 */
import * as z from 'zod/mini'
import { operation } from '../operation.ts'
import { byId, time } from '../page.ts'
import { no, type Verdict, yes } from '../rule.ts'
import type { Server } from './servers.ts'

export const driftStates = ['none', 'drifted', 'overwriting', 'unknown'] as const

export const Drift = z.object({
  /** `unknown`: the machine could not be asked, and `reason` says why. `overwriting`: a person chose so, and it is being sent. */
  state: z.enum(driftStates),
  reason: z.nullable(z.string()),
  since: z.nullable(time),
  seen: z.nullable(z.string()),
  /** What the server was given last and what it holds now; secrets, and what may carry one, are masked for everybody. Null where nothing differs. */
  diff: z.nullable(z.object({ before: z.string(), after: z.string() })),
  /** How it would be kept; null where nothing differs. */
  keep: z.nullable(
    z.object({
      /**
       * `patch`: the difference becomes a patch of the server. `base`: it can't be said as a patch, so the machine's whole configuration becomes the one that
       * patches are merged onto. `secrets`: it is about keys of the cluster, which are imported there.
       */
      how: z.enum(['patch', 'base', 'secrets']),
      reason: z.string(),
    }),
  ),
})
export type Drift = z.infer<typeof Drift>

const Chosen = z.strictObject({ seen: z.string().check(z.regex(/^[0-9a-f]{64}$/, 'Take `seen` from the drift that you looked at')) })

export const serverDrift = operation({
  name: 'serverDrift',
  summary: 'Asks a server of a cluster for its configuration and compares it with what it was given last.',
  method: 'GET',
  path: '/v1/nodes/{id}/drift',
  scope: 'servers:read',
  params: byId,
  answer: Drift,
  errors: ['not_found', 'server_not_in_cluster'],
})
export const serverDriftKeep = operation({
  name: 'serverDriftKeep',
  summary: 'Keeps what others have changed in the configuration of a server: it becomes a patch, or the base of its configuration. Nothing is sent.',
  method: 'POST',
  path: '/v1/nodes/{id}/drift/keep',
  scope: 'servers:write',
  params: byId,
  body: Chosen,
  answer: Drift,
  errors: ['not_found', 'server_not_in_cluster', 'server_unreachable', 'operation_running', 'stale'],
})
export const serverDriftOverwrite = operation({
  name: 'serverDriftOverwrite',
  summary: 'Overwrites what others have changed in the configuration of a server with what it should be, if it still is what was looked at.',
  method: 'POST',
  path: '/v1/nodes/{id}/drift/overwrite',
  scope: 'servers:write',
  params: byId,
  body: Chosen,
  answer: Drift,
  errors: ['not_found', 'server_not_in_cluster', 'server_unreachable', 'operation_running', 'stale'],
})

/** The sentence that is shown wherever a server has drifted. */
export const driftSentence = 'Configuration was changed outside of Steelyard'

/** Nothing is sent to a server over changes of others. */
export const canConfigure = (server: Pick<Server, 'name' | 'drift'>): Verdict =>
  server.drift ? no(`${driftSentence}: look at the difference of ${server.name}, then keep or overwrite it`) : yes

/** What a user orders about the power of a server, as its operation keeps it. */
import * as z from 'zod/mini'
import { powerStates } from './state.ts'

export const powerTargets = ['on', 'off', 'cycle'] as const
export type PowerTarget = (typeof powerTargets)[number]
/** `graceful`: the server is asked to end by itself. `hard`: its power is cut. */
export const powerKinds = ['graceful', 'hard'] as const
export type PowerKind = (typeof powerKinds)[number]

export const PowerOrder = z.object({
  to: z._default(z.enum(powerTargets), 'on'),
  kind: z._default(z.enum(powerKinds), 'graceful'),
  seen: z._default(z.enum(powerStates), 'unknown'),
  /** Why an admin orders it although etcd would lose its majority; null if nobody does. */
  override: z._default(z.nullable(z.string()), null),
})
export type PowerOrder = z.infer<typeof PowerOrder>

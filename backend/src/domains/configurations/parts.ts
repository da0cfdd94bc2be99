/** Dependencies of configurations, and what their parts share. */
import type { Platform } from '../../platform.ts'
import type { Servers } from '../servers/api.ts'
import type { ClusterSide, Composing, Kept, LayerStore } from './api.ts'
import type { ComposingCore } from './composing/composing.ts'

export interface ConfigurationParts extends Platform {
  readonly servers: Pick<
    Servers,
    | 'forPlan'
    | 'takenBy'
    | 'connection'
    | 'locked'
    | 'noteDrift'
    | 'noteMoved'
    | 'notePending'
    | 'noteTrial'
    | 'get'
  >
  readonly layers: LayerStore
  readonly clusters: ClusterSide
}

/** What the parts of configurations that contact machines use of the others. */
export interface Core
  extends Composing, Pick<ComposingCore, 'factsOf' | 'baseOf' | 'hold' | 'refusedInsteadOf'> {
  readonly kept: Kept
}

/** Credentials with which a configuration is read or sent. */
export const adminCredentials = { role: 'os:admin', lifetimeMs: 3_600_000 } as const

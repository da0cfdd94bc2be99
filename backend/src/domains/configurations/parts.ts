/** Dependencies of configurations, and what their parts share. */
import { Problem } from '#contract/errors.ts'
import type { Platform } from '../../platform.ts'
import type { Servers } from '../servers/api.ts'
import type { ClusterSide, Composing, Kept, LayerStore } from './api.ts'
import type { ComposingCore } from './composing/composing.ts'

export interface ConfigurationParts extends Platform {
  readonly servers: Pick<
    Servers,
    | 'forPlan'
    | 'takenBy'
    | 'peersOf'
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
  extends
    Composing,
    Pick<ComposingCore, 'factsOf' | 'baseOf' | 'hold' | 'refusedInsteadOf' | 'isOfLayers'> {
  readonly kept: Kept
}

/**
 * Throws while an operation holds the server. Called before a machine is asked, which takes seconds,
 * and again with the server's row locked: an operation that begins in between, such as a rotation of
 * secrets, stores a configuration without the change, which would be lost. @throws Problem
 * operation_running
 */
export function demandIdle({
  name,
  operation_id,
}: {
  readonly name: string
  readonly operation_id: string | null
}): void {
  if (operation_id !== null)
    throw new Problem('operation_running', `An operation on ${name} has not ended`)
}

/** Credentials with which a configuration is read or sent. */
export const adminCredentials = { role: 'os:admin', lifetimeMs: 3_600_000 } as const

/** What other code may call of incidents. */
import type { FindingObject } from '#contract/findings/kinds.ts'
import type { Incident } from '#contract/incidents/incidents.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { StandingFinding } from '../findings/api.ts'

export { installation } from '../findings/api.ts'
export type { StandingFinding }

/** An incident with its findings, for the messages about it. */
export interface StandingIncident extends Pick<
  Incident,
  'id' | 'title' | 'effect' | 'severity' | 'since' | 'ended_at' | 'remedies'
> {
  /** The finding that is the cause of the others. */
  readonly cause: StandingFinding
  /** What the finding that takes the most says, if that is another one. */
  readonly worst: { readonly object: FindingObject; readonly reason: string } | null
  /** Its open findings; of an incident that has ended, all that it had. */
  readonly parts: readonly StandingFinding[]
  /** When it began within an hour. */
  readonly begins: readonly Date[]
  readonly isAssigned: boolean
  /** Id of the incident that it turned out to be part of. */
  readonly merged_into: string | null
}

export interface Incidents {
  /** Every open incident and these others, the worst first, as they are in this transaction. */
  readonly standing: (on: Db | Tx, ids: readonly string[]) => Promise<StandingIncident[]>
  /** Adds to the stories who was told. */
  readonly told: (
    tx: Tx,
    all: readonly { readonly id: string; readonly text: string }[],
    at: Date,
  ) => Promise<void>
}

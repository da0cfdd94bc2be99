/** What other code may call of findings. */
import type { SilenceTerms } from '#contract/alerts/silences.ts'
import type { Finding } from '#contract/findings/findings.ts'
import type { Attention } from '#contract/overview.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'
import type { FindingsThen } from './then/then.ts'

export type { FindingsThen }
export { remediesOf } from './remedies.ts'
export { installation } from './store.ts'

/** A finding with the times at which it began within an hour, the last of them once more. */
export interface StandingFinding extends Finding {
  readonly began_at: Date
  readonly begins: readonly Date[]
  /** Of a finding about servers that fell silent together: those that are silent now. */
  readonly silent: readonly { readonly id: string; readonly name: string }[]
}

/** An open finding, as a part of an incident. */
export interface OpenPart extends Pick<
  Finding,
  'id' | 'kind' | 'object' | 'cluster' | 'datacenter' | 'reason'
> {
  readonly since: Date
  readonly operationId: string | null
  /** Its object is a server that is a control plane of a cluster. */
  readonly isControlPlane: boolean
  /** Number of servers that it concerns. */
  readonly servers: number
  /** Ids of the open findings that caused it, or that have the same cause. */
  readonly causes: readonly string[]
  /** Findings of one kind with the same cause are one incident: its name. */
  readonly cause: string | null
  /** It began anew while it was open: many more servers fell silent. */
  readonly isAnew: boolean
  /** The incident that it was part of. */
  readonly incidentId: string | null
}

/** A finding that has ended just now. */
export interface EndedPart {
  readonly incidentId: string
  /** The open finding that tells of it from now on. */
  readonly intoId: string | null
}

/** The incident that a finding is part of. */
export interface KeptIn {
  readonly id: string
  /** Who takes care of it. */
  readonly taken: { readonly by: string; readonly at: Date } | null
}

/** What findings ask of incidents, which are built on them. */
export interface IncidentKeeping {
  /**
   * Joins the open findings to incidents, in the transaction that stores them. Returns the incident
   * of each finding.
   */
  readonly keep: (
    tx: Tx,
    open: readonly OpenPart[],
    ended: readonly EndedPart[],
    at: Date,
  ) => Promise<ReadonlyMap<string, KeptIn>>
  /** Assigns the incident to who acknowledged a finding of it. `note`: null keeps its note. */
  readonly acknowledged: (
    tx: Tx,
    caller: UserCaller,
    incidentId: string,
    note: string | null,
  ) => Promise<void>
}

export interface Findings {
  /** Says of the open findings of an incident that somebody takes care of them; null: nobody. */
  readonly taken: (tx: Tx, incidentId: string, by: KeptIn['taken']) => Promise<void>
  /** The findings of a time of the past. */
  readonly past: FindingsThen
  /**
   * Judges everything now and stores the findings. Does nothing while another process judges. After
   * `start`, it runs by itself; tests call it directly.
   */
  readonly judge: () => Promise<void>
  /**
   * The open findings of objects that the caller may read, in groups. `silences`: those in force;
   * what they are about is only counted.
   */
  readonly attention: (caller: UserCaller, silences: readonly SilenceTerms[]) => Promise<Attention>
  /**
   * Every open finding and those that these incidents had, the worst first, as they are in this
   * transaction.
   */
  readonly standing: (on: Db | Tx, incidentIds: readonly string[]) => Promise<StandingFinding[]>
}

import type { WorstFinding } from '#contract/findings/findings.ts'
import type { Audit } from '../audit/api.ts'
import type { KnownClusters } from '../cluster-facts/api.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { History } from '../history/api.ts'
import type { Measurements } from '../measurements/api.ts'
import type { Operations } from '../operations/api.ts'
import type { FaceParts } from './membership.ts'
import type { ServersDomain } from './servers.ts'

/** What the calls on servers need of other domains. */
export interface CallParts extends FaceParts {
  readonly measurements: Measurements
  readonly history: Pick<History, 'past'>
  /** What each object showed of its findings at a time of the past. */
  readonly worstThen: (at: Date) => Promise<ReadonlyMap<string, WorstFinding>>
  readonly servers: ServersDomain
  readonly operations: Operations
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly audit: Pick<Audit, 'events'>
  readonly clusters: Pick<
    KnownClusters,
    'talosCredentials' | 'controlPlaneAddresses' | 'forgetServer' | 'machines'
  >
}

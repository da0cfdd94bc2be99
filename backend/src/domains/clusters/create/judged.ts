import type { Eligibility } from '#contract/servers/servers.ts'
import type { OfferedVersions } from '../../images/api.ts'
import type { ServerFacts, Wanted } from '../../servers/api.ts'

export interface Surroundings {
  /** Servers by id. A requested server that is missing here doesn't exist. */
  readonly candidates: ReadonlyMap<string, ServerFacts>
  readonly datacenter: { readonly id: string; readonly code: string } | null
  readonly nameTaken: boolean
  readonly subnets: readonly { readonly name: string; readonly cidr: string }[]
  /**
   * Addresses in use and what uses them: servers' dialled and reported addresses, and endpoints of
   * other clusters.
   */
  readonly used: readonly {
    readonly address: string
    readonly by: string
    readonly node_id?: string
  }[]
  /** Names of other clusters whose servers reach their Kubernetes API by the asked endpoint. */
  readonly sharing: readonly string[]
  readonly versions: OfferedVersions
  /** The eligibility checks of a server for its role in this cluster. */
  readonly eligibility: (server: ServerFacts, wanted: Wanted) => readonly Eligibility[]
}

export interface Finding {
  readonly check: string
  readonly ok: boolean
  readonly message: string
  /** The request field of the finding. */
  readonly field?: string
  /** A conflict with the current state, such as a taken server: 409 instead of 422. */
  /** The check may pass later by itself (`contract/rule.ts`). */
  readonly for_now?: true
  readonly conflict?: 'name_taken' | 'server_taken' | 'not_eligible' | 'disk_not_confirmed'
}

export type Find = (
  check: string,
  problem: string | null,
  good: string,
  more?: Pick<Finding, 'field' | 'conflict'>,
) => void

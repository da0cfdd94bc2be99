import type { Platform } from '../../platform.ts'
import type { KnownClusters } from '../cluster-facts/api.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { Operations } from '../operations/api.ts'
import type { Servers } from '../servers/api.ts'
import type { Accounts } from './accounts.ts'
import type { Clients } from './clients.ts'
import type { BmcPolicy } from './policy.ts'

/** What the domain needs of others. */
export interface BmcParts extends Platform {
  readonly servers: Servers
  readonly operations: Operations
  readonly datacenters: Pick<Datacenters, 'find' | 'names'>
  readonly clusters: { readonly machines: Pick<KnownClusters['machines'], 'whyNotPowerOff'> }
}

/** What its files share. */
export interface BmcWorld extends BmcParts {
  readonly policy: BmcPolicy
  readonly accounts: Accounts
  readonly clients: Clients
  /** Says that a BMC is due. */
  readonly wake: () => void
}

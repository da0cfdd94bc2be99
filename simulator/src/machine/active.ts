/** What a running machine has in effect. */
import type { Loaded } from '../config/load.ts'
import type { NodeConfig } from '../config/node-config.ts'

export interface ActiveConfig {
  text: string
  loaded: Loaded
  /** Null if the configuration has no main document: the machine then stays in maintenance. */
  node: NodeConfig | null
  /** When it was activated, wall-clock time in ms. */
  since: number
}

/**
 * How the API on port 50000 answers: not at all, to any client (maintenance), or only to clients
 * with a certificate of the cluster. A configured worker without a certificate is `dark`.
 */
export type ApiMode = 'off' | 'maintenance' | 'secured' | 'dark'

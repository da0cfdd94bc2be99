/** What other domains may call of BMCs. */
import type { Bmc } from '#contract/bmcs/bmcs.ts'

export interface Bmcs {
  /** The BMC of a server; null without one. */
  readonly ofServer: (serverId: string) => Promise<Bmc | null>
}

/** What other code may call of findings. */
import type { SilenceTerms } from '#contract/alerts/silences.ts'
import type { Finding } from '#contract/findings/findings.ts'
import type { Attention } from '#contract/overview.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { UserCaller } from '../../http/caller.ts'

export { installation } from './store.ts'

/** A finding with the times at which it began within an hour, the last of them once more. */
export interface StandingFinding extends Finding {
  readonly began_at: Date
  readonly begins: readonly Date[]
  /** Of a finding about servers that fell silent together: those that are silent now. */
  readonly silent: readonly { readonly id: string; readonly name: string }[]
}

export interface Findings {
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
  /** Every open finding and these others, the worst first, as they are in this transaction. */
  readonly standing: (on: Db | Tx, ids: readonly string[]) => Promise<StandingFinding[]>
}

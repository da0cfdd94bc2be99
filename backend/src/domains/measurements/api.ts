/** What other code may call of measurements. */
import type { Usage } from '#talos/client/usage.ts'
import type { Tx } from '../../db/db.ts'
import type { Kind, Names } from './series.ts'

/** The values of an object at a time in ms since 1970. Those that are left out are unknown. */
type At<K extends Kind> = (ms: number) => Readonly<Partial<Record<Names<K>, number | null>>>
/** `capacity`: all servers together. */
export type SimulatedObject =
  | { readonly kind: 'server'; readonly id: string; readonly at: At<'server'> }
  | { readonly kind: 'cluster'; readonly id: string; readonly at: At<'cluster'> }
  | { readonly kind: 'capacity'; readonly at: At<'capacity'> }

export interface Measurements {
  /**
   * Notes a contact with a server, and what it has said.
   * @param at in ms since 1970
   */
  readonly note: (
    serverId: string,
    at: number,
    contact: { readonly answered: boolean; readonly usage: Usage | null },
  ) => void
  /** Stores what was noted in minutes that are over, or everything if `isLast`. */
  readonly flush: (isLast: boolean) => Promise<void>
  /** Stores what a cluster showed at this time. The first values of a minute stay. */
  readonly writeCluster: (
    tx: Tx,
    clusterId: string,
    at: number,
    values: Readonly<Record<Names<'cluster'>, number | null>>,
  ) => Promise<void>
  /**
   * Makes up the values from `from` to now, once in the life of an installation: a later call
   * changes nothing and returns false. Answers then name the time before which values are
   * simulated (`simulated_before`). Throws unless the installation's servers are simulated
   * (`STEELYARD_SIMULATE`).
   */
  readonly writePast: (
    tx: Tx,
    past: { readonly from: Date; readonly objects: readonly SimulatedObject[] },
  ) => Promise<boolean>
}

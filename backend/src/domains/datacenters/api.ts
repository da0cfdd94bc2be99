/** What other domains may call of datacenters. */
import type { Db, Tx } from '../../db/db.ts'

export interface DatacenterName {
  readonly id: string
  readonly code: string
  readonly city_name: string
  readonly country_code: string
  readonly latitude: number | null
  readonly longitude: number | null
}

export interface Datacenters {
  /**
   * The datacenter, locked against removal until the transaction ends. Null if it doesn't exist.
   */
  readonly find: (on: Db | Tx, id: string) => Promise<DatacenterName | null>
  /** All datacenters, by code. */
  readonly names: (on?: Db | Tx) => Promise<DatacenterName[]>
}

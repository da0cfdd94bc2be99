/** The table of `migrations/0007_images.sql`, as the query builder sees it. */
import type { ColumnType, Generated } from 'kysely'
import type { architectures, ImageFormat } from '#contract/images.ts'

type Time = ColumnType<Date, Date, Date>
type OptionalTime = ColumnType<Date | null, Date | null | undefined, Date | null>

export interface ImageTable {
  id: Generated<string>
  talos_version: string
  arch: (typeof architectures)[number]
  secureboot: boolean
  extensions: string[]
  kernel_args: string[]
  format: ImageFormat
  datacenter_id: string | null
  token_id: string | null
  public_url: string
  factory_url: string
  factory_simulated: Generated<boolean>
  schematic_id: string
  registered_at: OptionalTime
  reason: string | null
  created_by: string | null
  created_at: Time
  updated_at: Time
  version: Generated<number>
}

export interface ImageTables {
  image: ImageTable
}

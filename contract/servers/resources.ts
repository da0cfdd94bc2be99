/** What a server reports of its hardware. */
import * as z from 'zod/mini'
import { Disk } from '../disks/disks.ts'

const text = z.optional(z.string())
const amount = z.optional(z.number())
const several = <T extends z.core.$ZodType>(item: T) => z._default(z.array(item), [])

/**
 * A server's hardware, as the specification defines it. Missing lists become empty; all fields but
 * `id` are optional. Sizes in bytes, max_speed in MHz.
 */
export const Resources = z.object({
  node_addresses: several(z.string()),
  processors: several(
    z.object({
      id: z.string(),
      socket: text,
      manufacturer: text,
      product_name: text,
      cpu_cores: amount,
      thread_count: amount,
      max_speed: amount,
    }),
  ),
  memory: several(
    z.object({ id: z.string(), size: amount, manufacturer: text, device_locator: text }),
  ),
  disks: several(Disk),
  interfaces: several(
    z.object({
      id: z.string(),
      link_state: z.optional(z.boolean()),
      driver: text,
      product: text,
      vendor: text,
      hardware_addr: text,
    }),
  ),
})
export type Resources = z.infer<typeof Resources>

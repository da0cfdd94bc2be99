/** What stands, what runs, what failed: one call for the first page. Unknown capacity is null, never 0. */
import * as z from 'zod/mini'
import { operation } from './operation.ts'
import { time } from './page.ts'
import { Operation } from './operations.ts'
import { Subnet } from './network/subnet.ts'

const amounts = (of: z.ZodMiniNumber) => z.object({ total: of, in_clusters: of, free: of })
const Amount = amounts(z.int())
/** The disks of a thousand servers pass 2^53 bytes: from there on a sum is right to some bytes, and no safe integer. */
const Bytes = amounts(z.number().check(z.gte(0)))

/** In the order of their urgency. */
const attentionKinds = ['cluster_failed', 'cluster_degraded', 'cluster_troubled', 'server_unreachable', 'server_not_ready', 'server_drifted'] as const
const Attention = z.object({
  kind: z.enum(attentionKinds),
  id: z.uuid(),
  name: z.string(),
  /** Since when it is so; null where nobody noted it. */
  since: z.nullable(time),
  reason: z.nullable(z.string()),
})
export type Attention = z.infer<typeof Attention>

export const Overview = z.object({
  /** What is not as it should be now, the most urgent first, at most ten of them; and how many there are in all. */
  attention: z.object({ total: z.int(), items: z.array(Attention) }),
  servers: z.object({
    total: z.int(),
    maintenance: z.int(),
    ready: z.int(),
    reachable: z.int(),
    /** They don't answer though nothing is done to them. */
    unreachable: z.int(),
    /** They don't answer because something is done to them: they install, or restart on our order. */
    away: z.int(),
    unconfirmed: z.int(),
  }),
  clusters: z.object({ total: z.int(), by_status: z.record(z.string(), z.int()) }),
  capacity: z.array(
    z.object({
      /** null: servers in no datacenter. */
      datacenter: z.nullable(
        z.object({
          id: z.uuid(),
          code: z.string(),
          city_name: z.string(),
          country_code: z.string(),
          latitude: z.nullable(z.number()),
          longitude: z.nullable(z.number()),
        }),
      ),
      servers: z.int(),
      compute_units: Amount,
      vcpu: Amount,
      memory_bytes: Bytes,
      disk_bytes: Bytes,
      /** Servers whose hardware is not known and which are in none of the sums. */
      unknown_servers: z.int(),
    }),
  ),
  /** The nearest to full, at most five; those whose use is unknown are left out. */
  subnets: z.array(Subnet),
  running: z.array(Operation),
  failures: z.array(Operation),
  /** STEELYARD_DIAL_NETWORKS is empty: no server can be dialled until it names the networks that they stand in. */
  dials_nowhere: z.boolean(),
})
export type Overview = z.infer<typeof Overview>

export const overviewGet = operation({
  name: 'overviewGet',
  summary: 'What stands, what runs, what failed and what needs attention now; parts that the caller may not read are empty.',
  method: 'GET',
  path: '/v1/overview',
  scope: 'signed_in',
  answer: Overview,
})

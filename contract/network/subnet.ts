/** What a subnet is answered as, by itself: the overview shows some without the rules by which they are written. */
import * as z from 'zod/mini'
import { time } from '../page.ts'

/** Active: the cluster was seen to hold the pool as we want it. Draining: no new address is handed out, those in use are waited for. */
export const subnetStatuses = ['unassigned', 'applying', 'active', 'draining', 'error'] as const
export type SubnetStatus = (typeof subnetStatuses)[number]
export const subnetPurposes = ['workload', 'management'] as const

const ClusterName = z.object({ id: z.uuid(), name: z.string() })

export const Subnet = z.object({
  id: z.uuid(),
  name: z.string(),
  type: z.literal(['IPv4', 'IPv6']),
  cidr: z.string(),
  gateway: z.nullable(z.string()),
  vlan_id: z.nullable(z.int()),
  /** Addresses and `a-b` ranges in their one spelling, sorted and disjoint. */
  exclude: z.array(z.string()),
  /** Network and broadcast address are handed out too: for space that is routed, not on a link. */
  first_and_last: z.boolean(),
  purpose: z.enum(subnetPurposes),
  datacenter: z.object({ id: z.uuid(), code: z.string() }),
  /** A workload subnet has at most one. */
  clusters: z.array(ClusterName),
  status: z.enum(subnetStatuses),
  /** What it waits for, or why it is not as it should be. */
  reason: z.nullable(z.string()),
  /** Addresses that may be handed out: usable ones without gateway and exclusions. null: more than a number can say. */
  total: z.nullable(z.int()),
  /** Of those, seen in use. null: the cluster has not told. */
  used: z.nullable(z.int()),
  observed_at: z.nullable(time),
  version: z.int(),
  created_at: time,
  updated_at: time,
})
export type Subnet = z.infer<typeof Subnet>

/**
 * Schema of a subnet in responses. Separate from the rules in `subnet-rules.ts`, which the overview
 * doesn't need.
 */
import type { Words } from '../operation.ts'
import * as z from 'zod/mini'
import { LeftOut } from '../bounds/rows.ts'
import { codeText, sentenceText } from '../bounds/fields.ts'
import { changed, time } from '../page.ts'

/**
 * Active: the cluster has the wanted pool. Draining: no new addresses are assigned, and Steelyard
 * waits until the used addresses are released.
 */
export const subnetStatuses = ['unassigned', 'applying', 'active', 'draining', 'error'] as const
export type SubnetStatus = (typeof subnetStatuses)[number]
export const subnetPurposes = ['workload', 'management'] as const

const ClusterName = z.object({ id: z.uuid(), name: codeText })

export const Subnet = z.object({
  id: z.uuid(),
  name: codeText,
  type: z.literal(['IPv4', 'IPv6']),
  cidr: codeText,
  gateway: z.nullable(codeText),
  vlan_id: z.nullable(z.int()),
  /** Addresses and `a-b` ranges in canonical spelling, sorted and disjoint. */
  exclude: z.array(z.string()),
  /**
   * Whether the first and last address may be assigned too, for routed space that is not on a link.
   */
  first_and_last: z.boolean(),
  purpose: z.enum(subnetPurposes),
  datacenter: z.object({ id: z.uuid(), code: codeText }),
  /** A workload subnet has at most one cluster. */
  clusters: z.array(ClusterName),
  status: z.enum(subnetStatuses),
  /** What the subnet is waiting for, or what is wrong. */
  reason: z.nullable(sentenceText),
  /**
   * Number of assignable addresses: usable ones without gateway and exclusions. null: above the
   * safe integers.
   */
  total: z.nullable(z.int()),
  /** Number of assignable addresses in use. null: unknown. */
  used: z.nullable(z.int()),
  observed_at: z.nullable(time),
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
  ...changed,
})
export type Subnet = z.infer<typeof Subnet>

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Subnet: [
      Subnet,
      'Addresses that are routed to a datacenter. A workload subnet is the address pool of one cluster.',
    ],
  },
}

/** A change of the address of a cluster's Kubernetes API. */
import * as z from 'zod/mini'
import { endpointText } from '../clusters.ts'

export const ChangeEndpoint = z.strictObject({
  kind: z.literal('endpoint'),
  /** Address or DNS name of the Kubernetes API, or `https://host:6443`. */
  endpoint: endpointText,
  /**
   * True: the endpoint is an unused address in the servers' network, held by the control planes.
   */
  virtual_ip: z._default(z.boolean(), false),
  /**
   * True: continue even if Steelyard itself can't reach the new endpoint, for example a load
   * balancer in another network.
   */
  accept_unchecked: z._default(z.boolean(), false),
})

/** The address or name of a cluster's Kubernetes API, as users enter it. */
import * as z from 'zod/mini'
import { parseAddress } from '../network/addresses.ts'
import { unreachableReason } from '../network/special-ranges.ts'

/**
 * A DNS name whose last label is no decimal or hexadecimal number: URL parsers would treat the host
 * as a malformed address (https://url.spec.whatwg.org/#ends-in-a-number-checker).
 */
const dnsName =
  /^(?=.{1,253}$)(?!(?:.*\.)?(?:\d+|0x[0-9a-f]*)$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/
/** Host of an entered endpoint: `https://host:6443/`, `[::1]:6443`, or the bare host. */
export const endpointHost = (endpoint: string): string =>
  endpoint
    .replace(/^https:\/\//, '')
    .replace(/\/$/, '')
    .replace(/^\[(.*)\](?::6443)?$/, '$1')
    .replace(/^([^:]*):6443$/, '$1')

/**
 * Hosts of the endpoints that control planes hold as virtual IPs: two while the endpoint changes,
 * because both are valid until the end.
 */
export const virtualHosts = (cluster: {
  readonly endpoint: string
  readonly virtual_ip: boolean
  readonly other_endpoint?: string | null | undefined
  readonly other_virtual_ip?: boolean | undefined
}): string[] => [
  ...(cluster.virtual_ip ? [endpointHost(cluster.endpoint)] : []),
  ...(cluster.other_virtual_ip && cluster.other_endpoint
    ? [endpointHost(cluster.other_endpoint)]
    : []),
]

export const endpointText = z.string().check(
  z.trim(),
  z.refine(
    (e) => parseAddress(endpointHost(e)) !== null || dnsName.test(endpointHost(e).toLowerCase()),
    {
      error: ({ input }) =>
        /[^:]:(?!6443\/?$)\d+\/?$/.test(String(input))
          ? 'Leave the port out: the Kubernetes API is always on 6443, also behind a load balancer'
          : 'Enter an IP address or a DNS name',
    },
  ),
  z.refine((e) => unreachableReason(endpointHost(e)) === null, {
    error: ({ input }) => unreachableReason(endpointHost(String(input)))!,
  }),
)

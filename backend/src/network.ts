/**
 * Networks as written in settings. `talos-fleet/dial-policy.ts` decides which addresses may be
 * dialled.
 */
import {
  type Address,
  type Cidr,
  contains,
  formatAddress,
  parseAddress,
  parseCidr,
} from '#contract/network/addresses.ts'

export type Network = { readonly cidr: Cidr; contains(address: string): boolean }

/** IPv4 peers of a dual-stack socket have IPv4-mapped IPv6 addresses. */
const read = (address: string): Address | null =>
  parseAddress(address.replace(/^::ffff:(?=\d+\.)/i, ''))

const network = (cidr: Cidr): Network => ({
  cidr,
  contains: (text) => {
    const address = read(text)
    return address !== null && contains(cidr, address)
  },
})

/** Parses a CIDR or a single address; null if the text is neither. */
export function readNetwork(text: string): Network | null {
  const address = parseAddress(text)
  const cidr = address ? parseCidr(`${text}/${address.family === 4 ? 32 : 128}`) : parseCidr(text)
  return cidr && network(cidr)
}

const loopback = ['127.0.0.0/8', '::1/128'].map((text) => readNetwork(text)!)
export const isLoopback = (address: string): boolean => loopback.some((n) => n.contains(address))

/** Whether a URL always refers to the machine that opens it: a loopback or wildcard address. */
export function onlyHere(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '0.0.0.0' ||
    host === '::' ||
    isLoopback(host)
  )
}

/**
 * Key by which requests of a source are counted. For IPv6 it is the /64 of the link, because a
 * machine may use any address in it (RFC 4291, 2.5.1).
 */
export function sourceOf(ip: string): string {
  const address = read(ip)
  if (!address) return 'unknown'
  if (address.family === 4) return formatAddress(address)
  return `${formatAddress({ family: 6, value: (address.value >> 64n) << 64n })}/64`
}

/**
 * Source of a request for limits; undefined if the address is shared by many users: loopback and
 * trusted proxies.
 */
export const countedSource = (ip: string, trusted: readonly Network[]): string | undefined =>
  isLoopback(ip) || trusted.some((network) => network.contains(ip)) ? undefined : sourceOf(ip)

/**
 * The proxy for an address, from the variables that curl and Go read too: HTTPS_PROXY, HTTP_PROXY
 * and NO_PROXY, or their lower-case names.
 */
import { BlockList, isIP } from 'node:net'
import { CliError } from '../exit.ts'
import { oneLine } from '../text.ts'

type Env = Readonly<Record<string, string | undefined>>

const either = (env: Env, name: string): string | undefined =>
  env[name.toLowerCase()]?.trim() || env[name]?.trim() || undefined

/**
 * An address in the one form that others can be compared with: without brackets, an IPv6 address as
 * RFC 5952 writes it, an IPv4 address that is mapped into IPv6 as IPv4. Other texts without a dot
 * at their end.
 */
function plain(host: string): string {
  const bare = host.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  if (isIP(bare) !== 6 || bare.includes('%')) return bare
  const short = new URL(`http://[${bare}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short)
  if (!mapped) return short
  return mapped
    .slice(1)
    .map((part) => Number.parseInt(part, 16))
    .flatMap((part) => [part >> 8, part & 255])
    .join('.')
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || plain(host) === '::1' || /^127(?:\.\d+){3}$/.test(plain(host))

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Whether an entry of NO_PROXY names the host: a name with all names below it, or a network. */
function names(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [start = '', bits] = entry.split('/')
  if (bits !== undefined) {
    const network = start.replace(/^\[(.*)\]$/, '$1')
    if (isIP(network) === 0 || isIP(host) === 0 || !/^\d{1,3}$/.test(bits)) return false
    if (Number(bits) > (isIP(network) === 6 ? 128 : 32)) return false
    const list = new BlockList()
    list.addSubnet(network, Number(bits), familyOf(network))
    return list.check(host, familyOf(host))
  }
  const named = entry.replace(/^\*?\./, '')
  // An IPv6 address has a port only behind brackets.
  const [, address, its] =
    (isIP(named) === 6 ? null : /^(.*?)(?::(\d+))?$/.exec(named)) ?? ([named, named] as const)
  if (its !== undefined && its !== port) return false
  const name = plain(address ?? '')
  return name !== '' && (host === name || (isIP(host) === 0 && host.endsWith(`.${name}`)))
}

/**
 * The proxy for `url`, or null for none. This machine is always reached without one. Throws
 * CliError `usage` for an address that no proxy can have.
 */
export function proxyFor(url: URL, env: Env): URL | null {
  const isTls = url.protocol === 'https:'
  const text = either(env, isTls ? 'HTTPS_PROXY' : 'HTTP_PROXY')
  const host = plain(url.hostname.toLowerCase())
  const port = url.port || (isTls ? '443' : '80')
  const without = (either(env, 'NO_PROXY') ?? '').toLowerCase().split(/[\s,]+/)
  if (text === undefined || isLoopback(url.hostname)) return null
  if (without.some((entry) => names(entry, host, port))) return null
  const address = text.includes('://') ? text : `http://${text}`
  const proxy = URL.canParse(address) ? new URL(address) : null
  if (!proxy || !['http:', 'https:'].includes(proxy.protocol))
    throw new CliError(
      'usage',
      `${isTls ? 'HTTPS' : 'HTTP'}_PROXY is no address of a proxy, such as http://proxy.example.com:3128: ${oneLine(text.replace(/\/\/[^@/]*@/, '//…@'))}`,
    )
  return proxy
}

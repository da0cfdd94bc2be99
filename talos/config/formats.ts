/** Forms of values that Talos checks when it loads or validates a configuration. */
import { isIP } from 'node:net'

const unitsMs: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** Milliseconds of a Go duration such as `1h30m`, or undefined (Go `time.ParseDuration`). */
export function durationMs(text: string): number | undefined {
  const match = /^([-+]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)){1,8}$/.exec(text)
  if (text === '0') return 0
  if (match === null) return undefined
  const total = [
    ...text.replace(/^[-+]/, '').matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy),
  ].reduce((sum, [, number, unit]) => sum + Number(number) * unitsMs[unit!]!, 0)
  return match[1] === '-' ? -total : total
}

/**
 * A duration in Go's format: `8760h` → `8760h0m0s`, `90s` → `1m30s`. Other text is returned
 * unchanged.
 */
export function goDuration(text: string): string {
  const total = durationMs(text)
  if (total === undefined) return text
  if (total === 0) return '0s'
  if (Math.abs(total) < 1000) return Math.abs(total) >= 1 ? `${total}ms` : text
  const sign = total < 0 ? '-' : ''
  const seconds = Math.abs(total) / 1000
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  const rest = `${Math.round((seconds % 60) * 1e9) / 1e9}s`
  if (hours > 0) return `${sign}${hours}h${minutes}m${rest}`
  return minutes > 0 ? `${sign}${minutes}m${rest}` : `${sign}${rest}`
}

/** An address with prefix length, as Go's netip accepts it: no zone, no leading zeros. */
export function isCidr(text: string): boolean {
  const match = /^([0-9a-fA-F.:]+)\/(0|[1-9]\d{0,2})$/.exec(text)
  if (match === null) return false
  const family = isIP(match[1]!)
  return family !== 0 && Number(match[2]) <= (family === 4 ? 32 : 128)
}

export function isAddress(text: string): boolean {
  return isIP(text) !== 0
}

export function isCidrOrAddress(text: string): boolean {
  return isAddress(text) || isCidr(text)
}

/** Bits of a network's address: `11000000…` for 192.0.0.0/8 and any longer network. */
export function addressBits(text: string): string {
  const [address = ''] = text.split('/')
  if (isIP(address) === 4)
    return address
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('')
  const [head = '', tail] = ipv6Groups(address).split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':'))
  const [first, last] = [groups(head), groups(tail ?? '')]
  const all = [
    ...first,
    ...Array.from({ length: 8 - first.length - last.length }, () => '0'),
    ...last,
  ]
  return all.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('')
}

/** The address with its last 32 bits in hexadecimal, if they are written as an IPv4 address. */
const ipv6Groups = (address: string): string =>
  address.replace(/(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/, (_, ...parts: string[]) => {
    const [a, b, c, d] = parts.slice(0, 4).map(Number)
    return `${(a! * 256 + b!).toString(16)}:${(c! * 256 + d!).toString(16)}`
  })

/**
 * Length of a network's prefix; null if the text is no network or its address has bits after the
 * prefix.
 */
export function prefixLength(text: string): number | null {
  if (!isCidr(text)) return null
  const length = Number(text.split('/')[1])
  return addressBits(text).slice(length).includes('1') ? null : length
}

/** The unspecified addresses 0.0.0.0 and ::. */
export function isUnspecified(text: string): boolean {
  const [address = ''] = text.split('/')
  return isIP(address) !== 0 && /^[0.:]+$/.test(address)
}

export function isMac(text: string): boolean {
  return /^([0-9a-fA-F]{2}[:-]){5}([0-9a-fA-F]{2}[:-]){0,2}[0-9a-fA-F]{2}$/.test(text)
}

/** `host:port`, IPv6 in brackets. */
export function isHostPort(text: string): boolean {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]*):(\d{1,5})$/.exec(text)
  return match !== null && Number(match[2]) <= 65_535
}

export function isAddressPort(text: string): boolean {
  return isHostPort(text) && isAddress(text.slice(0, text.lastIndexOf(':')).replace(/^\[|\]$/g, ''))
}

/** Padded base64, possibly with line breaks, as Go's decoder accepts it. */
export function isBase64(text: string): boolean {
  const whole = text.replace(/[\r\n]/g, '')
  return whole.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(whole)
}

/** A routing table by number or by one of its names (Talos `nethelpers.RoutingTable`). */
export function isRoutingTable(text: string): boolean {
  return (
    ['unspec', 'default', 'main', 'local'].includes(text) ||
    (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= 252)
  )
}

export function isDuration(text: string): boolean {
  return durationMs(text) !== undefined
}

/** A DNS name: labels of at most 63 characters, 253 characters in all. */
export function isDnsName(text: string): boolean {
  return (
    text.length <= 253 &&
    /^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62}(\.[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*[._]?$/.test(text)
  )
}

/** The reason why a text isn't a valid endpoint URL, or undefined if it is valid. */
export function endpointProblem(text: string): string | undefined {
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(text)
  if (match === null) return 'is not a URL such as https://10.0.0.10:6443'
  if (!/^https?$/.test(match[1]!))
    return `has the scheme ${match[1]}; only http and https are possible`
  const host = match[2]!.replace(/^[^@]*@/, '')
  const name = host.replace(/:\d*$/, '')
  const port = host.slice(name.length + 1)
  if (port !== '' && Number(port) > 65_535) return `has the port ${port}`
  if (name.startsWith('[') ? !isAddress(name.slice(1, -1)) : !isAddress(name) && !isDnsName(name))
    return `has the host ${name || '(none)'}`
  return undefined
}

/** Kubernetes' qualified name: an optional DNS prefix and a name of at most 63 characters. */
export function isQualifiedName(text: string): boolean {
  const parts = text.split('/')
  const name = parts.at(-1)!
  const prefix = parts.length === 2 ? parts[0]! : undefined
  if (
    parts.length > 2 ||
    name.length > 63 ||
    !/^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/.test(name)
  )
    return false
  return (
    prefix === undefined ||
    (prefix.length <= 253 &&
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(prefix))
  )
}

/** Kubernetes' name of an object: a DNS name in lower case (RFC 1123). */
export const isDnsSubdomain = (text: string): boolean =>
  text.length <= 253 &&
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text)

export function isLabelValue(text: string): boolean {
  return text.length <= 63 && /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/.test(text)
}

/** Version in an image's tag: `1.36.3` for `…:v1.36.3@sha256:…`. */
export function kubernetesVersionOf(image: string): string | undefined {
  return /:v(\d+\.\d+\.\d+[^]*)/.exec(image.split('@', 1)[0]!)?.[1]
}

/** Bytes of a size as people write it: `10GiB`, `500 MB`; undefined for anything else. */
export function sizeBytes(text: string): number | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,6})?)\s*([kmgtpe]?)(i?)b?$/i.exec(text.trim())
  if (match === null) return undefined
  const power = ' kmgtpe'.indexOf(match[2]!.toLowerCase() || ' ')
  return Number(match[1]) * (match[3] === '' ? 1000 : 1024) ** power
}

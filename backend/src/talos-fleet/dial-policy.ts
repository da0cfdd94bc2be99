/**
 * Decides whether an address may be dialled. Exactly the checked address is dialled: no name is
 * resolved, no redirect followed, no proxy used. Addresses come from users and from machines, and
 * both may be hostile.
 */
import {
  type Address,
  type Cidr,
  contains,
  formatAddress,
  formatCidr,
  hostsOf,
  parseAddress,
  parseCidr,
  readCidr,
  sizeOf,
} from '#contract/network/addresses.ts'
import { Problem } from '#contract/errors.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { count } from '#contract/words.ts'

const cidr = (text: string): Cidr => parseCidr(text)!

/** The part of the loopback network that the simulator uses. */
const simulated = cidr('127.20.0.0/16')

/**
 * Networks that are never dialled, regardless of the setting: this machine, link-local and non-host
 * addresses, cloud metadata services. IPv6 ranges that embed IPv4 addresses are refused (RFC 6052
 * and 3056), because they could be used to bypass this list.
 */
export const never: Readonly<Record<string, readonly Cidr[]>> = {
  'is this machine itself': ['127.0.0.0/8'].map(cidr),
  'is a metadata service': [
    '100.100.100.200/32',
    '168.63.129.16/32',
    '192.0.0.192/32',
    'fd00:ec2::254/128',
    'fd20:ce::254/128',
  ].map(cidr),
  'is link-local, where metadata services are': ['169.254.0.0/16'].map(cidr),
  'is link-local': ['fe80::/10'].map(cidr),
  'is site-local': ['fec0::/10'].map(cidr),
  'carries an IPv4 address': ['64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32'].map(cidr),
  'is in the reserved range ::/96': ['::/96'].map(cidr),
  'is not the address of a single host': ['0.0.0.0/8', '224.0.0.0/3', 'ff00::/8'].map(cidr),
}

const dialPorts = [50_000, 6443] as const

/** Maximum number of addresses in a scanned network: a /22. */
const largestScan = 1024n

export interface DialSettings {
  /** `STEELYARD_DIAL_NETWORKS`, parsed. */
  readonly networks: readonly Cidr[]
  /** Addresses of this machine's interfaces. They may change, so they are read at each check. */
  readonly own: () => readonly string[]
  /** `STEELYARD_SIMULATE` is set: the simulator's part of the loopback network may be dialled. */
  readonly simulate: boolean
}

/** A network of usual size that contains the address, as an example value for the setting. */
export function around(address: string): string {
  const read = readCidr(`${address}/${address.includes(':') ? 64 : 24}`)
  return read.ok ? formatCidr(read.cidr) : (read.corrected ?? address)
}

export type DialPolicy = ReturnType<typeof dialPolicy>

export function dialPolicy({ networks, own, simulate }: DialSettings) {
  const listed =
    networks.length === 0 ? 'it is empty' : `it contains ${networks.map(formatCidr).join(', ')}`

  const check = (text: string, port: number): Verdict => {
    const address = parseAddress(text)
    if (!address || formatAddress(address) !== text)
      return no(`${shown(text)} is not an IP address in its plain form`)
    if (!dialPorts.some((p) => p === port))
      return no(`Port ${port} is not dialled: only ${dialPorts.join(' and ')} are`)
    const isSimulated = simulate && contains(simulated, address)
    if (!isSimulated) {
      const why = Object.keys(never).find((reason) =>
        never[reason]!.some((network) => contains(network, address)),
      )
      if (why !== undefined) return no(`${text} ${why}, and is never dialled`)
      if (own().some((mine) => same(mine, address)))
        return no(`${text} is an address of this machine itself and is never dialled`)
    }
    if (networks.some((network) => contains(network, address))) return yes
    return no(
      `${text} is not in STEELYARD_DIAL_NETWORKS (${listed}): add the network of your servers to that setting, such as ${around(text)}, and start Steelyard again`,
    )
  }

  const demand = (address: string, port: number): void => {
    const verdict = check(address, port)
    if (!verdict.ok) throw Problem.of('dial_refused', verdict)
  }

  return {
    /** Whether `address` (a literal in canonical spelling) may be dialled on `port`. */
    check,
    /** @throws Problem `dial_refused` with the verdict's sentence */
    demand,
    /**
     * Converts user input to addresses in canonical spelling, without duplicates. All of them may
     * be dialled.
     * @throws Problem `dial_refused` or `invalid`, naming the first wrong entry
     */
    read({
      addresses,
      cidr,
    }: {
      addresses?: readonly string[] | undefined
      cidr?: string | undefined
    }): string[] {
      const read =
        cidr === undefined
          ? (addresses ?? []).map((text, i) => readOne(text, `addresses.${i}`))
          : readNetwork(cidr)
      const unique = [...new Set(read)]
      for (const address of unique) demand(address, dialPorts[0])
      return unique
    },
  }
}

function readOne(text: string, field: string): string {
  const address = parseAddress(text)
  if (!address) {
    const why = `${shown(text)} is not an IP address in its plain form${adviceOn(text)}`
    throw new Problem('dial_refused', why, { [field]: why })
  }
  return formatAddress(address)
}

/** What to change in an entry that contains an address, or a name; empty if that isn't clear. */
function adviceOn(text: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text)?.[1]
  if (mapped !== undefined) return `: write ${mapped}`
  if (/^\S+[,;\s]+\S/.test(text)) return ': give one address in each entry'
  if (text.includes('%')) return ': leave the zone out'
  if (/^[\d.]+:\d+$|^\[.+\]/.test(text)) return ': leave the port out, Talos has its own'
  if (parseAddress(text.split('/', 1)[0]!) !== null)
    return ': leave the prefix out, or give the network instead of addresses'
  return /[g-z]/i.test(text) ? ': names are not looked up, give the address' : ''
}

/** The addresses of the hosts of a network, at most a /22. @throws Problem dial_refused */
export function readNetwork(text: string): string[] {
  const refuse = (why: string) => new Problem('dial_refused', why, { cidr: why })
  const reading = readCidr(text)
  if (!reading.ok)
    throw refuse(
      reading.corrected === null
        ? `${shown(text)} is not a network such as 10.1.2.0/24`
        : `Host bits must be zero. Did you mean ${reading.corrected}?`,
    )
  if (sizeOf(reading.cidr) > largestScan)
    throw refuse(
      `${formatCidr(reading.cidr)} is too large: at most ${count(largestScan)} addresses at once (a /22)`,
    )
  return [...hostsOf(reading.cidr)].map(formatAddress)
}

/** Quotes user input in a message: shortened, without control characters. */
export const shown = (text: string): string =>
  JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text).replaceAll(
    /[^\x20-\x7e…]/g,
    '�',
  )

/** Whether an address of an interface is this address. */
export function same(mine: string, address: Address): boolean {
  // Addresses of interfaces may have zones (`fe80::1%eth0`), which parsed addresses never have.
  const parsed = parseAddress(mine.split('%', 1)[0]!)
  return parsed !== null && parsed.family === address.family && parsed.value === address.value
}

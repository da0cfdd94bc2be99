/**
 * Decides whether an address may be asked as a BMC. BMCs are on a network of their own, so the
 * networks are those of `STEELYARD_BMC_NETWORKS`, not those of servers. Exactly the checked address
 * is asked: no name is resolved, no redirect followed, no proxy used.
 */
import { Problem } from '#contract/errors.ts'
import { bmcPorts } from '#contract/bmcs/bmcs.ts'
import {
  type Cidr,
  contains,
  formatAddress,
  formatCidr,
  parseAddress,
  parseCidr,
} from '#contract/network/addresses.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import {
  around,
  type DialSettings,
  never,
  readNetwork,
  same,
  shown,
} from '../../talos-fleet/dial-policy.ts'

/** The part of the loopback network that simulated BMCs use. */
const simulated: Cidr = parseCidr('127.21.0.0/16')!

export interface BmcPolicy {
  /** Whether the address, a literal in its usual form, may be asked on the port. */
  readonly check: (address: string, port: number) => Verdict
  /** The address in its usual form. @throws Problem `dial_refused`, for the form's field */
  readonly read: (text: string, port: number, field: string) => string
  /** The addresses of a network. @throws Problem `dial_refused` */
  readonly readNetwork: (text: string, port: number) => string[]
}

export function bmcPolicy({ networks, own, simulate }: DialSettings): BmcPolicy {
  const listed =
    networks.length === 0 ? 'it is empty' : `it contains ${networks.map(formatCidr).join(', ')}`

  const check: BmcPolicy['check'] = (text, port) => {
    const address = parseAddress(text)
    if (!address || formatAddress(address) !== text)
      return no(`${shown(text)} is not an IP address in its plain form`)
    const isSimulated = simulate && contains(simulated, address)
    if (!bmcPorts.some((p) => p === port))
      return no(`BMCs are asked on port ${bmcPorts.join(' or ')}, not ${port}`)
    if (isSimulated) return yes
    const why = Object.keys(never).find((reason) =>
      never[reason]!.some((network) => contains(network, address)),
    )
    if (why !== undefined) return no(`${text} ${why}, and is never asked`)
    if (own().some((mine) => same(mine, address)))
      return no(`${text} is an address of this machine itself and is never asked`)
    if (networks.some((network) => contains(network, address))) return yes
    return no(
      `${text} is not in STEELYARD_BMC_NETWORKS (${listed}): add the network of your BMCs to that setting, such as ${around(text)}, and start Steelyard again`,
    )
  }
  const demand = (address: string, port: number, field: string): string => {
    const verdict = check(address, port)
    if (!verdict.ok) throw new Problem('dial_refused', verdict.reason, { [field]: verdict.reason })
    return address
  }
  return {
    check,
    read(text, port, field) {
      const address = parseAddress(text)
      if (!address) {
        const why = `${shown(text)} is not an IP address in its plain form${/[g-z]/i.test(text) ? ': names are not looked up, give the address' : ''}`
        throw new Problem('dial_refused', why, { [field]: why })
      }
      return demand(formatAddress(address), port, field)
    },
    readNetwork: (text, port) => readNetwork(text).map((address) => demand(address, port, 'cidr')),
  }
}

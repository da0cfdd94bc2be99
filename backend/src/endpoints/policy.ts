/**
 * Decides to which addresses the endpoints of stores and channels may resolve. Users choose
 * endpoints, so without these rules an endpoint could reach internal services (SSRF). The address is checked
 * right before the connection, which is made to exactly this address, so a name that changes its
 * address (DNS rebinding) is refused as well. Redirects are never followed.
 */
import { lookup as resolveName } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import {
  type Cidr,
  contains,
  formatCidr,
  parseAddress,
  parseCidr,
} from '#contract/network/addresses.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { Refusal } from '../refusal.ts'
import { never } from '../talos-fleet/dial-policy.ts'

/** Private networks (RFC 1918, RFC 6598, RFC 4193). */
const privateNetworks = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
].map((text) => parseCidr(text)!)
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map((a) => a.address.split('%', 1)[0]!),
  )

/** The endpoint resolves to an address that is not allowed. The message is a sentence for users. */
export class EndpointRefused extends Refusal {
  override readonly name = 'EndpointRefused'
}

/** What the sentences of a refusal name. */
interface Terms {
  /** The setting that lists the networks. */
  readonly setting: 'STEELYARD_STORE_NETWORKS' | 'STEELYARD_ALERT_NETWORKS'
  /** What a public address needs: ends a sentence. */
  readonly encrypted: string
}
const https = 'the endpoint must begin with https://'
const ofStores: Terms = { setting: 'STEELYARD_STORE_NETWORKS', encrypted: https }

/**
 * @param networks the operator allows every address in these networks
 */
export function endpointPolicy(
  networks: readonly Cidr[],
  { setting, encrypted }: Terms = ofStores,
) {
  const listed =
    networks.length === 0 ? 'it is empty' : `it contains ${networks.map(formatCidr).join(', ')}`

  const check = (text: string, isEncrypted: boolean): Verdict => {
    // A resolver may return an IPv4 address inside of an IPv6 address, which would pass the rules
    // for IPv6.
    const address = parseAddress(text)
    if (!address) return no(`${text.slice(0, 64)} is not an IP address in its usual form`)
    if (networks.some((network) => contains(network, address))) return yes
    const why = Object.keys(never).find((reason) =>
      never[reason]!.some((network) => contains(network, address)),
    )
    const add = `The operator of Steelyard can allow it in ${setting} (${listed})`
    if (why !== undefined) return no(`${text} ${why}. ${add}`)
    if (ownAddresses().includes(text))
      return no(`${text} is an address of the machine that Steelyard runs on. ${add}`)
    if (privateNetworks.some((network) => contains(network, address)))
      return no(`${text} is in a private network. ${add}`)
    return isEncrypted ? yes : no(`${text} is a public address, so ${encrypted}`)
  }

  const demand = (host: string, address: string, isEncrypted: boolean) => {
    const verdict = check(address, isEncrypted)
    if (!verdict.ok)
      throw new EndpointRefused(
        host === address
          ? `The endpoint is refused: ${verdict.reason}`
          : `The endpoint is refused: ${host} is ${verdict.reason}`,
      )
  }

  return {
    check,
    /**
     * Checks a host that is an address, for which Node doesn't call `lookup`.
     * @throws EndpointRefused
     */
    demandHost(host: string, isEncrypted: boolean): void {
      const bare = host.replace(/^\[(.*)\]$/, '$1')
      if (/^[\d.]+$|:/.test(bare)) demand(bare, bare, isEncrypted)
    },
    /**
     * The option `lookup` of `http.request`: resolves a name and refuses it unless all its
     * addresses are allowed.
     */
    lookup:
      (isEncrypted: boolean): LookupFunction =>
      (host, options, done) => {
        resolveName(host, { all: true }, (error, addresses) => {
          if (error) return done(error, [])
          try {
            for (const { address } of addresses) demand(host, address, isEncrypted)
          } catch (refusal) {
            return done(refusal as Error, [])
          }
          const [first] = addresses
          if (options.all) done(null, addresses)
          else done(null, first!.address, first!.family)
        })
      },
  }
}
export type EndpointPolicy = ReturnType<typeof endpointPolicy>

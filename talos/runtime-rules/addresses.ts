/** Static and virtual addresses, their gateways, and the parts of bonds and bridges. */
import { addressOf, contains, includes, isSame, prefixOf } from '../network-effect/addresses.ts'
import type { Report } from '../config/report.ts'
import type { Configuration, Hit, RuntimeRule } from './rule.ts'

const bareOf = (text: string): string => text.split('/', 1)[0]!
const equal = (a: string, b: string): boolean => {
  const [one, other] = [addressOf(bareOf(a)), addressOf(bareOf(b))]
  return one !== undefined && other !== undefined && isSame(one, other)
}

/**
 * Networks whose addresses no other machine reaches, and what they are (RFC 6890). Simulated machines
 * have addresses of the loopback network.
 */
const special = [
  { network: '0.0.0.0/8', what: 'the address of no machine' },
  { network: '169.254.0.0/16', what: 'an address of one link only' },
  { network: '224.0.0.0/4', what: 'an address of many machines (multicast)' },
  { network: '255.255.255.255/32', what: 'the address of all machines (broadcast)' },
  { network: '::/128', what: 'the address of no machine' },
  { network: 'fe80::/10', what: 'an address of one link only' },
  { network: 'ff00::/8', what: 'an address of many machines (multicast)' },
]

/** The pod and service networks. */
const ofKubernetes = ({ main }: Configuration) =>
  (['podSubnets', 'serviceSubnets'] as const).flatMap((key) =>
    main
      .texts('cluster', 'network', key)
      .map(({ text }) => ({ text, what: key === 'podSubnets' ? 'pod' : 'service' })),
  )

/** What tells the link of an address from others: its name, or its place in the old form. */
const linkOf = ({
  document,
  path,
}: {
  readonly document: Report
  readonly path: readonly string[]
}): string => document.text('name') || path.slice(0, path.lastIndexOf('addresses')).join('.')

/** Parts of bonds, bridges and VRFs, in both forms, with the link that they become a part of. */
function* membersOf(config: Configuration) {
  const { main } = config
  for (const path of config.interfaces())
    for (const kind of ['bond', 'bridge'])
      for (const member of main.texts(...path, kind, 'interfaces'))
        yield { document: main, ...member, master: main.text(...path, 'interface') }
  for (const document of config.of('BondConfig', 'BridgeConfig', 'VRFConfig'))
    for (const member of document.texts('links'))
      yield { document, ...member, master: document.text('name') }
}

/** Addresses and routes of a link, in both forms. */
function* linksOf(config: Configuration) {
  const { main } = config
  for (const path of config.interfaces())
    for (const one of [path, ...main.items(...path, 'vlans').map((vlan) => vlan.path)])
      yield {
        document: main,
        hasDhcp: main.flag(...one, 'dhcp'),
        addresses: main.texts(...one, 'addresses').map(({ text }) => text),
        routes: main.items(...one, 'routes'),
      }
  const leased = new Set(config.of('DHCPv4Config').map((document) => document.text('name')))
  for (const document of config.of('LinkConfig', 'VLANConfig', 'BondConfig', 'BridgeConfig'))
    yield {
      document,
      hasDhcp: leased.has(document.text('name')),
      addresses: document.items('addresses').map(({ path }) => document.text(...path, 'address')),
      routes: document.items('routes'),
    }
}

export const addressRules: readonly RuntimeRule[] = [
  {
    id: 'address-without-length',
    source:
      'Talos internal/app/machined/pkg/controllers/network/address_config.go: netip.ParsePrefix of a VLAN’s address fails, and it is skipped',
    level: 'refuse',
    *find({ main }) {
      for (const { path } of main.items('machine', 'network', 'interfaces'))
        for (const vlan of main.items(...path, 'vlans'))
          for (const { path: where, text } of main.texts(...vlan.path, 'addresses'))
            if (!text.includes('/'))
              yield {
                document: main,
                path: where,
                sentence: `The address ${text} of a VLAN needs the length of its network, such as ${text}/24: Talos leaves it out without a word`,
              }
    },
  },
  {
    id: 'address-alone',
    source:
      'Talos internal/app/machined/pkg/controllers/network/address_config.go, parseIPOrIPPrefix: all bits',
    level: 'warn',
    *find(config) {
      for (const { text, ...place } of config.addresses())
        if (!text.includes('/') && !place.path.includes('vlans') && addressOf(text))
          yield {
            ...place,
            sentence: `${text} is an address without a network, so no gateway is in its network: ${text}/24 has one`,
          }
    },
  },
  {
    id: 'address-of-network',
    source: 'RFC 1122, 3.2.1.3: the first and last address of a network belong to no machine',
    level: 'warn',
    *find(config) {
      for (const { text, ...place } of config.addresses()) {
        const prefix = prefixOf(text)
        if (prefix === undefined || prefix.family === 6 || prefix.length > 30) continue
        const size = 1n << BigInt(32 - prefix.length)
        const rest = prefix.value % size
        if (rest === 0n || rest === size - 1n)
          yield {
            ...place,
            sentence: `${bareOf(text)} is the ${rest === 0n ? 'network' : 'broadcast'} address of its network ${text}, so others may not reach it`,
          }
      }
    },
  },
  {
    id: 'address-twice',
    source:
      'Linux answers for an address on one link; with it on two, replies may leave by the other',
    level: 'warn',
    *find(config) {
      const seen: { readonly text: string; readonly link: string }[] = []
      for (const { text, ...place } of config.addresses()) {
        const link = linkOf(place)
        // Lists of several patches may repeat an address of one link, which Talos sets once.
        if (seen.some((one) => equal(one.text, text) && one.link !== link))
          yield { ...place, sentence: `${bareOf(text)} is there twice, on two links` }
        seen.push({ text, link })
      }
    },
  },
  {
    id: 'gateway-on-link',
    source: 'Linux net/ipv4/fib_semantics.c, fib_check_nh_v4_gw: "Nexthop has invalid gateway"',
    level: 'warn',
    *find(config): Generator<Hit> {
      for (const { document, hasDhcp, addresses, routes } of linksOf(config)) {
        if (hasDhcp || addresses.length === 0) continue
        const onLink = routes
          .filter(({ path }) => document.text(...path, 'gateway') === '')
          .map(
            ({ path }) =>
              document.text(...path, 'network') || document.text(...path, 'destination'),
          )
        for (const { path } of routes) {
          const text = document.text(...path, 'gateway')
          const gateway = addressOf(text)
          if (gateway?.family !== 4) continue
          if (![...addresses, ...onLink].some((one) => includes(one, gateway)))
            yield {
              document,
              path: [...path, 'gateway'],
              sentence: `The gateway ${text} is in no network of the link (${addresses.join(', ')}), so Linux refuses the route`,
            }
        }
      }
    },
  },
  {
    id: 'virtual-address',
    source:
      'RFC 6890; Talos internal/app/machined/pkg/controllers/network/operator/vip.go gives the address to one control plane after another',
    level: 'refuse',
    *find(config) {
      for (const { text, ...place } of config.virtualAddresses()) {
        const address = addressOf(text)
        if (address === undefined) continue
        const range = special.find(({ network }) => includes(network, address))
        const inside = ofKubernetes(config).find((one) => includes(one.text, address))
        const own = config.addresses().some((one) => equal(one.text, text))
        const problem = range
          ? `is ${range.what}`
          : inside
            ? `lies in the ${inside.what} network ${inside.text}`
            : own
              ? 'is the server’s own static address'
              : null
        if (problem !== null)
          yield { ...place, sentence: `${text} can’t be a virtual address: it ${problem}` }
      }
    },
  },
  {
    id: 'address-in-pod-network',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/nodeip.go leaves out addresses of the pod and service networks: "no suitable node IP found"',
    level: 'warn',
    *find(config) {
      for (const { text, ...place } of config.addresses()) {
        const prefix = prefixOf(text)
        const inside =
          prefix &&
          ofKubernetes(config).find((one) => {
            const network = prefixOf(one.text)
            return network !== undefined && contains(network, prefix)
          })
        if (inside)
          yield {
            ...place,
            sentence: `${bareOf(text)} lies in the ${inside.what} network ${inside.text}, so Talos doesn’t take it as the node’s address`,
          }
      }
    },
  },
  {
    id: 'link-in-two',
    source:
      'Talos internal/app/machined/pkg/controllers/network/link_config.go: "is included in both bonds" is only logged; Linux gives a link one master',
    level: 'refuse',
    *find(config): Generator<Hit> {
      const masters = new Map<string, string>()
      for (const { document, path, text, master } of membersOf(config)) {
        const other = masters.get(text)
        if (text === master) yield { document, path, sentence: `${text} can’t be a part of itself` }
        else if (other !== undefined && other !== master)
          yield {
            document,
            path,
            sentence: `${text} can’t be a part of both ${other} and ${master}`,
          }
        masters.set(text, master)
      }
      for (const document of config.of('VLANConfig'))
        if (document.text('parent') === document.text('name'))
          yield {
            document,
            path: ['parent'],
            sentence: `The VLAN ${document.text('name')} can’t lie on itself: its parent is another link`,
          }
    },
  },
]

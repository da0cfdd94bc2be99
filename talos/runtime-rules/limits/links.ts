/** Bonds without ports, links without addresses, and routes that lead nowhere. */
import type { Report } from '../../config/report.ts'
import { addressOf, bare, includes } from '../../network-effect/addresses.ts'
import type { Configuration, Hit, RuntimeRule } from '../rule.ts'

/** Interfaces and their VLANs in the old form. */
const oldLinks = (config: Configuration): string[][] =>
  config
    .interfaces()
    .flatMap((path) => [path, ...config.main.items(...path, 'vlans').map((vlan) => vlan.path)])

/** Routes of the old form and of documents. */
function* routesOf(config: Configuration): Generator<{ document: Report; path: string[] }> {
  const { main } = config
  for (const link of oldLinks(config))
    for (const { path } of main.items(...link, 'routes')) yield { document: main, path }
  for (const document of config.of('LinkConfig', 'VLANConfig', 'BondConfig', 'BridgeConfig'))
    for (const { path } of document.items('routes')) yield { document, path }
}

/** Whether some link gets an address that the configuration doesn't name. */
const hasDhcp = (config: Configuration): boolean =>
  oldLinks(config).some((path) => config.main.flag(...path, 'dhcp')) ||
  config.of('DHCPv4Config', 'DHCPv6Config').length > 0

/** An address, with or without a prefix, in one spelling of several; undefined for other texts. */
function spelledOf(text: string): string | undefined {
  const address = addressOf(bare(text))
  return address && `${address.family} ${address.value}`
}

const allOf = (places: readonly { readonly text: string }[]): ReadonlySet<string | undefined> =>
  new Set(places.map(({ text }) => spelledOf(text)))

export const linkLimitRules: readonly RuntimeRule[] = [
  {
    id: 'bond-without-ports',
    source:
      'Linux drivers/net/bonding/bond_main.c, bond_set_carrier: a bond without slaves has no carrier; Talos v1alpha1_validation.go takes it (in documents the links are required)',
    level: 'warn',
    *find(config) {
      const { main } = config
      for (const path of config.interfaces()) {
        const bond = [...path, 'bond']
        const hasPorts = ['interfaces', 'deviceSelectors'].some((key) => main.has(...bond, key))
        if (main.entries(...bond).length > 0 && !hasPorts)
          yield {
            document: main,
            path: bond,
            sentence: `The bond ${main.text(...path, 'interface')} has no ports, so it never carries anything: name them in interfaces or deviceSelectors`,
          }
      }
    },
  },
  {
    id: 'bond-primary',
    source:
      'Linux Documentation/networking/bonding.rst, primary; Talos internal/app/machined/pkg/controllers/network/network.go, SetBondMasterLegacy: the bond fails without a link of this name',
    level: 'warn',
    *find(config) {
      const { main } = config
      // The ports may have their aliases there; Talos takes the primary one by its own name only.
      if (config.of('LinkAliasConfig').length > 0) return
      for (const path of config.interfaces()) {
        const names = main.texts(...path, 'bond', 'interfaces').map(({ text }) => text)
        const primary = main.text(...path, 'bond', 'primary')
        if (primary !== '' && names.length > 0 && !names.includes(primary))
          yield {
            document: main,
            path: [...path, 'bond', 'primary'],
            sentence: `The primary port ${primary} is not a port of the bond, which has ${names.join(', ')}: the bond may prefer none, or not be made`,
          }
      }
    },
  },
  {
    id: 'dhcp-of-no-family',
    source:
      'Talos internal/app/machined/pkg/controllers/network/operator_config.go: an operator for each family that dhcpOptions leave on',
    level: 'warn',
    *find(config) {
      const { main } = config
      for (const path of oldLinks(config)) {
        const options = [...path, 'dhcpOptions']
        const isFour = !main.has(...options, 'ipv4') || main.flag(...options, 'ipv4')
        if (main.flag(...path, 'dhcp') && !isFour && !main.flag(...options, 'ipv6'))
          yield {
            document: main,
            path: [...options, 'ipv4'],
            sentence:
              'With ipv4: false and without ipv6: true the link asks no DHCP server, so dhcp: true has no effect',
          }
      }
    },
  },
  {
    id: 'gateway-of-own',
    source:
      'Linux net/ipv4/fib_semantics.c, "Semantics of nexthop": "gateway can be actually local interface address, so that gatewayed route is direct"; net/ipv6/route.c, ip6_validate_gw: "Gateway can not be a local address", but in another VRF',
    level: 'warn',
    *find(config): Generator<Hit> {
      const own = allOf(config.addresses())
      for (const { document, path } of routesOf(config)) {
        const gateway = document.text(...path, 'gateway')
        // Several links, and their routers, may have the same link-local address.
        const address = addressOf(gateway)
        if (address === undefined || includes('fe80::/10', address)) continue
        if (own.has(spelledOf(gateway)))
          yield {
            document,
            path: [...path, 'gateway'],
            sentence: `The gateway ${gateway} is an address of the server itself, so this route leads to no router: write the address of the router`,
          }
      }
    },
  },
  {
    id: 'route-source',
    source:
      'Linux net/ipv4/fib_semantics.c, fib_valid_prefsrc: "Invalid prefsrc address" unless the address is local',
    level: 'warn',
    *find(config): Generator<Hit> {
      if (hasDhcp(config) || config.addresses().length === 0) return
      const own = allOf([...config.addresses(), ...config.virtualAddresses()])
      for (const { document, path } of routesOf(config)) {
        const from = document.text(...path, 'source')
        const spelled = spelledOf(from)
        if (spelled !== undefined && !own.has(spelled))
          yield {
            document,
            path: [...path, 'source'],
            sentence: `${from} is no address that this configuration gives the server, so Linux may refuse the route`,
          }
      }
    },
  },
]

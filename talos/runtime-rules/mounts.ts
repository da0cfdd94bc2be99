/** Folders that the kubelet's container gets, and gateways that no link reaches. */
import { addressOf, includes } from '../network-effect/addresses.ts'
import type { InventoryRule } from './known.ts'
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'

export const mountRules: readonly RuntimeRule[] = [
  {
    id: 'kubelet-mount-destination',
    source:
      'OCI runtime-spec config.md, mounts: "destination MUST be an absolute path", of which runc 1.4 only warns (libcontainer/specconv/spec_linux.go)',
    level: 'warn',
    *find({ main }) {
      for (const { path } of main.items('machine', 'kubelet', 'extraMounts')) {
        const destination = main.text(...path, 'destination')
        if (!destination.startsWith('/'))
          yield {
            document: main,
            path: [...path, 'destination'],
            sentence: `The destination ${quoted(destination)} of a mount must begin with /, or the kubelet may not start`,
          }
      }
    },
  },
]

/** Gateways of routes, in both forms. */
function* gateways(config: Configuration) {
  const { main } = config
  for (const link of config
    .interfaces()
    .flatMap((path) => [path, ...main.items(...path, 'vlans').map((vlan) => vlan.path)]))
    for (const { path } of main.items(...link, 'routes'))
      yield { document: main, path: [...path, 'gateway'] }
  for (const document of config.of('LinkConfig', 'VLANConfig', 'BondConfig', 'BridgeConfig'))
    for (const { path } of document.items('routes')) yield { document, path: [...path, 'gateway'] }
}

export const gatewayRules: readonly InventoryRule[] = [
  {
    id: 'gateway-out-of-reach',
    source: 'Linux net/ipv4/fib_semantics.c, fib_check_nh: "Nexthop has invalid gateway"',
    level: 'warn',
    *find(config, { server, links }) {
      if (links === null) return
      const networks = [
        ...links.flatMap((link) => link.addresses),
        ...config.addresses().map(({ text }) => text),
      ].filter((text) => text.includes('/'))
      if (networks.length === 0) return
      for (const { document, path } of gateways(config)) {
        const text = document.text(...path)
        const gateway = addressOf(text)
        // A gateway of the link itself needs no network.
        if (gateway === undefined || /^fe80/i.test(text)) continue
        if (!networks.some((network) => includes(network, gateway)))
          yield {
            document,
            path,
            sentence: `The gateway ${text} is in no network of ${server}, so Linux refuses the route unless DHCP gives it one`,
          }
      }
    },
  },
]

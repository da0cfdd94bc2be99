/** Ports of bonds, routes, tunnels, and proxies. */
import { linkKinds } from '../../config/model/network.ts'
import type { Report } from '../../config/report.ts'
import { addressOf, prefixOf } from '../../network-effect/addresses.ts'
import { type Configuration, type Hit, quoted, type RuntimeRule } from '../rule.ts'

/** An interface of the old form, or a document of a link. */
interface Link {
  readonly document: Report
  readonly path: readonly string[]
  readonly name: string
}

/** Interfaces and their VLANs in the old form, and documents. */
function linksOf(config: Configuration): Link[] {
  const { main } = config
  const old = config.interfaces().flatMap((path) => {
    const name = main.text(...path, 'interface') || `selected link ${Number(path.at(-1)) + 1}`
    return [
      { document: main, path, name },
      ...main.items(...path, 'vlans').map((vlan) => ({
        document: main,
        path: vlan.path,
        name: `${name}.${main.text(...vlan.path, 'vlanId')}`,
      })),
    ]
  })
  const documents = config
    .of(...linkKinds)
    .map((document) => ({ document, path: [], name: document.text('name') }))
  return [...old, ...documents]
}

interface Route extends Link {
  readonly destination: string
  readonly gateway: string
  /** What two routes must differ in. */
  readonly key: string
}

/** Linux has one route of a destination, a table and a metric; Talos's metric is 1024. */
function routesOf(config: Configuration): Route[] {
  return linksOf(config).flatMap(({ document, path, name }) =>
    document.items(...path, 'routes').map((route) => {
      const text = (key: string) => document.text(...route.path, key)
      const [destination, gateway] = [text('network') || text('destination'), text('gateway')]
      const isDefault = destination === '' || /^(0\.0\.0\.0|::)\/0$/.test(destination)
      const family = addressOf(gateway)?.family ?? prefixOf(destination)?.family ?? ''
      const key = [
        isDefault ? `default ${family}` : destination,
        text('table') || 'main',
        document.number(...route.path, 'metric') || 1024,
      ].join(' ')
      return { document, path: route.path, name, destination, gateway, key }
    }),
  )
}

/** Links that belong to a bond or a bridge, with its name. */
function portsOf(config: Configuration): Map<string, string> {
  const { main } = config
  const old = config
    .interfaces()
    .flatMap((path) =>
      ['bond', 'bridge'].flatMap((kind) =>
        main
          .texts(...path, kind, 'interfaces')
          .map(({ text }) => [text, main.text(...path, 'interface')] as const),
      ),
    )
  const documents = config
    .of('BondConfig', 'BridgeConfig')
    .flatMap((document) =>
      document.texts('links').map(({ text }) => [text, document.text('name')] as const),
    )
  return new Map([...old, ...documents])
}

/** Documents that give a link an address. VLANs of a port get their packets before its bond. */
function* uses(config: Configuration): Generator<Link & { readonly what: string }> {
  for (const document of config.of('LinkConfig'))
    for (const key of ['addresses', 'routes'])
      if (document.has(key)) yield { document, path: [key], name: document.text('name'), what: key }
  for (const document of config.of('DHCPv4Config', 'DHCPv6Config'))
    yield { document, path: ['name'], name: document.text('name'), what: 'DHCP' }
  for (const document of config.of('Layer2VIPConfig'))
    yield { document, path: ['link'], name: document.text('link'), what: 'virtual address' }
}

/** Bonds, with the path of their settings. */
const bondsOf = (config: Configuration) => [
  ...config
    .interfaces()
    .filter((path) => config.main.has(...path, 'bond'))
    .map((path) => ({
      document: config.main,
      path: [...path, 'bond'],
      name: config.main.text(...path, 'interface'),
      ports: ['interfaces', 'deviceSelectors'].flatMap((key) =>
        config.main.items(...path, 'bond', key),
      ).length,
    })),
  ...config.of('BondConfig').map((document) => ({
    document,
    path: [] as string[],
    name: document.text('name'),
    ports: document.items('links').length,
  })),
]

/** The port of KubeSpan's tunnels (`pkg/machinery/constants`, `KubeSpanDefaultPort`). */
export const kubeSpan = 51_820

export const hasKubeSpan = (config: Configuration): boolean =>
  config.main.flag('machine', 'network', 'kubespan', 'enabled') ||
  config.of('KubeSpanConfig').some((document) => document.flag('enabled'))

/** Ports that two tunnels, or a tunnel and KubeSpan, listen on. */
function* portProblems(config: Configuration): Generator<Hit> {
  const owners = new Map<number, string>()
  if (hasKubeSpan(config)) owners.set(kubeSpan, 'KubeSpan')
  const tunnels = [
    ...config
      .interfaces()
      .map((path) => ({ document: config.main, path: [...path, 'wireguard', 'listenPort'] })),
    ...config.of('WireguardConfig').map((document) => ({ document, path: ['listenPort'] })),
  ]
  for (const { document, path } of tunnels) {
    const port = document.number(...path) ?? 0
    const other = owners.get(port)
    if (other !== undefined)
      yield {
        document,
        path,
        sentence: `The port ${port} belongs to ${other} already, so the tunnel never comes up`,
      }
    if (port !== 0) owners.set(port, 'another tunnel')
  }
}

function* peerProblems(config: Configuration): Generator<Hit> {
  yield* portProblems(config)
  const tunnels = [
    ...config
      .interfaces()
      .map((path) => ({ document: config.main, path: [...path, 'wireguard', 'peers'] })),
    ...config.of('WireguardConfig').map((document) => ({ document, path: ['peers'] })),
  ]
  for (const { document, path } of tunnels) {
    const keys = new Set<string>()
    const networks = new Set<string>()
    for (const { path: peer } of document.items(...path)) {
      const key = document.text(...peer, 'publicKey')
      if (keys.has(key))
        yield {
          document,
          path: [...peer, 'publicKey'],
          sentence: `The peer ${key} is there twice, so only one of both is kept`,
        }
      keys.add(key)
      for (const { path: where, text } of document.texts(...peer, 'allowedIPs')) {
        if (networks.has(text))
          yield {
            document,
            path: where,
            sentence: `${text} is in allowedIPs of two peers: WireGuard sends it to the last of them only`,
          }
        networks.add(text)
      }
    }
  }
}

export const networkLimitRules: readonly RuntimeRule[] = [
  {
    id: 'bond-unwatched',
    source:
      'Linux Documentation/networking/bonding.rst, miimon: "A value of zero disables MII link monitoring"; Talos internal/app/machined/pkg/adapters/network/bond_master_spec.go, FillDefaults sets none (siderolabs/talos#10752)',
    level: 'warn',
    *find(config) {
      for (const { document, path, name, ports } of bondsOf(config)) {
        const isWatched = ['miimon', 'arpInterval'].some(
          (key) => (document.number(...path, key) ?? 0) > 0,
        )
        // A bond of one port is there for its name.
        if (!isWatched && ports > 1)
          yield {
            document,
            path: [...path, path.length === 0 ? 'bondMode' : 'mode'],
            sentence: `Without miimon the bond ${name} does not notice that a port loses its cable or gets it back: write miimon: 100`,
          }
      }
    },
  },
  {
    id: 'address-on-port',
    source:
      'Linux net/core/dev.c, __netif_receive_skb_core: the master’s rx_handler takes a port’s packets first; Talos v1alpha1_validation.go refuses the same in the old form',
    level: 'warn',
    *find(config) {
      const ports = portsOf(config)
      for (const { document, path, name, what } of uses(config)) {
        const master = ports.get(name)
        if (master !== undefined)
          yield {
            document,
            path,
            sentence: `${name} is a port of ${master}, which receives its packets, so ${what} of ${name} may not work: Talos refuses the same in the old form. Give ${master} the ${what}`,
          }
      }
    },
  },
  {
    id: 'route-form',
    source:
      'Linux net/ipv4/fib_trie.c, fib_valid_key_len: "Invalid prefix for given prefix length"; Talos internal/app/machined/pkg/controllers/network/route_spec.go sends the destination as it is, and repeats the error',
    level: 'refuse',
    *find(config) {
      for (const { document, path, destination, gateway } of routesOf(config)) {
        const [network, hop] = [prefixOf(destination), addressOf(gateway)]
        if (network === undefined) continue
        const key = document.has(...path, 'network') ? 'network' : 'destination'
        const rest =
          network.value % (1n << BigInt((network.family === 4 ? 32 : 128) - network.length))
        // Talos makes the default route of an IPv6 gateway one of IPv6 (`RouteSpecSpec.Normalize`).
        const isDefault = hop?.family === 6 && network.length === 0 && network.value === 0n
        if (hop !== undefined && hop.family !== network.family && !isDefault)
          yield {
            document,
            path: [...path, 'gateway'],
            sentence: `The gateway ${gateway} is not of the same family as ${destination}, so the route is never made`,
          }
        else if (network.family === 4 && rest !== 0n)
          yield {
            document,
            path: [...path, key],
            sentence: `${destination} has bits after its length, so Linux refuses the route: write the address of the network itself`,
          }
      }
    },
  },
  {
    id: 'route-twice',
    source:
      'Linux net/ipv4/fib_trie.c, fib_table_insert with NLM_F_EXCL: EEXIST; Talos internal/app/machined/pkg/controllers/network/route_spec.go, conn.Route.Add',
    level: 'warn',
    *find(config) {
      const seen = new Map<string, Route>()
      for (const route of routesOf(config)) {
        const other = seen.get(route.key)
        const isOther = other?.name !== route.name || other.gateway !== route.gateway
        if (other !== undefined && isOther)
          yield {
            document: route.document,
            path: route.path,
            sentence: `${route.destination || 'The default route'} has the same metric on ${other.name === route.name ? `${route.name} twice` : `${other.name} and ${route.name}`}, and Linux takes only one of both: give one another metric`,
          }
        seen.set(route.key, route)
      }
    },
  },
  {
    id: 'tunnel-peers',
    source:
      'WireGuard whitepaper, 2, "Cryptokey Routing": an address belongs to one peer; udp(7), EADDRINUSE; Linux drivers/net/wireguard/allowedips.c',
    level: 'warn',
    find: peerProblems,
  },
  {
    id: 'proxy-without-exceptions',
    source:
      'Go golang.org/x/net/http/httpproxy and google.golang.org/grpc: HTTPS_PROXY is used for all hosts that NO_PROXY does not name; Talos gives the variables to machined and the kubelet',
    level: 'warn',
    *find(config) {
      const variables = [
        ...config.main
          .entries('machine', 'env')
          .map(({ path, key }) => ({ document: config.main, path, key })),
        ...config
          .of('EnvironmentConfig')
          .flatMap((document) =>
            document.entries('variables').map(({ path, key }) => ({ document, path, key })),
          ),
      ].filter(({ document, path }) => document.text(...path) !== '')
      const proxy = variables.find(({ key }) => /^https_proxy$/i.test(key))
      if (proxy !== undefined && !variables.some(({ key }) => /^no_proxy$/i.test(key)))
        yield {
          ...proxy,
          sentence:
            'Without no_proxy the proxy also gets what the servers of the cluster say to each other: add their network, and the pod and service networks',
        }
    },
  },
  {
    id: 'path-of-document',
    source:
      'OCI runtime-spec config.md, mounts: "destination MUST be an absolute path", of which runc 1.4 only warns (libcontainer/specconv/spec_linux.go); Linux Documentation/watchdog: a device is /dev/watchdog…',
    level: 'warn',
    *find(config) {
      for (const document of config.of('ExtensionServiceConfig'))
        for (const { path } of document.items('configFiles')) {
          const mount = document.text(...path, 'mountPath')
          if (!mount.startsWith('/'))
            yield {
              document,
              path: [...path, 'mountPath'],
              sentence: `${quoted(mount)} is no absolute path, so the service ${document.text('name')} may not start, or not find the file`,
            }
        }
      for (const document of config.of('WatchdogTimerConfig')) {
        const device = document.text('device')
        if (!device.startsWith('/dev/'))
          yield {
            document,
            path: ['device'],
            sentence: `${quoted(device)} is not the path of a device such as /dev/watchdog0, so there may be no watchdog`,
          }
      }
    },
  },
  {
    id: 'virtual-address-of-worker',
    source:
      'Talos internal/app/machined/pkg/controllers/network/operator/vip.go: the owner is elected in etcd, which a worker can’t reach; in the old form v1alpha1_validation.go refuses it',
    level: 'warn',
    *find(config) {
      for (const document of config.isWorker ? config.of('Layer2VIPConfig', 'HCloudVIPConfig') : [])
        yield {
          document,
          path: ['name'],
          sentence: `Only control planes share a virtual address: on a worker ${document.text('name')} has no effect`,
        }
    },
  },
]

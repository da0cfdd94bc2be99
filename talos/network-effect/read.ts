/**
 * The network of a configuration in one model: the old fields of `machine.network` and the network
 * documents (Talos `pkg/machinery/config/types/network`, `types/v1alpha1`, `Device`).
 */
import { readDocuments, textsOf } from '../config/tree.ts'

type Values = { readonly [key: string]: unknown }

const map = (value: unknown): Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {}
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const texts = (value: unknown): string[] =>
  list(value)
    .map(text)
    .filter((one) => one !== '')
const flag = (value: unknown): boolean => text(value) === 'true'

export interface Route {
  /** Empty for a default route. */
  readonly destination: string
  readonly gateway: string
  readonly metric: number
  readonly table: string
  /** Source address of the packets; empty for any. */
  readonly source: string
}

export interface Dhcp {
  readonly family: 4 | 6
  /** Identifier of the DHCP client, if it isn't the MAC address. The lease depends on it. */
  readonly duid: string
  /** The routes that the DHCP server sends are used. */
  readonly withRoutes: boolean
}

interface Addressed {
  readonly addresses: readonly string[]
  readonly routes: readonly Route[]
  readonly dhcp: readonly Dhcp[]
}

/** Kinds of links that a configuration creates. A `plain` one exists already. */
export type LinkKind = 'plain' | 'vlan' | 'bond' | 'bridge' | 'vrf' | 'dummy' | 'wireguard' | 'veth'

export interface Selector {
  readonly [field: string]: string
}

/** An entry of `machine.network.interfaces`. */
export interface Device extends Addressed {
  readonly index: number
  readonly name: string
  readonly selector: Selector | null
  readonly isIgnored: boolean
  readonly kind: LinkKind
  readonly mode: string
  readonly members: readonly string[]
  readonly memberSelectors: readonly Selector[]
  /** Bridge that the link becomes a port of. */
  readonly master: string
  /** A bridge that lets only the VLANs of its ports through. */
  readonly isFiltering: boolean
  readonly vlans: readonly (Addressed & { readonly id: string })[]
}

/** A document that configures a link. */
export interface LinkDocument extends Omit<Addressed, 'dhcp'> {
  readonly name: string
  readonly kind: LinkKind
  readonly isUp: boolean
  readonly mode: string
  readonly members: readonly string[]
  /** A bridge that lets only the VLANs of its ports through. */
  readonly isFiltering: boolean
  readonly parent: string
  readonly vlanId: string
}

export interface Rule {
  readonly name: string
  readonly protocol: string
  /** First and last port. */
  readonly ports: readonly (readonly [number, number])[]
  readonly subnets: readonly string[]
  readonly except: readonly string[]
}

export interface Network {
  readonly devices: readonly Device[]
  readonly links: readonly LinkDocument[]
  readonly dhcp: readonly (Dhcp & { readonly name: string })[]
  readonly aliases: readonly { readonly name: string; readonly match: string }[]
  /** Destinations that are dropped. */
  readonly blackholes: readonly string[]
  readonly routingRules: readonly {
    readonly src: string
    readonly dst: string
    readonly table: string
    readonly action: string
    /** It also depends on a link or a mark. */
    readonly isNarrow: boolean
  }[]
  readonly firewall: { readonly blocks: boolean; readonly rules: readonly Rule[] }
  readonly hasKubeSpan: boolean
  /** Instances of BGP, as they are written. */
  readonly bgp: readonly Values[]
  /** PCI devices that get another driver. */
  readonly rebound: readonly { readonly device: string; readonly driver: string }[]
  /** Links without IPv6; `all` for every link. */
  readonly withoutIpv6: readonly string[]
  /** Listeners outside of a VRF also accept connections from inside. */
  readonly acceptsFromVrf: boolean
}

const documentKinds: Readonly<Record<string, LinkKind>> = {
  LinkConfig: 'plain',
  VLANConfig: 'vlan',
  BondConfig: 'bond',
  BridgeConfig: 'bridge',
  VRFConfig: 'vrf',
  DummyLinkConfig: 'dummy',
  WireguardConfig: 'wireguard',
  VethConfig: 'veth',
}

/** The metric of a route without one (Talos `network.DefaultRouteMetric`). */
export const usualMetric = 1024

const routesOf = (value: unknown): Route[] =>
  list(value).map((entry) => {
    const route = map(entry)
    return {
      destination: text(route['destination']) || text(route['network']),
      gateway: text(route['gateway']),
      metric: Number(text(route['metric'])) || usualMetric,
      table: text(route['table']) || 'main',
      source: text(route['source']),
    }
  })

/** Old form: IPv4 unless it is switched off, IPv6 only if it is switched on (`DHCPOptions`). */
function oldDhcp(entry: Values): Dhcp[] {
  if (!flag(entry['dhcp'])) return []
  const options = map(entry['dhcpOptions'])
  const families: Dhcp[] = []
  const duid = text(options['duidv6'])
  if (text(options['ipv4']) !== 'false') families.push({ family: 4, duid: '', withRoutes: true })
  if (flag(options['ipv6'])) families.push({ family: 6, duid, withRoutes: false })
  return families
}

const oldAddressed = (entry: Values): Addressed => {
  const addresses = texts(entry['addresses'])
  const cidr = text(entry['cidr'])
  return {
    addresses: addresses.length > 0 || cidr === '' ? addresses : [cidr],
    routes: routesOf(entry['routes']),
    dhcp: oldDhcp(entry),
  }
}

const selectorOf = (value: unknown): Selector =>
  Object.fromEntries(Object.entries(map(value)).map(([key, one]) => [key, text(one)]))

function deviceOf(value: unknown, index: number): Device {
  const entry = map(value)
  const [bond, bridge] = [map(entry['bond']), map(entry['bridge'])]
  const made = (['bond', 'bridge', 'wireguard'] as const).find((key) => key in entry)
  return {
    ...oldAddressed(entry),
    index,
    name: text(entry['interface']),
    selector: 'deviceSelector' in entry ? selectorOf(entry['deviceSelector']) : null,
    isIgnored: flag(entry['ignore']),
    kind: made ?? (flag(entry['dummy']) ? 'dummy' : 'plain'),
    mode: text(bond['mode']),
    members: [...texts(bond['interfaces']), ...texts(bridge['interfaces'])],
    memberSelectors: list(bond['deviceSelectors']).map(selectorOf),
    master: text(map(entry['bridgePort'])['master']),
    isFiltering: flag(map(bridge['vlan'])['vlanFiltering']),
    vlans: list(entry['vlans']).map((vlan) => ({
      ...oldAddressed(map(vlan)),
      // Talos leaves out an address of a VLAN that has no prefix length (`address_config.go`).
      addresses: oldAddressed(map(vlan)).addresses.filter((one) => one.includes('/')),
      id: text(map(vlan)['vlanId']) || '0',
    })),
  }
}

const portsOf = (value: unknown): [number, number][] =>
  texts(value).map((range) => {
    const [low = '', high = low] = range.split('-')
    return [Number(low), Number(high)]
  })

function ruleOf(entry: Values): Rule {
  const ports = map(entry['portSelector'])
  const sources = list(entry['ingress']).map(map)
  return {
    name: text(entry['name']),
    protocol: text(ports['protocol']) || 'tcp',
    ports: portsOf(ports['ports']),
    subnets: sources.map((source) => text(source['subnet'])).filter((one) => one !== ''),
    except: sources.map((source) => text(source['except'])).filter((one) => one !== ''),
  }
}

const linkOf = (entry: Values, kind: LinkKind): LinkDocument => ({
  name: text(entry['name']),
  kind,
  isUp: text(entry['up']) !== 'false',
  mode: text(entry['bondMode']),
  members: texts(entry['links']),
  isFiltering: flag(map(entry['vlan'])['filtering']),
  parent: text(entry['parent']),
  vlanId: text(entry['vlanID']),
  addresses: list(entry['addresses'])
    .map((one) => text(map(one)['address']))
    .filter((one) => one !== ''),
  routes: routesOf(entry['routes']),
})

const acceptsFromVrf = 'net.ipv4.tcp_l3mdev_accept'

/** The link that loses IPv6 by a parameter such as `net.ipv6.conf.eth0.disable_ipv6`. */
const ipv6Parts = { before: 'net.ipv6.conf.', after: '.disable_ipv6' }
function linkWithout(key: string): string[] {
  // Slashes and dots may be exchanged (sysctl.d(5)).
  const name = /^[^.]*\//.test(key)
    ? key.replaceAll(/[./]/g, (one) => (one === '.' ? '/' : '.'))
    : key
  const { before, after } = ipv6Parts
  return name.startsWith(before) && name.endsWith(after)
    ? [name.slice(before.length, -after.length).replaceAll('/', '.')]
    : []
}

/**
 * The network of a configuration in either form, or in both.
 * @throws ConfigError for invalid YAML
 */
export function readNetwork(config: string): Network {
  const documents = readDocuments(config, '')
    .map((root) => map(textsOf(root)))
    .filter((entry) => !('$patch' in entry))
  const main = documents.find((entry) => !('kind' in entry)) ?? {}
  const of = (kind: string) => documents.filter((entry) => entry['kind'] === kind)
  const machine = map(main['machine'])
  const oldNetwork = map(machine['network'])
  const sysctls = [
    map(machine['sysctls']),
    ...of('SysctlConfig').map((entry) => map(entry['params'])),
  ].flatMap((params) => Object.entries(params).map(([key, value]) => [key, text(value)] as const))
  const dhcpOf = (kind: string, family: 4 | 6) =>
    of(kind).map((entry) => ({
      name: text(entry['name']),
      family,
      duid: entry['clientIdentifier'] === 'duid' ? text(entry['duidRaw']) || 'its own' : '',
      withRoutes: family === 4 && !flag(entry['ignoreRoutes']),
    }))
  return {
    devices: list(oldNetwork['interfaces']).map(deviceOf),
    links: documents.flatMap((entry) => {
      const kind = documentKinds[text(entry['kind'])]
      if (kind === undefined) return []
      // The other end of a pair is a link like the first one (`types/network/veth.go`).
      return kind === 'veth'
        ? [linkOf(entry, kind), linkOf(map(entry['peer']), kind)]
        : [linkOf(entry, kind)]
    }),
    dhcp: [...dhcpOf('DHCPv4Config', 4), ...dhcpOf('DHCPv6Config', 6)],
    aliases: of('LinkAliasConfig').map((entry) => ({
      name: text(entry['name']),
      match: text(map(entry['selector'])['match']),
    })),
    blackholes: of('BlackholeRouteConfig').map((entry) => text(entry['name'])),
    routingRules: of('RoutingRuleConfig').map((entry) => ({
      src: text(entry['src']),
      dst: text(entry['dst']),
      table: text(entry['table']),
      action: text(entry['action']) || 'unicast',
      isNarrow: ['iifName', 'oifName', 'fwMark'].some((key) => text(entry[key]) !== ''),
    })),
    firewall: {
      blocks: of('NetworkDefaultActionConfig').some((entry) => entry['ingress'] === 'block'),
      rules: of('NetworkRuleConfig').map(ruleOf),
    },
    hasKubeSpan:
      flag(map(oldNetwork['kubespan'])['enabled']) ||
      of('KubeSpanConfig').some((entry) => flag(entry['enabled'])),
    bgp: of('BGPInstanceConfig'),
    rebound: of('PCIDriverRebindConfig').map((entry) => ({
      device: text(entry['name']),
      driver: text(entry['targetDriver']),
    })),
    withoutIpv6: sysctls.flatMap(([key, value]) => (value === '0' ? [] : linkWithout(key))),
    acceptsFromVrf: sysctls.some(([key, value]) => key === acceptsFromVrf && value === '1'),
  }
}

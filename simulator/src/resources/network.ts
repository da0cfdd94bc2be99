import * as network from '#talos/proto/gen/definitions/network_pb.ts'
import * as enums from '#talos/proto/gen/definitions/enums_pb.ts'
import { leasesEverywhere } from '../config/network.ts'
import type { Machine } from '../machine/machine.ts'
import type { Link } from '../fleet/hardware.ts'
import { ipBytes, item, kind, macBytes, type Item, type Kind } from './resource.ts'

/** The simulated network is a /16. Its first address is the gateway, where nothing answers. */
const PREFIX_LENGTH = 16
const GATEWAY = '127.20.0.1'
const RESOLVERS = ['127.20.0.2', '127.20.0.3']
const BROADCAST = 'ff:ff:ff:ff:ff:ff'

const linkStatuses = (machine: Machine): Item[] => [
  item(
    'lo',
    network.LinkStatusSpecSchema,
    {
      index: 1,
      type: enums.NethelpersLinkType.LINK_LOOPBCK,
      mtu: 65_536,
      operationalState: enums.NethelpersOperationalState.OPER_STATE_UNKNOWN,
      linkState: true,
      port: enums.NethelpersPort.OTHER,
      duplex: enums.NethelpersDuplex.UNKNOWN,
    },
    { type: 'loopback', kind: '', operationalState: 'unknown', port: 'Other', duplex: 'Unknown' },
  ),
  ...machine.hardware.links.map(physical),
]

const physical = (link: Link): Item =>
  item(
    link.name,
    network.LinkStatusSpecSchema,
    {
      index: link.index,
      type: enums.NethelpersLinkType.LINK_ETHER,
      mtu: 1500,
      queueDisc: 'mq',
      kind: '',
      slaveKind: '',
      busPath: link.busPath,
      pciid: `${link.nic.vendorId.slice(2).toUpperCase()}:${link.nic.productId.slice(2).toUpperCase()}`,
      driver: link.nic.driver,
      driverVersion: '6.18.5-talos',
      firmwareVersion: link.nic.firmware,
      productId: link.nic.productId,
      vendorId: link.nic.vendorId,
      product: link.nic.product,
      vendor: link.nic.vendor,
      linkState: link.up,
      hardwareAddr: macBytes(link.mac),
      broadcastAddr: macBytes(BROADCAST),
      permanentAddr: macBytes(link.mac),
      speedMegabits: BigInt(link.up ? link.nic.speedMegabits : 0),
      port: enums.NethelpersPort.DIRECT_ATTACH,
      operationalState: link.up
        ? enums.NethelpersOperationalState.OPER_STATE_UP
        : enums.NethelpersOperationalState.OPER_STATE_DOWN,
      duplex: link.up ? enums.NethelpersDuplex.FULL : enums.NethelpersDuplex.UNKNOWN,
    },
    {
      type: 'ether',
      operationalState: link.up ? 'up' : 'down',
      port: 'DirectAttach',
      duplex: link.up ? 'Full' : 'Unknown',
    },
  )

const addressesOf = (machine: Machine): string[] =>
  machine.hasAddress ? [machine.plan.address, ...machine.virtualAddresses] : []

/**
 * The link and address of the second network, in which nothing answers. Undefined without one. It
 * is greater than the first address, so that Talos prefers that one for etcd and the node (Talos:
 * controllers/network/node_address.go sorts them).
 */
const secondOf = (machine: Machine): { link: Link; address: string } | undefined => {
  const link = machine.hardware.links[1]
  const { plan, config } = machine
  if (!plan.secondNetwork || !link || !leasesEverywhere(config?.loaded ?? null)) return undefined
  return { link, address: plan.address.replace('127.', '172.') }
}

/** A link-local address as text. */
const textOf = (ip: Uint8Array): string =>
  `fe80::${[8, 10, 12, 14].map((at) => ((ip[at]! << 8) | ip[at + 1]!).toString(16)).join(':')}`

/** The link-local address that the kernel derives from a MAC address (RFC 4291, appendix A). */
const linkLocal = (mac: string): Uint8Array => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = macBytes(mac)
  return new Uint8Array([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}

/**
 * If there is a configuration, every list except `default` has two more variants: without
 * Kubernetes' subnets, and with only these subnets (Talos: controllers/k8s/address_filter.go).
 */
const ADDRESS_LISTS = ['default', 'current', 'routed', 'accumulative']

const nodeAddresses = (machine: Machine): Item[] =>
  ADDRESS_LISTS.flatMap((id) => [
    id,
    ...(id !== 'default' && machine.config?.node ? [`${id}-no-k8s`, `${id}-only-k8s`] : []),
  ]).map((id) => {
    // `default` has one address, and `routed` has no virtual addresses. Pods have no addresses
    // here.
    const own = addressesOf(machine)
    const second = id === 'default' ? [] : [secondOf(machine)?.address ?? []].flat()
    const addresses = id.endsWith('-only-k8s')
      ? []
      : id === 'default' || id.startsWith('routed')
        ? [...own.slice(0, 1), ...second]
        : [...own, ...second]
    return item(
      id,
      network.NodeAddressSpecSchema,
      {
        addresses: addresses.map((address) => ({
          ip: ipBytes(address),
          prefixLength: PREFIX_LENGTH,
        })),
      },
      { sortAlgorithm: 'v1' },
    )
  })

const addressStatuses = (machine: Machine): Item[] => [
  item(
    'lo/127.0.0.1/8',
    network.AddressStatusSpecSchema,
    {
      address: { ip: ipBytes('127.0.0.1'), prefixLength: 8 },
      local: { ip: ipBytes('127.0.0.1') },
      linkIndex: 1,
      linkName: 'lo',
      family: enums.NethelpersFamily.FAMILY_INET4,
      scope: enums.NethelpersScope.SCOPE_HOST,
      flags: 128,
    },
    { family: 'inet4', scope: 'host', flags: 'permanent' },
  ),
  ...[
    ...addressesOf(machine).map((address) => ({ address, link: machine.managementLink })),
    ...[secondOf(machine) ?? []].flat(),
  ].map(({ address, link: { name, index } }) =>
    item(
      `${name}/${address}/${PREFIX_LENGTH}`,
      network.AddressStatusSpecSchema,
      {
        address: { ip: ipBytes(address), prefixLength: PREFIX_LENGTH },
        local: { ip: ipBytes(address) },
        broadcast: { ip: ipBytes([...address.split('.').slice(0, 2), '255.255'].join('.')) },
        linkIndex: index,
        linkName: name,
        family: enums.NethelpersFamily.FAMILY_INET4,
        scope: enums.NethelpersScope.SCOPE_GLOBAL,
      },
      { family: 'inet4', scope: 'global', flags: '' },
    ),
  ),
  ...(machine.plan.secondNetwork ? machine.hardware.links : [])
    .filter(({ up }) => up)
    .map(({ name, index, mac }) => {
      const ip = linkLocal(mac)
      return item(
        `${name}/${textOf(ip)}/64`,
        network.AddressStatusSpecSchema,
        {
          address: { ip, prefixLength: 64 },
          linkIndex: index,
          linkName: name,
          family: enums.NethelpersFamily.FAMILY_INET6,
          scope: enums.NethelpersScope.SCOPE_LINK,
        },
        { family: 'inet6', scope: 'link', flags: 'permanent' },
      )
    }),
]

const routeStatuses = (machine: Machine): Item[] =>
  addressesOf(machine)
    .slice(0, 1)
    .map((address) => {
      const { name, index } = machine.managementLink
      return item(
        `inet4/${GATEWAY}//1024`,
        network.RouteStatusSpecSchema,
        {
          family: enums.NethelpersFamily.FAMILY_INET4,
          source: { ip: ipBytes(address) },
          gateway: { ip: ipBytes(GATEWAY) },
          outLinkIndex: index,
          outLinkName: name,
          table: 254,
          priority: 1024,
          scope: enums.NethelpersScope.SCOPE_GLOBAL,
          type: 1,
          protocol: 16,
        },
        {
          family: 'inet4',
          dst: '',
          source: undefined,
          src: address,
          table: 'main',
          scope: 'global',
          type: 'unicast',
          flags: '',
          protocol: 'dhcp',
        },
      )
    })

export const NETWORK: Kind[] = [
  kind('LinkStatuses.net.talos.dev', linkStatuses),
  kind('NodeAddresses.net.talos.dev', nodeAddresses),
  kind('AddressStatuses.net.talos.dev', addressStatuses),
  kind('RouteStatuses.net.talos.dev', routeStatuses),
  kind('HostnameStatuses.net.talos.dev', (machine) => {
    const [hostname = '', ...domain] = machine.hostname.split('.')
    return [
      item('hostname', network.HostnameStatusSpecSchema, {
        hostname,
        domainname: domain.join('.'),
      }),
    ]
  }),
  kind('ResolverStatuses.net.talos.dev', () => [
    item(
      'resolvers',
      network.ResolverStatusSpecSchema,
      { dnsServers: RESOLVERS.map((address) => ({ ip: ipBytes(address) })) },
      { searchDomains: [] },
    ),
  ]),
  kind('NetworkStatuses.net.talos.dev', (machine) => {
    const isReady = machine.hasAddress
    const spec = {
      addressReady: isReady,
      connectivityReady: isReady,
      hostnameReady: true,
      etcFilesReady: true,
    }
    return [item('status', network.StatusSpecSchema, spec)]
  }),
]

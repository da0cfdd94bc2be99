import { BlockList, isIP } from 'node:net'
import type { Loaded } from './load.ts'
import { interfacesOf } from './node-config.ts'
import { isObject, list, object, text } from './shape.ts'

/**
 * Documents that configure a link. If there is any such document, Talos no longer runs DHCP on
 * every physical link (Talos: internal/app/machined/pkg/controllers/network/operator_config.go).
 */
const LINK_KINDS = /^(?:Link|VLAN|Bond|Bridge|DummyLink|Wireguard|VRF|DHCPv4|DHCPv6)Config$/

/**
 * Whether Talos runs DHCP on every physical link: no link is configured. True without a
 * configuration.
 */
export const leasesEverywhere = (loaded: Loaded | null): boolean =>
  loaded === null ||
  (!loaded.documents.some(({ kind }) => LINK_KINDS.test(kind)) && interfacesOf(loaded).length === 0)

/**
 * The address at which a server with this configuration answers; null if it has none. `leased`: the
 * address that the simulated network assigns to the server's link by DHCP. Of static addresses, the
 * others of the simulated network count as well.
 */
export const addressWith = (
  loaded: Loaded,
  link: { name: string; mac: string },
  leased: string,
): string | null => {
  if (leasesEverywhere(loaded)) return leased
  const documents = loaded.documents.filter(({ kind }) => LINK_KINDS.test(kind))
  const interfaces = interfacesOf(loaded)

  const own = new Set([link.name])
  for (const { kind, name, body } of loaded.documents)
    if (
      kind === 'LinkAliasConfig' &&
      text(object(body.selector).match).toLowerCase().includes(link.mac)
    )
      own.add(name)
  const isOwn = (member: unknown): boolean => own.has(text(member))
  const isDown = documents.some(
    ({ kind, name, body }) => kind === 'LinkConfig' && isOwn(name) && body.up === false,
  )
  if (isDown) return null
  // Talos's API doesn't listen inside of a VRF.
  if (documents.some(({ kind, body }) => kind === 'VRFConfig' && list(body.links).some(isOwn)))
    return null
  // A bond or bridge takes over the addresses of its members, which no longer have any.
  const masters = new Set([
    ...documents
      .filter(
        ({ kind, body }) =>
          (kind === 'BondConfig' || kind === 'BridgeConfig') && list(body.links).some(isOwn),
      )
      .filter(({ body }) => body.up !== false)
      .map(({ name }) => name),
    ...interfaces
      .filter(({ bond, bridge }) =>
        [...list(object(bond).interfaces), ...list(object(bridge).interfaces)].some(isOwn),
      )
      .map((item) => text(item.interface)),
  ])
  const isEnslaved =
    masters.size > 0 ||
    documents.some(
      ({ kind, body }) =>
        (kind === 'BondConfig' || kind === 'BridgeConfig') && list(body.links).some(isOwn),
    )
  const names = isEnslaved ? masters : own

  const addressOf = (item: unknown): string =>
    text(typeof item === 'object' ? object(item).address : item).split('/')[0]!
  const found = [
    ...documents.flatMap(({ kind, name, body }) => {
      if (!names.has(name)) return []
      return kind === 'DHCPv4Config' ? [leased] : list(body.addresses).map(addressOf)
    }),
    ...interfaces.flatMap((item) => {
      const isSelected =
        names.has(text(item.interface)) ||
        (!isEnslaved && text(object(item.deviceSelector).hardwareAddr).toLowerCase() === link.mac)
      if (!isSelected || item.ignore === true) return []
      const fixed = [...list(item.addresses), item.cidr].map(addressOf)
      return item.dhcp === true ? [leased, ...fixed] : fixed
    }),
  ]
  return found.includes(leased) ? leased : (found.find(isSimulated) ?? null)
}

/** Whether an address is in the network of simulated servers. */
const isSimulated = (address: string): boolean =>
  /^127\.20\.\d{1,3}\.\d{1,3}$/.test(address) && isIP(address) === 4

/**
 * Whether the ingress firewall lets a new connection in. A rule lets its subnets in. Where the
 * default is to accept, it also drops all others on its ports (Talos:
 * internal/app/machined/pkg/controllers/network/nftables_chain_config.go).
 */
export const admits = (loaded: Loaded | null, port: number, from: string): boolean => {
  const documents = loaded?.documents ?? []
  const blocks = documents.some(
    ({ kind, body }) => kind === 'NetworkDefaultActionConfig' && body.ingress === 'block',
  )
  const matching = documents.filter(
    ({ kind, body }) =>
      kind === 'NetworkRuleConfig' &&
      text(object(body.portSelector).protocol) === 'tcp' &&
      list(object(body.portSelector).ports).some((range) => isWithin(range, port)),
  )
  const letsIn = ({ body }: { body: Record<string, unknown> }): boolean =>
    list(body.ingress).some(
      (entry) =>
        isObject(entry) &&
        contains(text(entry.subnet), from) &&
        !(text(entry.except) !== '' && contains(text(entry.except), from)),
    )
  return blocks ? matching.some(letsIn) : matching.every(letsIn)
}

/** Ports are numbers or ranges such as `50000-50001`. */
const isWithin = (range: unknown, port: number): boolean => {
  const [first, last] = String(range).split('-').map(Number)
  return first !== undefined && port >= first && port <= (last ?? first)
}

const contains = (subnet: string, address: string): boolean => {
  const [net = '', length = ''] = subnet.split('/')
  const family = isIP(net) === 6 ? 'ipv6' : 'ipv4'
  if (isIP(net) === 0 || isIP(net) !== isIP(address)) return false
  const listed = new BlockList()
  listed.addSubnet(net, Number(length), family)
  return listed.check(address, family)
}

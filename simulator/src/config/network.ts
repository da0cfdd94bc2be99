import type { Loaded } from './load.ts'
import { interfacesOf } from './node-config.ts'
import { list, object, text } from './shape.ts'

/** Documents that configure a link. With any of them Talos no longer runs DHCP on every physical link (Talos: internal/app/machined/pkg/controllers/network/operator_config.go). */
const LINK_KINDS = new Set([
  'LinkConfig',
  'VLANConfig',
  'BondConfig',
  'BridgeConfig',
  'DummyLinkConfig',
  'WireguardConfig',
  'VRFConfig',
  'DHCPv4Config',
  'DHCPv6Config',
])

/** Whether a server with this configuration keeps the address of this link, which the simulated network assigns by DHCP. */
export const keepsAddress = (loaded: Loaded, link: { name: string; mac: string }, address: string): boolean => {
  const documents = loaded.documents.filter(({ kind }) => LINK_KINDS.has(kind))
  const interfaces = interfacesOf(loaded)
  if (documents.length === 0 && interfaces.length === 0) return true

  const names = new Set([link.name])
  for (const { kind, name, body } of loaded.documents)
    if (kind === 'LinkAliasConfig' && text(object(body.selector).match).toLowerCase().includes(link.mac)) names.add(name)
  // A bond or bridge replaces its members and has their addresses.
  for (const { kind, name, body } of documents)
    if ((kind === 'BondConfig' || kind === 'BridgeConfig') && list(body.links).some((member) => names.has(text(member)))) names.add(name)

  const holds = (item: unknown): boolean => text(typeof item === 'object' ? object(item).address : item).split('/')[0] === address
  return (
    documents.some(({ kind, name, body }) => names.has(name) && (kind === 'DHCPv4Config' || list(body.addresses).some(holds))) ||
    interfaces.some((item) => {
      const selected = names.has(text(item.interface)) || text(object(item.deviceSelector).hardwareAddr).toLowerCase() === link.mac
      return selected && item.ignore !== true && (item.dhcp === true || list(item.addresses).some(holds) || text(item.cidr).split('/')[0] === address)
    })
  )
}

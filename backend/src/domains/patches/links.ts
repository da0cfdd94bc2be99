/** Which links a patch configures: the first link or DHCP document of a configuration stops Talos's default DHCP on all links that none names. */
import { parseAllDocuments } from 'yaml'

/** Kinds that count (what implements `NetworkCommonLinkConfig` or `NetworkDHCPConfig` in Talos `pkg/machinery/config/types/network`). */
const kinds = new Set([
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

/** What a patch with aliases names can't be told without the machine: any link may be meant. */
export const anyLink = '*'

/** Names of links, of those that are made part of a bond or bridge too; none where the text configures no link. The text must have been checked. */
export function linksOf(body: string): string[] {
  const links = new Set<string>()
  for (const document of parseAllDocuments(body, { schema: 'failsafe' })) {
    const content: unknown = document.toJS()
    if (typeof content !== 'object' || content === null || '$patch' in content || !('kind' in content)) continue
    const { kind, name, links: members } = content as { kind: unknown; name?: unknown; links?: unknown }
    if (kind === 'LinkAliasConfig') links.add(anyLink)
    if (typeof kind !== 'string' || !kinds.has(kind)) continue
    for (const link of [name, ...(Array.isArray(members) ? (members as unknown[]) : [])]) if (typeof link === 'string' && link !== '') links.add(link)
  }
  return [...links].toSorted()
}

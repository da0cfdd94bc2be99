/**
 * Which links a patch configures, and which existing links it needs. Used to check that the server
 * stays reachable and that these links exist.
 */
import { parseAllDocuments } from 'yaml'
import {
  at,
  ConfigError,
  type MapNode,
  readDocuments,
  textAt,
  type TreeNode,
} from '#talos/config/tree.ts'
import { anyLink } from '../api.ts'

/** Kinds of documents that create a link with the document's name. */
const made = new Set([
  'VLANConfig',
  'BondConfig',
  'BridgeConfig',
  'DummyLinkConfig',
  'WireguardConfig',
  'VRFConfig',
])

/**
 * Kinds of documents that stop Talos's default DHCP. One such document is enough to stop DHCP on
 * every link that no document names. In Talos these kinds implement `NetworkCommonLinkConfig` or
 * `NetworkDHCPConfig` (`pkg/machinery/config/types/network`).
 */
const kinds = new Set([...made, 'LinkConfig', 'DHCPv4Config', 'DHCPv6Config'])

/**
 * Names of the links that the text configures, including members of a bond or bridge; empty if it
 * configures none. The text must have been validated.
 */
export function linksOf(body: string): string[] {
  const links = new Set<string>()
  for (const document of parseAllDocuments(body, { schema: 'failsafe', uniqueKeys: false })) {
    const content: unknown = document.toJS()
    if (
      typeof content !== 'object' ||
      content === null ||
      '$patch' in content ||
      !('kind' in content)
    )
      continue
    const {
      kind,
      name,
      links: members,
    } = content as { kind: unknown; name?: unknown; links?: unknown }
    if (kind === 'LinkAliasConfig') links.add(anyLink)
    if (typeof kind !== 'string' || !kinds.has(kind)) continue
    for (const link of [name, ...(Array.isArray(members) ? (members as unknown[]) : [])])
      if (typeof link === 'string' && link !== '') links.add(link)
  }
  return [...links].toSorted()
}

/** `line`: line of the text, from 1. */
export type LinkUse = { readonly link: string; readonly line: number }

const documentsOf = (yaml: string): MapNode[] => {
  try {
    return readDocuments(yaml, '')
  } catch (error) {
    if (error instanceof ConfigError) return []
    throw error
  }
}

const itemsOf = (node: TreeNode | undefined): readonly TreeNode[] =>
  node?.is === 'list' ? node.items : []

/**
 * Links that must exist before a document is applied: those that the document configures, and the
 * parents of links that the document creates.
 */
function usedBy(root: MapNode): TreeNode[] {
  const kind = textAt(root, 'kind')
  if (root.entries.has('$patch')) return []
  if (kind === undefined)
    return itemsOf(at(root, 'machine', 'network', 'interfaces')).flatMap(
      (device) => at(device, 'interface') ?? [],
    )
  const named = ['LinkConfig', 'EthernetConfig', 'DHCPv4Config', 'DHCPv6Config'].includes(kind)
    ? at(root, 'name')
    : undefined
  const single = [
    named,
    kind === 'VLANConfig' ? at(root, 'parent') : undefined,
    kind.endsWith('VIPConfig') ? at(root, 'link') : undefined,
  ]
  return [...single.filter((node) => node !== undefined), ...itemsOf(at(root, 'links'))]
}

/**
 * Links that a document creates. `machine.network.interfaces` creates bonds, bridges and others
 * without marking which of its links are new.
 */
function madeBy(root: MapNode): (string | undefined)[] {
  const kind = textAt(root, 'kind')
  if (kind !== undefined)
    return made.has(kind) || kind === 'LinkAliasConfig' ? [textAt(root, 'name')] : []
  return itemsOf(at(root, 'machine', 'network', 'interfaces')).flatMap((device) => {
    const name = textAt(device, 'interface')
    const isMade = ['bond', 'bridge', 'dummy', 'wireguard'].some(
      (key) => at(device, key) !== undefined,
    )
    const vlans = itemsOf(at(device, 'vlans')).map((vlan) => `${name}.${textAt(vlan, 'vlanId')}`)
    return [...(isMade ? [name] : []), ...vlans]
  })
}

/**
 * Links that a patch needs but neither the server nor the merged configuration has.
 * @param merged the whole configuration
 * @param present names of the server's links
 */
export function missingLinks(body: string, merged: string, present: readonly string[]): LinkUse[] {
  const known = new Set<string | undefined>([...present, ...documentsOf(merged).flatMap(madeBy)])
  // An alias may be a pattern that matches many links; only the machine can resolve it.
  if ([...known].some((name) => name?.includes('%'))) return []
  const missing = new Map<string, LinkUse>()
  for (const node of documentsOf(body).flatMap(usedBy)) {
    const link = node.is === 'scalar' && node.value !== null ? String(node.value) : ''
    if (link !== '' && !known.has(link) && !missing.has(link))
      missing.set(link, { link, line: node.line })
  }
  return [...missing.values()]
}

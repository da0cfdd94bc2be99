/** Which links a patch configures, and which of the links that it needs don't exist. */
import {
  at,
  ConfigError,
  type MapNode,
  readDocuments,
  textAt,
  type TreeNode,
} from '../config/tree.ts'
import { type Network, readNetwork } from './read.ts'
import { vlanLinkName } from './plan.ts'

/** Aliases and selectors are resolved by the machine, so a patch with them may mean any link. */
const anyLink = '*'

const ofValid = <T>(read: () => T, otherwise: T): T => {
  try {
    return read()
  } catch (error) {
    if (error instanceof ConfigError) return otherwise
    throw error
  }
}

const isNamed = (name: string): boolean => name !== ''

function namesIn({ devices, links, dhcp, aliases }: Network): string[] {
  return [
    ...devices.flatMap((one) => [one.selector ? anyLink : one.name, ...one.members]),
    ...devices.flatMap((one) => (one.memberSelectors.length > 0 ? [anyLink] : [])),
    ...links.flatMap((one) => [one.name, ...one.members]),
    ...dhcp.map((one) => one.name),
    ...aliases.map(() => anyLink),
  ]
}

/**
 * Names of the links that the text configures, including members of a bond or bridge; empty if it
 * configures none. `*`: any link.
 */
export const configuredLinks = (body: string): string[] =>
  [...new Set(ofValid(() => namesIn(readNetwork(body)), []))].filter(isNamed).toSorted()

/** A link that a patch needs. `line`: line of the text, from 1. */
export interface LinkUse {
  readonly link: string
  readonly line: number
}

const itemsOf = (node: TreeNode | undefined): readonly TreeNode[] =>
  node?.is === 'list' ? node.items : []
const devicesIn = (root: MapNode): readonly TreeNode[] =>
  textAt(root, 'kind') === undefined ? itemsOf(at(root, 'machine', 'network', 'interfaces')) : []

/**
 * Links that must exist before a document is applied: those that the document configures, and the
 * parents of links that the document creates.
 */
function usedBy(root: MapNode): TreeNode[] {
  const kind = textAt(root, 'kind')
  if (root.entries.has('$patch')) return []
  if (kind === undefined)
    return devicesIn(root).flatMap((device) => [
      ...[at(device, 'interface')].filter((node) => node !== undefined),
      ...itemsOf(at(device, 'bond', 'interfaces')),
      ...itemsOf(at(device, 'bridge', 'interfaces')),
    ])
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

/** Links that a configuration creates, and its aliases. */
const madeBy = ({ devices, links, aliases }: Network): string[] => [
  ...devices.filter((one) => one.kind !== 'plain').map((one) => one.name),
  ...devices.flatMap((one) => one.vlans.map((vlan) => vlanLinkName(one.name, vlan.id))),
  ...links.filter((one) => one.kind !== 'plain').map((one) => one.name),
  ...aliases.map((one) => one.name),
]

/**
 * Links that a patch needs but neither the server nor the merged configuration has.
 * @param merged the whole configuration
 * @param present names of the server's links
 */
export function missingLinks(body: string, merged: string, present: readonly string[]): LinkUse[] {
  const roots = ofValid(() => readDocuments(body, ''), [])
  const names = new Set([...present, ...ofValid(() => madeBy(readNetwork(merged)), [])])
  const missing = new Map<string, LinkUse>()
  // An alias may be a pattern that matches many links; only the machine can resolve it.
  if (![...names].some((name) => name.includes('%')))
    for (const node of roots.flatMap(usedBy)) {
      const link = node.is === 'scalar' && node.value !== null ? String(node.value) : ''
      if (link !== '' && !names.has(link) && !missing.has(link))
        missing.set(link, { link, line: node.line })
    }
  return [...missing.values()]
}

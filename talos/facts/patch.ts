/**
 * Writes patches: facts in the homes of the configuration that is patched, and documents that
 * Steelyard adds.
 */
import { stringify } from 'yaml'
import { rootsOf } from '../config/whole.ts'
import type { MapNode, TreeNode } from '../config/tree.ts'
import type { FactValues } from './facts.ts'
import { homeIn, rootOf, type Settable, writeTo } from './home.ts'
import { type InstallDisk, installDisk } from './install.ts'
import { facts } from './table.ts'

/** Kinds of the documents in which a configuration tells facts; empty until Talos 1.13. */
export type Homes = readonly string[]

const table = { ...facts, installDisk }
type PatchValues = { readonly [name in keyof FactValues]?: FactValues[name] | undefined } & {
  readonly installDisk?: InstallDisk
}

/** The homes of a configuration. @throws ConfigError for invalid YAML */
export function homesOf(config: string): Homes {
  const roots = rootsOf(config)
  const kinds = Object.values(table).map((fact: Settable<never>) => homeIn(roots, fact).kind)
  return [...new Set(kinds)].filter((kind) => kind !== '')
}

/** The values in the order of the tree's keys. */
const valueOf = (node: TreeNode): unknown =>
  node.is === 'scalar'
    ? node.value
    : node.is === 'list'
      ? node.items.map(valueOf)
      : Object.fromEntries(Array.from(node.entries, ([key, { value }]) => [key, valueOf(value)]))

/** The text of a patch. Empty without documents. */
export const patchText = (documents: readonly object[]): string =>
  documents.map((d) => stringify(d, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n')

/**
 * A patch that sets these facts, as documents for `patchText`. Undefined values are left out. The
 * main document comes first.
 */
export function patchOf(homes: Homes, values: PatchValues): object[] {
  const roots = Object.entries(values).reduce<readonly MapNode[]>((all, [name, value]) => {
    if (value === undefined) return all
    const { main, document } = table[name as keyof typeof table] as Settable<unknown>
    return writeTo(all, document && homes.includes(document.kind) ? document : main, value)
  }, [])
  const main = rootOf(roots, '')
  return (main ? [main, ...roots.filter((root) => root !== main)] : roots).map(
    (root) => valueOf(root) as object,
  )
}

const document = (kind: string, fields: object): object => ({
  apiVersion: 'v1alpha1',
  kind,
  ...fields,
})

/** Documents of the network, which Talos has since 1.12. */
export const documents = {
  /** The generated configuration sets `auto: stable`, which conflicts with a host name. */
  hostName: (hostname: string) => document('HostnameConfig', { hostname, auto: 'off' }),
  virtualAddress: (address: string, link: string) =>
    document('Layer2VIPConfig', { name: address, link }),
  vlan: (name: string, vlanID: number, parent: string) =>
    document('VLANConfig', { name, vlanID, parent, up: true }),
  dhcp: (link: string) => document('DHCPv4Config', { name: link }),
  linkUp: (link: string) => document('LinkConfig', { name: link, up: true }),
  /**
   * Tokens of service accounts that these issuers have issued stay valid. With audiences the issuer
   * isn't one by itself (Talos `config/types/k8s/service_account.go`).
   */
  acceptedIssuers: (issuer: string, formers: readonly string[]) =>
    document('KubeServiceAccountConfig', {
      accepted: { issuers: formers, audiences: [issuer, ...formers] },
    }),
}

const hostNameHead = 'apiVersion: v1alpha1\nkind: HostnameConfig\n'

/**
 * Whole configurations of a machine in maintenance. Talos has HostnameConfig since 1.12, with
 * exactly one of `auto` and `hostname` (`pkg/machinery/config/types/network/hostname.go`).
 */
export const hostNameOnly = {
  /** Talos derives the host name from the machine's identity, as it does without any document. */
  derived: `${hostNameHead}auto: stable\n`,
  named: (hostname: string) => `${hostNameHead}hostname: ${hostname}\n`,
}

/** What is known of a machine, in the form that the rules about it take. */
import type { KnownLink } from '../network-effect/facts.ts'
import type { Configuration, Hit } from './rule.ts'

/** What is known of a machine. */
export interface Inventory {
  /** Name of the server, for the sentences. */
  readonly server: string
  /** Its links; null if unknown. */
  readonly links: readonly KnownLink[] | null
  /** Its disks; null if unknown. Sizes in bytes. */
  readonly disks:
    | readonly {
        /** `/dev/nvme0n1` */
        readonly path: string
        readonly size: number | null
        readonly model: string | null
        readonly serial: string | null
        readonly wwid: string | null
        readonly transport: string | null
        readonly rotational: boolean | null
        readonly readonly: boolean | null
      }[]
    | null
  /** Path of the disk that Talos is or will be installed on. */
  readonly systemDisk: string | null
  /** Whether it is a member of a cluster, whose volumes have content; left out if unknown. */
  readonly isMember?: boolean
  /** Bytes. Left out or null: unknown, as of the next one. */
  readonly memory?: number | null
  /** Threads of all processors. */
  readonly threads?: number | null
  /** Names of the extensions in its image, such as `iscsi-tools`; left out or null: unknown. */
  readonly extensions?: readonly string[] | null
  /** Whether it was booted with SecureBoot; left out or null: unknown. */
  readonly secureBoot?: boolean | null
  /** The other servers of its cluster; left out if it has none. */
  readonly peers?: readonly { readonly name: string; readonly addresses: readonly string[] }[]
  /** Its own addresses without prefix; null if unknown. */
  readonly addresses: readonly string[] | null
  /** Its gateways; left out if unknown. */
  readonly gateways?: readonly string[]
  /** Patches of other servers that may give them what this one gets, and whose they are. */
  readonly beside?: readonly { readonly by: string; readonly body: string }[]
  /** Addresses that others have, in one spelling, and who. */
  readonly taken: readonly { readonly address: string; readonly by: string }[]
}

export interface InventoryRule {
  readonly id: string
  readonly source: string
  readonly level: 'refuse' | 'warn'
  readonly find: (config: Configuration, inventory: Inventory) => Iterable<Hit>
}

const mostNamed = 6

/** `a, b and 3 more` */
export function some(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  const shown = names.slice(0, mostNamed).join(', ')
  return names.length > mostNamed ? `${shown} and ${names.length - mostNamed} more` : shown
}

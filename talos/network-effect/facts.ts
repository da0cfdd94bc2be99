/** What Steelyard knows of a server and of itself when it judges a change of a network. */

export interface KnownLink {
  /** `enp129s0f0` */
  readonly name: string
  /** The link has a carrier. */
  readonly up: boolean
  readonly physical: boolean
  /** Permanent MAC address; null if unknown. */
  readonly hardware_addr: string | null
  /** With prefix length: `10.1.2.3/24`. */
  readonly addresses: readonly string[]
  /** Kernel driver. Left out or null: unknown, as of the next three. */
  readonly driver?: string | null | undefined
  /** `0000:81:00.0` */
  readonly bus_path?: string | null | undefined
  /** Vendor and product: `15B3:101D`. */
  readonly pci_id?: string | null | undefined
  /** Other names that the kernel knows the link by. */
  readonly alt_names?: readonly string[] | undefined
}

export interface KnownRoute {
  /** Network in CIDR notation; empty for a default route. */
  readonly destination: string
  readonly gateway: string
  readonly link: string
  readonly metric: number
}

/** Another server of the same cluster. */
export interface Peer {
  readonly address: string
  readonly isControlPlane: boolean
}

export interface NetworkFacts {
  /** The address that Steelyard reaches the server on. */
  readonly address: string
  readonly links: readonly KnownLink[]
  readonly routes: readonly KnownRoute[]
  /** The address that Steelyard's connections come from; null if unknown. */
  readonly from: string | null
  /** Networks that Steelyard may dial, in CIDR notation. */
  readonly dialled: readonly string[]
  /** Null if the server is in no cluster. */
  readonly isControlPlane: boolean | null
  readonly peers: readonly Peer[]
}

/** `unknown`: it can't be told. The sentences are about the server, without its name. */
export type NetworkEffect =
  | { readonly kind: 'keeps' }
  | {
      readonly kind: 'moves'
      readonly address: string
      readonly link: string
      readonly reasons: readonly string[]
    }
  | { readonly kind: 'unknown' | 'loses'; readonly reasons: readonly string[] }

/**
 * The links that Talos sets up from a configuration, and the addresses and routes that each gets
 * (Talos `internal/app/machined/pkg/controllers/network`: `link_config.go`, `address_config.go`,
 * `route_config.go`, `operator_config.go`).
 */
import { createHash } from 'node:crypto'
import type { KnownLink } from './facts.ts'
import type { Dhcp, LinkKind, Network, Route } from './read.ts'
import { type Aliases, aliasesOf, isUnsure, selected } from './selectors.ts'

export interface PlannedLink {
  readonly name: string
  kind: LinkKind
  isUp: boolean
  /** Bond, bridge or VRF that the link is a part of. */
  master: { name: string; kind: LinkKind } | null
  /** Link that a VLAN lies on. */
  parent: string
  vlanId: string
  mode: string
  members: string[]
  /** A bridge that lets only the VLANs of its ports through. */
  isFiltering: boolean
  addresses: string[]
  routes: Route[]
  dhcp: Dhcp[]
}

export interface Plan {
  readonly links: ReadonlyMap<string, PlannedLink>
  /** Talos runs DHCP on the physical links that nothing configures. */
  readonly runsDefaultDhcp: boolean
  /** Links that `ignore` leaves alone. */
  readonly ignored: ReadonlySet<string>
  /** Why it can't be told what the configuration means. */
  readonly unsure: readonly string[]
}

/** Most characters of a link's name (Linux `IFNAMSIZ`). */
const longestName = 15

/** The name that Talos gives a VLAN of the old form (Talos `nethelpers/vlan.go`, `VLANLinkName`). */
export function vlanLinkName(base: string, id: string): string {
  if (base.length + 5 <= longestName) return `${base}.${id}`
  const prefix = base.slice(0, 4)
  const bytes = Math.floor((longestName - prefix.length - 5) / 2)
  const hash = createHash('sha256')
    .update(base)
    .digest('hex')
    .slice(0, 2 * bytes)
  return `${prefix}${hash}.${id}`
}

const isMaster = (kind: LinkKind): boolean => ['bond', 'bridge', 'vrf'].includes(kind)

export function planOf(network: Network, known: readonly KnownLink[]): Plan {
  const aliases: Aliases = aliasesOf(network, known)
  const links = new Map<string, PlannedLink>()
  const ignored = new Set<string>()
  const unsure: string[] = []

  // A link's name wins over the alias and the alternative names of another (`link_name_resolver.go`).
  const resolve = (name: string): string => {
    if (known.some((link) => link.name === name)) return name
    if (isUnsure(aliases, name))
      unsure.push(`which link the alias ${name} means is known only to the server`)
    return (
      known.find((link) => link.alt_names?.includes(name))?.name ?? aliases.names.get(name) ?? name
    )
  }
  const linkNamed = (name: string): PlannedLink => {
    const link = links.get(name) ?? {
      name,
      kind: 'plain',
      isUp: true,
      master: null,
      parent: '',
      vlanId: '',
      mode: '',
      members: [],
      isFiltering: false,
      addresses: [],
      routes: [],
      dhcp: [],
    }
    links.set(name, link)
    return link
  }
  /** Links that are there or that the configuration makes. */
  const isMade = (name: string): boolean =>
    known.some((link) => link.name === name) ||
    [...network.devices, ...network.links].some((one) => one.name === name && isMaster(one.kind))
  const enslave = (member: string, master: PlannedLink): void => {
    linkNamed(member).master = { name: master.name, kind: master.kind }
    if (!master.members.includes(member)) master.members.push(member)
  }

  readDevices()
  for (const document of network.links) {
    const link = linkNamed(resolve(document.name))
    if (document.kind !== 'plain') link.kind = document.kind
    link.isUp = document.isUp
    if (document.mode !== '') link.mode = document.mode
    if (document.isFiltering) link.isFiltering = true
    // `vlanLink` sets the link up again.
    if (document.kind === 'vlan')
      Object.assign(link, {
        isUp: true,
        parent: resolve(document.parent),
        vlanId: document.vlanId,
      })
    link.addresses.push(...document.addresses)
    link.routes.push(...document.routes)
    for (const member of isMaster(document.kind) ? document.members : [])
      enslave(resolve(member), link)
  }
  for (const { name, ...dhcp } of network.dhcp) linkNamed(resolve(name)).dhcp.push(dhcp)

  const runsDefaultDhcp = network.links.length === 0 && network.dhcp.length === 0
  if (runsDefaultDhcp)
    for (const { name, physical } of known)
      if (physical && !links.has(name) && !ignored.has(name))
        linkNamed(name).dhcp.push({ family: 4, duid: '', withRoutes: true })
  return { links, runsDefaultDhcp, ignored, unsure: [...new Set(unsure)] }

  /** `machine.network.interfaces`, after its selectors are resolved (`device_config.go`). */
  function readDevices(): void {
    for (const device of network.devices) {
      const names = device.selector ? selected(device.selector, known) : [device.name]
      if (names === null) {
        unsure.push(
          `which link deviceSelector ${fieldsOf(device.selector!)} means is known only to the server`,
        )
        continue
      }
      const members = [...device.members]
      const chosen = device.memberSelectors.map((selector) => selected(selector, known))
      if (chosen.includes(null)) {
        unsure.push(`which links the selectors of ${device.name} mean is known only to the server`)
        continue
      }
      members.push(...chosen.flatMap((some) => some!).filter((name) => name !== device.name))
      // Talos leaves out a device whose selectors match nothing, and only logs it.
      if (device.memberSelectors.length > 0 && members.length === 0) continue
      for (const original of names) {
        const name = resolve(original)
        if (device.isIgnored) {
          ignored.add(name)
          continue
        }
        const link = linkNamed(name)
        if (device.kind !== 'plain') link.kind = device.kind
        if (device.mode !== '') link.mode = device.mode
        if (device.isFiltering) link.isFiltering = true
        link.addresses.push(...device.addresses)
        link.routes.push(...device.routes)
        link.dhcp.push(...device.dhcp)
        for (const member of members) enslave(resolve(member), link)
        // A master that isn't there is waited for (`link_spec.go`, `syncLink`).
        if (device.master !== '' && isMade(resolve(device.master))) {
          const bridge = linkNamed(resolve(device.master))
          if (bridge.kind === 'plain') bridge.kind = 'bridge'
          enslave(name, bridge)
        }
        for (const vlan of device.vlans)
          Object.assign(linkNamed(vlanLinkName(original, vlan.id)), {
            kind: 'vlan',
            parent: name,
            vlanId: vlan.id,
            addresses: [...vlan.addresses],
            routes: [...vlan.routes],
            dhcp: [...vlan.dhcp],
          })
      }
    }
    // `operator_config.go` runs no DHCP on an ignored link, whatever else names it.
    for (const name of ignored) {
      const link = links.get(name)
      if (link) link.dhcp = []
    }
  }
}

const fieldsOf = (selector: { readonly [field: string]: string }): string =>
  Object.entries(selector)
    .map(([field, value]) => `${field} ${value}`)
    .join(', ')

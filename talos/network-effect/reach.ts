/**
 * Whether packets from outside reach a link: it must be up, have a cable, and be no part of a bond
 * or bridge.
 */
import type { NetworkFacts } from './facts.ts'
import type { Plan, PlannedLink } from './plan.ts'

/** `why` completes "…, because"; empty for a link that is reached. */
export interface Reach {
  readonly is: 'yes' | 'no' | 'unsure'
  readonly why: string
  /** The link is there and up although nobody is behind it, so Linux uses its routes. */
  readonly swallows?: true
}

const yes: Reach = { is: 'yes', why: '' }
const no = (why: string): Reach => ({ is: 'no', why })
/** Linux keeps the routes of a link without a carrier (`ignore_routes_with_linkdown` is off). */
const nowhere = (why: string): Reach => ({ is: 'no', why, swallows: true })
const unsure = (why: string): Reach => ({ is: 'unsure', why })

/**
 * Modes that work at a switch which knows nothing of the bond (Linux
 * `Documentation/networking/bonding.rst`, "Switch Configuration").
 */
const plainModes = new Set(['active-backup', 'balance-tlb', 'balance-alb'])

/** Most VLANs on VLANs that are followed. */
const deepest = 4

export interface ReachInput {
  readonly plan: Plan
  readonly facts: Pick<NetworkFacts, 'links'>
  readonly acceptsFromVrf: boolean
  /** Whether the link is there today and stays as it is. */
  readonly isProven: (name: string) => boolean
  /** The links of today; null if the machine has no configuration. */
  readonly old: Plan | null
}

export function reachOf(name: string, input: ReachInput, depth = 0): Reach {
  const { plan, facts, acceptsFromVrf, isProven, old } = input
  const link = plan.links.get(name)
  const known = facts.links.find((one) => one.name === name)
  if (link === undefined) return no(`nothing configures ${name}`)
  if (!link.isUp) return no(`${name} is set down`)
  if (link.master !== null && link.master.kind !== 'vrf')
    return no(`${name} becomes a part of ${link.master.name}`)
  const own = ownReach(link)
  if (own.is === 'no' || link.master === null) return own
  // Linux `Documentation/networking/vrf.rst`: apid listens outside of any VRF.
  return acceptsFromVrf
    ? unsure(`${name} becomes a part of the VRF ${link.master.name}`)
    : no(
        `${name} becomes a part of the VRF ${link.master.name}, where Talos's API does not listen (net.ipv4.tcp_l3mdev_accept)`,
      )

  function ownReach({ kind, parent, vlanId, mode, members }: PlannedLink): Reach {
    switch (kind) {
      case 'plain':
        if (known === undefined) return no(`the server has no link ${name}`)
        if (!known.up && known.physical) return nowhere(`${name} has no carrier`)
        return aggregated(name) ?? yes
      case 'vlan': {
        if (depth >= deepest) return no(`${name} lies on too many VLANs`)
        const below = reachOf(parent, input, depth + 1)
        if (below.is === 'no') {
          // A link that only a VLAN names is never set up (`link_config.go`, `vlanLink`).
          return plan.links.has(parent)
            ? below
            : no(`nothing sets up ${parent}, on which ${name} lies: add a LinkConfig for ${parent}`)
        }
        if (isProven(name)) return yes
        // Talos gives the ports no VLANs (siderolabs/talos#9117); Linux gives them VLAN 1
        // (`net/bridge/br_vlan.c`, `br_vlan_init`) and drops the others (`br_allowed_ingress`).
        if (plan.links.get(parent)?.isFiltering && vlanId !== '1')
          return no(
            `${parent} filters VLANs and its ports let only VLAN 1 through, so ${name} gets nothing`,
          )
        return unsure(`whether the switch carries VLAN ${vlanId} is not known`)
      }
      case 'bond': {
        const live = members.filter((member) => carries(member))
        if (live.length === 0)
          return nowhere(
            members.length === 0 ? `${name} has no members` : `no member of ${name} has a carrier`,
          )
        if (isProven(name)) return yes
        if (plainModes.has(mode)) return live.map(aggregated).find((one) => one !== null) ?? yes
        return unsure(
          `whether the switch takes the ports of ${name} as a bond (${mode || 'balance-rr'}) is not known`,
        )
      }
      case 'bridge':
        if (members.some((member) => carries(member))) return yes
        return nowhere(
          members.length === 0 ? `${name} has no ports` : `no port of ${name} has a carrier`,
        )
      case 'wireguard':
        return isProven(name) ? yes : unsure(`whether the tunnel ${name} works is not known`)
      default:
        return nowhere(`${name} leads nowhere outside of the server`)
    }
  }

  /** A switch that takes the port as a part of a bond today may let nothing else through. */
  function aggregated(port: string): Reach | null {
    const master = old?.links.get(port)?.master
    const today = master?.kind === 'bond' ? old!.links.get(master.name) : undefined
    return today === undefined || plainModes.has(today.mode)
      ? null
      : unsure(`whether the switch takes ${port} without the bond ${today.name} is not known`)
  }

  function carries(member: string): boolean {
    const port = plan.links.get(member)
    if (port?.isUp !== true) return false
    if (port.kind === 'plain')
      return facts.links.some((one) => one.name === member && (one.up || !one.physical))
    if (port.kind !== 'bond' && port.kind !== 'vlan') return false
    return (
      depth < deepest &&
      reachOf(
        member,
        {
          ...input,
          plan: { ...plan, links: new Map([...plan.links, [member, { ...port, master: null }]]) },
        },
        depth + 1,
      ).is !== 'no'
    )
  }
}

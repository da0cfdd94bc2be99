/**
 * Where Steelyard reaches a server after a change of its configuration: computed from the merged
 * configuration and the inventory, not guessed from names (`docs/decisions/028-network-effect.md`).
 */
import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from '../config/tree.ts'
import { addressOf, bare, isSame, prefixOf, includes } from './addresses.ts'
import type { KnownLink, NetworkEffect, NetworkFacts } from './facts.ts'
import { blockedBy } from './firewall.ts'
import { type Plan, planOf } from './plan.ts'
import { type Network, readNetwork } from './read.ts'
import { type Reach, reachOf } from './reach.ts'
import { routeProblem, type Way } from './routes.ts'

/** A way to the server, and how sure it is. */
interface Candidate extends Way {
  readonly is: 'yes' | 'unsure'
  readonly why: string
}

/**
 * The effect of a configuration on the way to the server.
 * @param before the configuration that the machine runs; null in maintenance, where Talos runs DHCP
 * on all physical links
 */
export function networkEffect(
  before: string | null,
  after: string,
  facts: NetworkFacts,
): NetworkEffect {
  try {
    const next = readNetwork(after)
    const today = before === null ? null : readNetwork(before)
    if (today !== null && isDeepStrictEqual(today, next)) return { kind: 'keeps' }
    return combined(
      judged(today, next, (then, now) => pathEffect(then, now, facts)),
      combined(
        judged(today, next, (then, now) => wallEffect(then, now, facts)),
        bgpEffect(today, next),
      ),
    )
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    // More values than are read, or a text that only Talos reads.
    return { kind: 'unknown', reasons: [error.message] }
  }
}

/**
 * Judges the next configuration. Today's configuration works. If the rule condemns it too, the rule
 * lacks a fact, so the effect is unknown.
 */
function judged(
  today: Network | null,
  next: Network,
  judge: (today: Network | null, next: Network) => NetworkEffect,
): NetworkEffect {
  const effect = judge(today, next)
  return effect.kind === 'loses' && today !== null && judge(null, today).kind === 'loses'
    ? { kind: 'unknown', reasons: effect.reasons }
    : effect
}

function wallEffect(today: Network | null, next: Network, facts: NetworkFacts): NetworkEffect {
  if (today !== null && isDeepStrictEqual(today.firewall, next.firewall)) return { kind: 'keeps' }
  const { loses, unsure } = blockedBy(next, facts)
  if (loses.length > 0) return { kind: 'loses', reasons: loses }
  return unsure.length > 0 ? { kind: 'unknown', reasons: unsure } : { kind: 'keeps' }
}

/** Routes that BGP learns may replace those of the configuration, and take the way back. */
function bgpEffect(today: Network | null, next: Network): NetworkEffect {
  return isDeepStrictEqual(today?.bgp ?? [], next.bgp)
    ? { kind: 'keeps' }
    : { kind: 'unknown', reasons: ['which routes the server learns by BGP is not known'] }
}

const gravity = { keeps: 0, moves: 1, unknown: 2, loses: 3 } as const

function combined(path: NetworkEffect, wall: NetworkEffect): NetworkEffect {
  const [worse, other] = gravity[wall.kind] > gravity[path.kind] ? [wall, path] : [path, wall]
  return worse.kind === other.kind && worse.kind !== 'keeps' && other.kind !== 'keeps'
    ? { ...worse, reasons: [...worse.reasons, ...other.reasons] }
    : worse
}

/** Without the firewall and BGP, which have their own checks. */
const withoutFirewall = (network: Network): object => ({ ...network, firewall: null, bgp: null })

function pathEffect(today: Network | null, next: Network, facts: NetworkFacts): NetworkEffect {
  if (today !== null && isDeepStrictEqual(withoutFirewall(today), withoutFirewall(next)))
    return { kind: 'keeps' }
  const target = addressOf(facts.address)
  const link = facts.links.find((one) =>
    one.addresses.some((text) => bare(text) === bare(facts.address)),
  )
  if (target === undefined || link === undefined)
    return isDeepStrictEqual(linksOf(next), linksOf(today))
      ? { kind: 'keeps' }
      : {
          kind: 'unknown',
          reasons: [`no link of the server is known to have the address ${facts.address}`],
        }

  const taken = takenAway(link, next)
  if (taken?.is === 'unsure') return { kind: 'unknown', reasons: [taken.why] }
  const there = facts.links.filter((one) => takenAway(one, next)?.is !== 'no')
  const plan = planOf(next, there)
  const old = today === null ? null : planOf(today, facts.links)
  if (plan.unsure.length > 0) return { kind: 'unknown', reasons: plan.unsure }

  const ways = waysOf(next, plan, old, { ...facts, links: there })
  const kept = ways.sure.find((way) => isSame(addressOf(bare(way.address))!, target))
  if (kept) return kept.is === 'yes' ? { kind: 'keeps' } : { kind: 'unknown', reasons: [kept.why] }

  const lost = taken?.why ?? ways.stranded ?? whyLost(link.name, facts.address, plan, next)
  const dialled = ways.sure.filter((way) =>
    facts.dialled.some((network) => includes(network, addressOf(bare(way.address))!)),
  )
  const best = dialled.find((way) => way.is === 'yes') ?? dialled[0]
  if (best)
    return {
      kind: 'moves',
      address: bare(best.address),
      link: best.link,
      reasons: [lost, best.why].filter((one) => one !== ''),
    }
  if (ways.leases.length > 0)
    return {
      kind: 'unknown',
      reasons: [lost, `which address ${ways.leases[0]!} gets by DHCP is not known`],
    }
  const outside = ways.sure[0]
  return {
    kind: 'loses',
    reasons: [
      lost,
      ...(outside
        ? [`its new address ${bare(outside.address)} is outside of STEELYARD_DIAL_NETWORKS`]
        : ways.dead.filter((why) => why !== lost).slice(0, 1)),
    ],
  }
}

/**
 * Whether the port's driver is taken away (Talos `pci_driver_rebind.go`). Null if nothing does that.
 */
function takenAway(link: KnownLink, { rebound }: Network): Reach | null {
  if (!link.physical || rebound.length === 0) return null
  const devices = rebound.filter(({ driver }) => driver !== link.driver)
  if (devices.length === 0) return null
  if (!link.bus_path) {
    const names = devices.map(({ device }) => device).join(', ')
    return { is: 'unsure', why: `whether ${link.name} is the device ${names} is not known` }
  }
  const own = pciParts(link.bus_path)
  const device = devices.find((one) => isDeepStrictEqual(pciParts(one.device), own))
  return device === undefined
    ? null
    : {
        is: 'no',
        why: `${link.name}, the link that Steelyard reaches it on, gets the driver ${device.driver} and is gone`,
      }
}

/** `0000:81:00.0` as numbers. */
const pciParts = (text: string): number[] => text.split(/[:.]/).map((part) => parseInt(part, 16))

const linksOf = (network: Network | null): object =>
  network === null ? [[], [], []] : [network.devices, network.links, network.dhcp]

interface Ways {
  /** Addresses that the server will have, the present one and those of its link first. */
  readonly sure: readonly Candidate[]
  /** Links that get an unknown address by DHCP. */
  readonly leases: readonly string[]
  /** Why addresses don't count. */
  readonly dead: readonly string[]
  /** Why nobody reaches the present address, although the server keeps it; else null. */
  readonly stranded: string | null
}

function waysOf(network: Network, plan: Plan, old: Plan | null, facts: NetworkFacts): Ways {
  /** Whether a link of today, perhaps by another name, shows that this one works. */
  const isProven = (name: string): boolean => {
    const now = plan.links.get(name)
    return (
      now !== undefined &&
      [...(old?.links.values() ?? [])].some(
        (then) =>
          facts.links.some((one) => one.name === then.name) &&
          (then.name === name || now.kind === 'vlan' || now.kind === 'bond') &&
          isDeepStrictEqual(shapeOf(then), shapeOf(now)) &&
          (now.kind !== 'vlan' || isStill(now.parent, plan, old)),
      )
    )
  }
  const hasIpv6 = (name: string): boolean =>
    !network.withoutIpv6.includes('all') && !network.withoutIpv6.includes(name)
  const reaches = (name: string) =>
    reachOf(name, { plan, facts, acceptsFromVrf: network.acceptsFromVrf, isProven, old })
  /** Whether the link has its addresses of this family by DHCP or a router's advertisement today. */
  const hasLease = (name: string, family: 4 | 6 = 4): boolean => {
    const known = facts.links.find((one) => one.name === name)
    const duid = plan.links.get(name)?.dhcp.find((one) => one.family === family)?.duid ?? ''
    if (known === undefined) return false
    if (old === null) return known.physical && duid === ''
    const then = old.links.get(name)
    const dhcp = then?.dhcp.find((one) => one.family === family)
    return then !== undefined && (dhcp ? dhcp.duid === duid : family === 6)
  }
  /** A link that asks a DHCP server today and has no address won't get one by asking again. */
  const mayLease = (name: string, family: 4 | 6): boolean =>
    !hasLease(name, family) && facts.dialled.some((text) => prefixOf(text)?.family === family)

  const dead: string[] = []
  let stranded: string | null = null
  const leases: string[] = []
  const found: (Way & { readonly reach: ReturnType<typeof reaches> })[] = []
  for (const link of plan.links.values()) {
    const { name, dhcp } = link
    const wants = link.addresses.length > 0 || dhcp.length > 0
    const reach = reaches(name)
    if (reach.is === 'no') {
      if (wants) dead.push(reach.why)
      if (link.addresses.some((text) => bare(text) === facts.address)) stranded = reach.why
      continue
    }
    for (const address of link.addresses) {
      const family = prefixOf(address)?.family
      if (family === 4 || (family === 6 && hasIpv6(name)))
        found.push({ address, link: name, reach })
    }
    const known = facts.links.find((one) => one.name === name)
    const isStillThere = known !== undefined && (known.physical || isProven(name))
    const statics = new Set(old?.links.get(name)?.addresses.map(bare))
    const leased = (known?.addresses ?? []).filter((text) => !statics.has(bare(text)))
    for (const family of hasIpv6(name) ? ([4, 6] as const) : ([4] as const)) {
      // Linux takes IPv6 addresses from routers on every link that is up.
      const gets = dhcp.some((one) => one.family === family) || family === 6
      if (!gets) continue
      const own = leased.filter((text) => prefixOf(text)?.family === family && !isLinkLocal(text))
      if (isStillThere && hasLease(name, family) && own.length > 0)
        found.push(...own.map((address) => ({ address, link: name, reach })))
      else if (dhcp.some((one) => one.family === family) && mayLease(name, family))
        leases.push(name)
    }
  }

  const input = {
    network,
    plan,
    facts,
    reaches,
    ways: found,
    hasLease,
    hasUnknown: leases.length > 0,
  }
  const sure = found.flatMap((way): Candidate[] => {
    const problem = routeProblem(way, input)
    if (problem?.is === 'no') {
      dead.push(problem.why)
      if (bare(way.address) === facts.address) stranded = problem.why
      return []
    }
    const doubt = way.reach.is === 'unsure' ? way.reach : problem
    return [
      { address: way.address, link: way.link, is: doubt ? 'unsure' : 'yes', why: doubt?.why ?? '' },
    ]
  })
  const own = facts.links.find((one) => one.addresses.some((text) => bare(text) === facts.address))
  const rank = (way: Candidate): number =>
    bare(way.address) === facts.address ? 0 : way.link === own?.name ? 1 : 2
  return { sure: sure.toSorted((a, b) => rank(a) - rank(b)), leases, dead, stranded }
}

const isLinkLocal = (text: string): boolean => /^fe[89ab]/i.test(text)
const shapeOf = ({
  kind,
  isUp,
  master,
  parent,
  vlanId,
  mode,
  members,
  isFiltering,
}: PlanLink): object => ({
  kind,
  isUp,
  master,
  parent,
  vlanId,
  mode,
  members,
  isFiltering,
})
type PlanLink = Plan['links'] extends ReadonlyMap<string, infer Link> ? Link : never

const isStill = (name: string, plan: Plan, old: Plan | null): boolean => {
  const [then, now] = [old?.links.get(name), plan.links.get(name)]
  return then !== undefined && now !== undefined && isDeepStrictEqual(shapeOf(then), shapeOf(now))
}

/** Why the link that Steelyard reaches the server on no longer has the address. */
function whyLost(name: string, address: string, plan: Plan, { withoutIpv6 }: Network): string {
  const subject = `${name}, the link that Steelyard reaches it on,`
  const link = plan.links.get(name)
  if (plan.ignored.has(name) && !link?.addresses.length && !link?.dhcp.length)
    return `${subject} is ignored`
  if (link === undefined) {
    const others = [...plan.links.keys()].slice(0, 3).join(', ')
    return plan.runsDefaultDhcp
      ? `${subject} is gone`
      : `the configuration of ${others || 'other links'} stops DHCP on ${name}, the link that Steelyard reaches it on: add a DHCPv4Config or LinkConfig for ${name}`
  }
  if (link.master) return `${subject} becomes a part of ${link.master.name}`
  if (!link.isUp) return `${subject} is set down`
  if (addressOf(address)?.family === 6 && withoutIpv6.some((one) => one === 'all' || one === name))
    return `${subject} has no IPv6 (disable_ipv6)`
  if (link.addresses.length === 0 && link.dhcp.length === 0)
    return `${subject} gets no address: nothing gives it one, neither DHCP nor a static address`
  return `${subject} no longer has the address ${address}`
}

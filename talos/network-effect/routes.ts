/** Whether the answers of a server find their way back to Steelyard. */
import { type Address, addressOf, contains, includes, isSame, prefixOf } from './addresses.ts'
import type { NetworkFacts } from './facts.ts'
import type { Plan } from './plan.ts'
import type { Network } from './read.ts'
import type { Reach } from './reach.ts'

export interface Way {
  /** Address with prefix length. */
  readonly address: string
  readonly link: string
}

export interface RouteInput {
  readonly network: Network
  readonly plan: Plan
  readonly facts: Pick<NetworkFacts, 'from' | 'routes' | 'links'>
  readonly reaches: (link: string) => Reach
  /** All addresses that the server will have. */
  readonly ways: readonly Way[]
  /** The server also gets addresses that aren't known. */
  readonly hasUnknown: boolean
  /** Links whose DHCP server is known from today. */
  readonly hasLease: (link: string) => boolean
}

interface Candidate {
  readonly length: number
  readonly metric: number
  /** Empty for a route that drops. */
  readonly link: string
  readonly gateway: string
  /** It has no gateway although its destination is no network of the link. */
  readonly isOnLink?: true
}

const drops = new Set(['blackhole', 'unreachable', 'prohibit'])

/** The way back of a connection to `way`. Null if nothing speaks against it. */
export function routeProblem(way: Way, input: RouteInput): Reach | null {
  const { network, facts } = input
  // Its routes are those of the VRF's table, whose reach is never sure.
  if (input.plan.links.get(way.link)?.master?.kind === 'vrf') return null
  const own = prefixOf(way.address)!
  const from = facts.from === null ? undefined : addressOf(facts.from)
  const problem = from && ruleProblem(own, from, network)
  if (problem) return problem
  if (from === undefined || from.family !== own.family)
    return hasGateway(way, input)
      ? null
      : unsure(`whether Steelyard is in the network of ${way.address} is not known`)

  const best = bestOf(candidatesTo(from, input))
  if (best.length === 0)
    return no(`no route leads from ${bareOf(way.address)} back to Steelyard (${facts.from})`)
  if (best.some(({ link }) => link === ''))
    return no(`a BlackholeRouteConfig drops the answers to Steelyard (${facts.from})`)
  const mine = best.filter(({ link }) => link === way.link)
  if (mine.length === 0) {
    const { link } = best[0]!
    const other = input.reaches(link)
    if (other.is === 'no')
      return no(`the answers to Steelyard (${facts.from}) leave by ${link}: ${other.why}`)
    return isUsedToday(from, link, facts)
      ? null
      : unsure(`the answers to Steelyard leave by ${link}, not by ${way.link}`)
  }
  const lost = mine.find(({ gateway }) => gateway !== '' && !isOnLink(gateway, way.link, input))
  if (lost && mine.every((one) => one === lost))
    return no(
      isOwn(lost.gateway, input)
        ? `the gateway ${lost.gateway} is the server's own address`
        : `the gateway ${lost.gateway} is in no network of ${way.link}`,
    )
  if (mine.every((one) => one.isOnLink) && input.plan.links.get(way.link)?.kind !== 'wireguard')
    return unsure(
      `whether Steelyard (${facts.from}) is reached on ${way.link} without a gateway is not known`,
    )
  const used = new Set(facts.routes.map(({ gateway }) => gateway))
  const other = mine.find(({ gateway }) => gateway !== '' && !used.has(gateway))
  return other && used.size > 0 && mine.every(({ gateway }) => gateway === other.gateway)
    ? unsure(`whether the gateway ${other.gateway} leads to Steelyard is not known`)
    : null
}

const no = (why: string): Reach => ({ is: 'no', why })
const unsure = (why: string): Reach => ({ is: 'unsure', why })
const bareOf = (address: string): string => address.split('/', 1)[0]!

/** A rule that sends the answers elsewhere (`RoutingRuleConfig`). */
function ruleProblem(own: Address, from: Address, { routingRules }: Network): Reach | null {
  for (const { src, dst, action, table, isNarrow } of routingRules) {
    const matches =
      (src === '' || includes(src, own)) &&
      (dst === '' || includes(dst, from)) &&
      // A rule without networks is for both families only if Talos makes two of it.
      (src !== '' || dst !== '' || own.family === 4)
    if (!matches || table === 'main') continue
    if (isNarrow || !drops.has(action))
      return unsure(`a RoutingRuleConfig sends the answers to Steelyard to the table ${table}`)
    return no(`a RoutingRuleConfig drops the answers to Steelyard (${action})`)
  }
  return null
}

/** Routes of the main table that lead to an address. */
function candidatesTo(to: Address, input: RouteInput): Candidate[] {
  const { network, plan, facts, reaches, ways, hasLease } = input
  const found: Candidate[] = []
  const addNetwork = (address: string, link: string): void => {
    const prefix = prefixOf(address)
    if (prefix && contains(prefix, to))
      found.push({ length: prefix.length, metric: 0, link, gateway: '' })
  }
  for (const { address, link } of ways) addNetwork(address, link)
  // Linux takes no route whose source isn't an address of the server.
  const hasSource = (source: string): boolean =>
    source === '' || input.hasUnknown || isOwn(source, input)
  const add = (
    destination: string,
    gateway: string,
    metric: number,
    link: string,
    isOnLink = false,
  ): void => {
    const prefix = prefixOf(destination === '' ? anywhere(to) : destination)
    const isOtherFamily =
      destination === '' && gateway !== '' && addressOf(gateway)?.family !== to.family
    if (prefix !== undefined && !isOtherFamily && contains(prefix, to))
      found.push({ length: prefix.length, metric, link, gateway, ...(isOnLink && { isOnLink }) })
  }
  for (const link of plan.links.values()) {
    const reach = reaches(link.name)
    if ((reach.is === 'no' && !reach.swallows) || link.master?.kind === 'vrf') continue
    if (reach.is === 'no') for (const address of link.addresses) addNetwork(address, link.name)
    for (const route of link.routes)
      if ((route.table === 'main' || route.table === '254') && hasSource(route.source))
        add(route.destination, route.gateway, route.metric, link.name, route.gateway === '')
    if (reach.is === 'no') continue
    const dhcp = link.dhcp.find(({ family }) => family === to.family)
    if (!dhcp?.withRoutes && to.family === 4) continue
    const isLeased = hasLease(link.name)
    // A link that asks a DHCP server today and has no address gets no routes either.
    if (isLeased && !ways.some((way) => way.link === link.name)) continue
    const leased = facts.routes.filter((route) => route.link === link.name)
    if (isLeased) for (const route of leased) add(route.destination, '', route.metric, link.name)
    // The routes of a new lease, or of a router's advertisement, aren't known: usually a default.
    if ((!isLeased || leased.length === 0) && (dhcp || to.family === 6))
      add('', '', Number.MAX_SAFE_INTEGER, link.name)
  }
  for (const destination of network.blackholes) add(destination, '', 0, '')
  return found
}

const anywhere = ({ family }: Address): string => (family === 4 ? '0.0.0.0/0' : '::/0')

/** The longest prefix wins, then the lowest metric. */
function bestOf(candidates: readonly Candidate[]): Candidate[] {
  const length = Math.max(...candidates.map((one) => one.length))
  const longest = candidates.filter((one) => one.length === length)
  const metric = Math.min(...longest.map((one) => one.metric))
  return longest.filter((one) => one.metric === metric)
}

/** Linux refuses a route whose gateway is in no network of its link. */
function isOnLink(gateway: string, link: string, { ways, plan }: RouteInput): boolean {
  const address = addressOf(gateway)
  if (address === undefined) return true
  if (isOwn(gateway, { ways, plan })) return false
  // A link-local gateway is on the link.
  if (address.family === 6 && address.value >> 118n === 0x3fan) return true
  return (
    ways.some((way) => way.link === link && includes(way.address, address)) ||
    (plan.links.get(link)?.routes ?? []).some(
      (route) => route.gateway === '' && includes(route.destination, address),
    )
  )
}

/** The address is one that the server will have. */
function isOwn(text: string, { ways, plan }: Pick<RouteInput, 'ways' | 'plan'>): boolean {
  const address = addressOf(text)
  const all = [
    ...ways.map((way) => way.address),
    ...[...plan.links.values()].flatMap((link) => link.addresses),
  ]
  return (
    address !== undefined &&
    all.some((one) => {
      const own = addressOf(bareOf(one))
      return own !== undefined && isSame(own, address)
    })
  )
}

const hasGateway = ({ link }: Way, { plan }: RouteInput): boolean => {
  const planned = plan.links.get(link)
  return (
    planned !== undefined &&
    (planned.dhcp.some((one) => one.withRoutes) ||
      planned.routes.some((route) => route.destination === '' || route.destination === '0.0.0.0/0'))
  )
}

/** The answers already leave by this link. */
function isUsedToday(
  to: Address,
  link: string,
  { routes, links }: Pick<NetworkFacts, 'routes' | 'links'>,
): boolean {
  const today: Candidate[] = [
    ...links.flatMap(({ name, addresses }) =>
      addresses.flatMap((text): Candidate[] => {
        const prefix = prefixOf(text)
        return prefix && contains(prefix, to)
          ? [{ length: prefix.length, metric: 0, link: name, gateway: '' }]
          : []
      }),
    ),
    ...routes.flatMap(({ destination, gateway, metric, link: by }): Candidate[] => {
      const prefix = prefixOf(destination === '' ? anywhere(to) : destination)
      return prefix && contains(prefix, to)
        ? [{ length: prefix.length, metric, link: by, gateway }]
        : []
    }),
  ]
  return today.length === 0 || bestOf(today).some((one) => one.link === link)
}

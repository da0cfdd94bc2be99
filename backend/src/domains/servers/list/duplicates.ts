/**
 * Addresses and MACs that several servers have. The index is kept with the servers in memory, so a
 * pass of the findings costs as much as there are duplicates, not as there are servers.
 */
import {
  type Cidr,
  contains,
  formatAddress,
  parseAddress,
  parseCidr,
} from '#contract/network/addresses.ts'
import type { Duplicate } from '../api.ts'
import type { Entry } from '../present.ts'
import type { ServerRow } from '../store.ts'

/** Loopback and link-local ranges, which every machine has. */
const everywhere: readonly Cidr[] = ['127.0.0.0/8', '169.254.0.0/16', '::1/128', 'fe80::/10'].map(
  (text) => parseCidr(text)!,
)

/**
 * Drivers of the link between a machine and its own BMC over USB (Linux, drivers/net/usb). Makers
 * give it the same MAC in many machines.
 */
const toOwnBmc = /^(cdc_|rndis_host$)/

/** So long a silent server keeps what it said of itself, in ms. */
const keptMs = 24 * 3_600_000
/** Most others that a sentence names. */
const mostNamed = 3

/**
 * What a server says is its own: `KIND VALUE SCOPE`, a tab, and the link. Within a scope no other
 * server may have it. A text, because every server's are kept in memory.
 */
export type Claim = string
const keyOf = (claim: Claim): string => claim.slice(0, claim.indexOf('\t'))
const linkOf = (claim: Claim): string | null => claim.slice(claim.indexOf('\t') + 1) || null

const everyDatacenter = '*'

const claim = (what: Duplicate['what'], value: string, scope: string, link = ''): Claim =>
  `${what} ${value} ${scope}\t${link}`

/** The address in its one spelling; undefined if every machine may have it. */
function ownAddress(text: string): string | undefined {
  const address = parseAddress(text)
  return address === null || everywhere.some((range) => contains(range, address))
    ? undefined
    : formatAddress(address)
}

/** Whether the prefix has one address: of virtual and anycast addresses, which several may have. */
const isOfOneHost = (prefix: string): boolean =>
  prefix.endsWith(prefix.includes(':') ? '/128' : '/32')

/**
 * MACs of the ports. Makers give each a MAC that is unique in the world; one that was given locally
 * (bit 1 of the first byte, IEEE 802) has to be unique in its networks. Not of other links: bonds,
 * bridges and VLANs have the MAC of a port.
 */
function macsOf({ hardware, datacenter_id }: ServerRow): Claim[] {
  const found = new Map<string, Claim>()
  for (const { id, hardware_addr: mac = '', driver = '' } of hardware?.interfaces ?? []) {
    const first = Number.parseInt(mac.slice(0, 2), 16)
    // Groups (bit 0) are no MAC of a port. InfiniBand has longer addresses.
    const isOfPort = /^[0-9a-f:]{17}$/.test(mac) && /[1-9a-f]/.test(mac) && (first & 1) === 0
    const scope = (first & 2) === 0 ? everyDatacenter : datacenter_id
    if (isOfPort && scope !== null && !toOwnBmc.test(driver) && !found.has(mac))
      found.set(mac, claim('mac', mac, scope, id))
  }
  return [...found.values()]
}

/**
 * The address that Steelyard dials, which one server has in the whole fleet, and in its datacenter
 * each address of a network that the machine reports without those of pods and services. Other
 * datacenters have other networks, which may use the same private addresses.
 */
function addressesOf({ address, hardware, datacenter_id }: ServerRow): Claim[] {
  const links = new Map(
    (hardware?.links ?? []).flatMap(({ name, addresses }) =>
      addresses.flatMap((prefix) =>
        isOfOneHost(prefix) ? [] : [[ownAddress(prefix.split('/', 1)[0]!), name] as const],
      ),
    ),
  )
  const dialled = ownAddress(address)
  const reported = new Set(
    [address, ...(hardware?.addresses ?? [])].flatMap((text) => ownAddress(text) ?? []),
  )
  return [
    ...(dialled === undefined
      ? []
      : [claim('address', dialled, everyDatacenter, links.get(dialled))]),
    ...(datacenter_id === null
      ? []
      : [...reported].flatMap((own) =>
          links.has(own) || own === dialled
            ? [claim('address', own, datacenter_id, links.get(own))]
            : [],
        )),
  ]
}

/** What a server that isn't removed says is its own. */
export const claimsOf = (row: ServerRow): readonly Claim[] =>
  row.status === 'deleted' ? [] : [...macsOf(row), ...addressesOf(row)]

/** Whether what the machine said of itself still counts. */
const isHeard = ({ reachable, unreachable_since }: Entry['row'], now: number): boolean =>
  reachable === true ||
  (reachable === false && unreachable_since !== null && now - unreachable_since.getTime() < keptMs)

interface Claiming extends Pick<Entry, 'row'> {
  readonly claims: readonly Claim[]
}

/** Who claims what. An entry stays the same object when its server changes. */
export function duplicateIndex() {
  const holders = new Map<string, Claiming | Set<Claiming>>()
  /** The keys that several claim. */
  const shared = new Set<string>()

  const add = (key: string, holder: Claiming): void => {
    const known = holders.get(key)
    if (known === undefined) return void holders.set(key, holder)
    if (known instanceof Set) return void known.add(holder)
    if (known === holder) return
    holders.set(key, new Set([known, holder]))
    shared.add(key)
  }
  const remove = (key: string, holder: Claiming): void => {
    const known = holders.get(key)
    if (known === holder) return void holders.delete(key)
    if (!(known instanceof Set) || !known.delete(holder) || known.size > 1) return
    shared.delete(key)
    holders.set(key, [...known][0]!)
  }

  /** What each of these servers, which all claim the key, has with the others. */
  const among = (key: string, all: readonly Claiming[]): Duplicate[] => {
    const [what, value] = key.split(' ') as [Duplicate['what'], string]
    const link = (holder: Claiming) =>
      linkOf(holder.claims.find((one) => keyOf(one) === key) ?? '\t')
    // One more than is named, because no server is named to itself.
    const named = all.slice(0, mostNamed + 1).map((holder) => {
      const { name, datacenter_code: datacenter } = holder.row
      return { holder, said: { name, link: link(holder), datacenter } }
    })
    return all.map((holder) => ({
      server: holder.row,
      what,
      value,
      link: link(holder),
      others: named
        .filter((one) => one.holder !== holder)
        .slice(0, mostNamed)
        .map(({ said }) => said),
      count: all.length - 1,
    }))
  }

  return {
    /** Notes the claims of a server. Before: those that it had. */
    change(holder: Claiming, before: readonly Claim[], after: readonly Claim[]): void {
      const kept = new Set(after.map(keyOf))
      for (const key of before.map(keyOf)) if (!kept.has(key)) remove(key, holder)
      for (const key of kept) add(key, holder)
    },
    /** What several servers have now, for each of them. @param now in ms since 1970 */
    duplicates(now: number): Duplicate[] {
      const found = new Map<string, Duplicate>()
      for (const key of shared) {
        const all = [...(holders.get(key) as Set<Claiming>)]
          .filter(({ row }) => isHeard(row, now))
          .toSorted((a, b) => (a.row.name < b.row.name ? -1 : 1))
        if (all.length < 2) continue
        // An address may be shared in the datacenter and as the one that is dialled.
        for (const one of among(key, all)) {
          const id = `${one.server.id} ${one.what} ${one.value}`
          if (one.count > (found.get(id)?.count ?? 0)) found.set(id, one)
        }
      }
      return [...found.values()]
    },
  }
}

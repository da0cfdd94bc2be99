/** Which server a BMC switches, by UUID, serial number and MAC addresses. Pure. */
import type { Bmc } from '#contract/bmcs/bmcs.ts'
import type { BmcMark } from '#contract/bmcs/state.ts'
import type { MarkedServer, Marks } from '../servers/api.ts'

export type Match =
  | { readonly kind: 'server'; readonly server: MarkedServer }
  /** A user has to decide. */
  | { readonly kind: 'doubt'; readonly candidates: Bmc['candidates']; readonly reason: string }
  | { readonly kind: 'new' }

const share = (a: readonly string[], b: readonly string[]): boolean => {
  const all = new Set(b.map((one) => one.toLowerCase()))
  return a.some((one) => all.has(one.toLowerCase()))
}

const agreeing = (server: Marks, bmc: Marks): BmcMark[] => [
  ...(share(server.uuids, bmc.uuids) ? (['uuid'] as const) : []),
  ...(share(server.serials, bmc.serials) ? (['serial'] as const) : []),
  ...(share(server.macs, bmc.macs) ? (['mac'] as const) : []),
]

/**
 * Two of three marks agree: it is this server. One agrees: it may be. None: a box that Steelyard
 * does not know yet.
 * @param servers those that share a mark with the BMC
 */
export function matchOf(bmcId: string, marks: Marks, servers: readonly MarkedServer[]): Match {
  const found = servers
    .map((server) => ({ server, agrees: agreeing(server, marks) }))
    .filter(({ agrees }) => agrees.length > 0)
  const sure = found.filter(({ agrees }) => agrees.length >= 2)
  const taken = sure.find(({ server }) => server.bmc_id !== null && server.bmc_id !== bmcId)
  const candidates = found.slice(0, 8).map(({ server: { id, name }, agrees }) => ({
    id,
    name,
    agrees,
  }))
  if (sure.length === 1 && !taken) return { kind: 'server', server: sure[0]!.server }
  if (found.length === 0) return { kind: 'new' }
  const names = candidates.map(({ name }) => name).join(', ')
  const reason = taken
    ? `${taken.server.name} has another BMC already: decide which of the two it is`
    : sure.length > 1
      ? `Several servers agree with it (${names}): decide which it is`
      : `Only one mark agrees with ${names}: decide whether it is that server or a new box`
  return { kind: 'doubt', candidates, reason }
}

import type { ServerPlan } from './plan.ts'

/** A position in 127.20.0.0/16 relative to this simulation's first block, so that the block may change between starts. */
export interface Spot {
  block: number
  host: number
}

export const HOSTS_PER_BLOCK = 250
const LAST_BLOCK = 255

export const addressAt = ({ block, host }: Spot, offset: number): string => `127.20.${block + offset}.${host}`

/** The spot of an address; null outside of 127.20.0.0/16 and for reserved addresses. */
export const spotOf = (address: string, offset: number): Spot | null => {
  const match = /^127\.20\.(\d{1,3})\.(\d{1,3})$/.exec(address)
  const [third, host] = [Number(match?.[1]), Number(match?.[2])]
  if (!match || third < 1 || third > LAST_BLOCK || host < 1 || host > 254 || `127.20.${third}.${host}` !== address) return null
  return { block: third - offset, host }
}

/** Free spots for more servers: first in the blocks of the datacenter, if given, then in new blocks after all others, until the network ends. */
export function* spots(plans: readonly ServerPlan[], offset: number, place: string | null): Generator<Spot> {
  const blockOf = ({ address }: ServerPlan): number => Number(address.split('.')[2]) - offset
  const planned = plans.filter(({ boot }) => boot === null)
  const near = place === null ? [] : [...new Set(planned.filter((plan) => plan.place.code === place).map(blockOf))]
  const first = Math.max(0, ...planned.map(blockOf)) + 1
  for (const block of near) for (let host = 1; host <= HOSTS_PER_BLOCK; host++) yield { block, host }
  for (let block = first; block + offset <= LAST_BLOCK; block++) for (let host = 1; host <= HOSTS_PER_BLOCK; host++) yield { block, host }
}

/**
 * What is said of channels whose last message did not arrive. It is a finding, which other channels
 * tell. The channel that fails is perhaps the only one, so `doctor` and a metric say it too.
 */
import { counted, minuteOf, someOf } from '#contract/words.ts'
import type { Db, Tx } from '../../db/db.ts'
import * as store from './store.ts'

/** A channel that fails for less time, in ms, is no finding: its receiver may be restarting. */
const briefMs = 15 * 60_000

interface ChannelTrouble {
  readonly id: string
  readonly name: string
  readonly problem: string
  readonly since: Date
  /** Its receiver says that it is gone for good. */
  readonly isGone: boolean
}

/** The number of channels that are not paused, and those of them that fail, the longest first. */
export interface ChannelCondition {
  readonly total: number
  readonly failing: readonly ChannelTrouble[]
}

export async function channelCondition(on: Db | Tx): Promise<ChannelCondition> {
  const all = (await store.channels(on)).filter((channel) => !channel.paused)
  const failing = all.flatMap(({ id, name, problem, problem_since: since, gone_since }) =>
    problem === null || since === null
      ? []
      : [{ id, name, problem, since, isGone: gone_since !== null }],
  )
  return {
    total: all.length,
    failing: failing.toSorted((a, b) => a.since.getTime() - b.since.getTime()),
  }
}

/** The same in a sentence; null if there is no channel. */
export function channelsSaid({ total, failing }: ChannelCondition): {
  readonly isWell: boolean
  readonly text: string
} | null {
  if (total === 0) return null
  const [first] = failing
  if (first === undefined)
    return { isWell: true, text: `${counted(total, 'channel')}, none failing` }
  return {
    isWell: false,
    text: `${failing.length} of ${counted(total, 'channel')} ${failing.length === 1 ? 'does' : 'do'} not deliver: ${someOf(failing.map(({ name }) => name))}. ${first.name} since ${minuteOf(first.since)}: ${first.problem.replace(/\.$/, '')}`,
  }
}

/**
 * The channels that fail for so long that they are findings. Pure.
 * @param now ms since 1970
 */
export const channelTroubles = (
  { failing }: ChannelCondition,
  now: number,
): readonly ChannelTrouble[] =>
  failing.filter(({ since, isGone }) => isGone || now - since.getTime() > briefMs)

/**
 * What is said of channels whose last message did not arrive. It can't be a finding alone: the
 * channel that fails is perhaps the only one, and nobody would be told.
 */
import { counted, minuteOf, someOf } from '#contract/words.ts'
import type { Db } from '../../db/db.ts'
import * as store from './store.ts'

interface ChannelTrouble {
  readonly name: string
  readonly problem: string
  readonly since: Date
}

/** The channels that are not paused, and those of them that fail, the longest first. */
export async function channelCondition(
  db: Db,
): Promise<{ readonly total: number; readonly failing: readonly ChannelTrouble[] }> {
  const all = (await store.channels(db)).filter((channel) => !channel.paused)
  const failing = all.flatMap(({ name, problem, problem_since: since }) =>
    problem === null || since === null ? [] : [{ name, problem, since }],
  )
  return {
    total: all.length,
    failing: failing.toSorted((a, b) => a.since.getTime() - b.since.getTime()),
  }
}

/** The same in a sentence; null if there is no channel. */
export function channelsSaid({ total, failing }: Awaited<ReturnType<typeof channelCondition>>): {
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

/** Texts of a capacity commitment. Unknown values are null, never 0. */
import { type CapacityCommitment, ccTrouble } from '#contract/marketplace/ccs.ts'
import { amountShown } from '#contract/marketplace/money.ts'
import { moment, until } from '../../lib/time/time.ts'
import { count } from '../../lib/units.ts'
import { serverNow } from '../../lib/time/server-time.ts'

/** What puts the commitment at risk, or why it ended; null if there is nothing to say. */
export function whyOf(
  cc: CapacityCommitment,
  now = serverNow(),
): { text: string; isTrouble: boolean } | null {
  const trouble = ccTrouble(cc)
  if (trouble === null) return cc.reason === null ? null : { text: cc.reason, isTrouble: false }
  if (trouble.kind === 'unreachable')
    return { text: `unreachable since ${moment(trouble.since, now)}`, isTrouble: true }
  return {
    text: trouble.kind === 'server_removed' ? 'server removed' : 'in no cluster',
    isTrouble: true,
  }
}

type Statuses = Partial<Record<CapacityCommitment['status'], string>>
/** A silent server, or one in no cluster, may come back. */
const meanings: Readonly<Statuses> = {
  waiting_delegation: 'Nothing is delegated yet.',
  waiting_start: 'The commitment starts at its time all the same.',
  active: 'The commitment stays active until a user marks it as failed, or the server is removed.',
}
const removedMeanings: Readonly<Statuses> = {
  waiting_delegation: 'Nothing is delegated yet, so the commitment is removed too.',
  waiting_start: 'The commitment fails at its start, because the server will not come back.',
  active: 'The commitment ends with it.',
}

/** What the trouble of the server means for the commitment; null without trouble. */
export function meaningOf(cc: CapacityCommitment): string | null {
  const trouble = ccTrouble(cc)
  if (trouble === null) return null
  return (trouble.kind === 'server_removed' ? removedMeanings : meanings)[cc.status] ?? null
}

/** "1.25", the price of the whole server per hour; null if it is unknown. */
export const hourlyAmount = ({
  price_per_hour: total,
}: Pick<CapacityCommitment, 'price_per_hour'>): string | null => total && amountShown(total)

/** "in 86 d", "ended 3 d ago", "starts 1 Dec": the remark beside the end of a commitment. */
export function expiryNote(
  cc: Pick<CapacityCommitment, 'status' | 'starts_at' | 'expires_at'>,
  now = serverNow(),
): string | null {
  if (cc.expires_at === null) return null
  if (cc.status === 'waiting_start' && cc.starts_at !== null)
    return `starts ${moment(cc.starts_at, now)}`
  return until(cc.expires_at, now)
}

const dayMs = 24 * 3_600_000

/**
 * Elapsed and whole days of a commitment that has started; null before that. An ended commitment
 * has elapsed until its end.
 */
export function elapsedDays(
  cc: Pick<CapacityCommitment, 'started_at' | 'ended_at' | 'expires_at'>,
  now = serverNow(),
): { days: number; of: number; text: string } | null {
  if (cc.started_at === null || cc.expires_at === null) return null
  const start = Date.parse(cc.started_at)
  const of = Math.max(1, Math.round((Date.parse(cc.expires_at) - start) / dayMs))
  const end = cc.ended_at === null ? now : Date.parse(cc.ended_at)
  const days = Math.min(of, Math.max(0, Math.floor((end - start) / dayMs)))
  return { days, of, text: `${count(days)} of ${of === 1 ? '1 day' : `${count(of)} days`}` }
}

const gibibyte = 1024 ** 3

/** "64 CU, the lesser of 64 cores and 768 ÷ 4 GiB"; null if unknown. */
export function unitsText({
  compute_units,
  cores,
  memory_bytes,
}: CapacityCommitment['capacity']): string | null {
  if (compute_units === null || cores === null || memory_bytes === null) return null
  const gib = Math.floor(memory_bytes / gibibyte)
  return `${count(compute_units)} CU, the lesser of ${count(cores)} ${cores === 1 ? 'core' : 'cores'} and ${count(gib)} ÷ 4 GiB`
}

/** Texts of an offer's state. */
import {
  accessOf,
  changedResources,
  type Offer,
  type OfferResources,
  resourceLabels,
  type OfferStatus,
} from '#contract/marketplace/offers.ts'
import { ago } from '../../../lib/time/time.ts'
import { count, disk, memory } from '../../../lib/units.ts'
import type { Tone } from '../../../ui/feedback/Status.tsx'
import { serverNow } from '../../../lib/time/server-time.ts'

interface Said {
  tone: Tone
  word: string
  why: string | null
}

const said: Readonly<Record<OfferStatus, Pick<Said, 'tone' | 'word'>>> = {
  draft: { tone: 'idle', word: 'Draft' },
  listed: { tone: 'ok', word: 'Listed' },
  withdrawn: { tone: 'off', word: 'Withdrawn' },
}
export const offerSaid = ({ status, cluster }: Pick<Offer, 'status' | 'cluster'>): Said => ({
  ...said[status],
  why: cluster === null ? 'its cluster was removed' : null,
})

/**
 * Whether software acts for the offer. Says "In use" only after the possession of the access
 * address's key was proved.
 */
export function accessSaid(
  offer: Pick<Offer, 'access_address' | 'in_use' | 'proven_at' | 'status'>,
  now = serverNow(),
): Said {
  const state = accessOf(offer)
  if (state === 'unset') return { tone: 'off', word: 'No access address', why: null }
  if (state === 'in_use')
    return {
      tone: 'ok',
      word: 'In use',
      why: offer.proven_at && `proved ${ago(offer.proven_at, now)}`,
    }
  return {
    tone: 'idle',
    word: 'Not in use',
    why:
      offer.status === 'withdrawn'
        ? 'the offer is withdrawn'
        : 'waiting for the proof from the cluster',
  }
}

const writers = { number: count, memory, disk } as const

/** An amount of an offer's resources with its unit; "Unknown" if it is unknown. */
export function amountOf(key: keyof OfferResources, resources: OfferResources): string {
  const value = resources[key]
  return value === null ? 'Unknown' : writers[resourceLabels[key][1]](value)
}

/** The amounts that differ, as the rows of a table. */
export const differenceRows = (
  before: OfferResources,
  after: OfferResources,
): { label: string; before: string; after: string }[] =>
  changedResources(before, after).map((key) => ({
    label: resourceLabels[key][0],
    before: amountOf(key, before),
    after: amountOf(key, after),
  }))

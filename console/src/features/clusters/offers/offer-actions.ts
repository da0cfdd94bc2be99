/** Actions on the offer of a cluster. */
import type { ComponentProps } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import {
  canBecomeOffer,
  canRecompute,
  type Offer,
  offerCreate,
  offerRecompute,
  type OfferStatus,
  offerUpdate,
} from '#contract/marketplace/offers.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { type Action, both } from '../../../ui/actions.ts'
import { toast } from '../../../ui/feedback/toast.ts'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { refreshOffers } from './offer-queries.ts'
import type OfferPrice from './OfferPrice.tsx'
import type OfferResources from './OfferResources.tsx'

const priceOffer = dialog<ComponentProps<typeof OfferPrice>>(() => import('./OfferPrice.tsx'))
const updateResources = dialog<ComponentProps<typeof OfferResources>>(
  () => import('./OfferResources.tsx'),
)

const moved: Readonly<Record<OfferStatus, string>> = {
  draft: 'a draft',
  listed: 'listed',
  withdrawn: 'withdrawn',
}

async function move(offer: Offer, status: OfferStatus): Promise<void> {
  try {
    await call(
      offerUpdate,
      { params: { id: offer.id }, body: { status } },
      { version: offer.version },
    )
    toast.success(`The offer of ${offer.cluster?.name ?? 'a removed cluster'} is ${moved[status]}`)
  } catch (error) {
    toast.error(reasonOf(error))
  } finally {
    await refreshOffers()
  }
}

export const createOffer = (cluster: Pick<Cluster, 'id' | 'name'>): Action => ({
  label: 'Make an offer',
  icon: 'add',
  can: allowed(offerCreate),
  run: () => priceOffer({ cluster, offer: null }),
})

export const offerActions = (cluster: Pick<Cluster, 'id' | 'name'>, offer: Offer): Action[] => [
  offer.status === 'listed'
    ? {
        label: 'Withdraw offer',
        icon: 'eye-off',
        can: allowed(offerUpdate),
        run: () => move(offer, 'withdrawn'),
      }
    : {
        label: 'List offer',
        icon: 'eye',
        can: both(allowed(offerUpdate), canBecomeOffer(offer, 'listed')),
        run: () => move(offer, 'listed'),
      },
  {
    label: 'Change price',
    icon: 'edit',
    can: allowed(offerUpdate),
    run: () => priceOffer({ cluster, offer }),
  },
  {
    label: 'Update resources',
    icon: 'refresh',
    can: both(allowed(offerRecompute), canRecompute(offer)),
    run: () => updateResources({ offer }),
  },
]

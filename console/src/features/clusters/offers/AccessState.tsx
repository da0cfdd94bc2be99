import { useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { offerAccessAddressSet, offerGet } from '#contract/marketplace/offers.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { reasonOf } from '../../../lib/reason.ts'
import { exact } from '../../../lib/time/time.ts'
import { useNow } from '../../../lib/time/use-now.ts'
import { Problem, StatusDot } from '../../../ui/feedback/Status.tsx'
import { useAct } from '../../../ui/feedback/use-act.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { accessSaid } from './offer-state.ts'
import { offerOne, refreshOffers } from './offer-queries.ts'

interface AccessStateProps {
  cluster: Pick<Cluster, 'name'>
  offerId: string
  chainAddress: string
}

/**
 * Whether the offer's access address is the address of its cluster and in use; otherwise a button
 * that sets it, which does the same as the command.
 */
export function AccessState({ cluster, offerId, chainAddress }: AccessStateProps) {
  const may = allowed(offerGet)
  const { data: offer, error } = useQuery({ ...offerOne(offerId), enabled: may.ok })
  const { busy, problem, act } = useAct()
  const now = useNow(offer?.in_use === true, 30_000)
  if (!may.ok || (offer === undefined && error === null)) return null
  if (offer === undefined)
    return <span className="fs13 t2">The state of the offer is unknown: {reasonOf(error)}</span>
  if (offer.access_address === chainAddress) {
    const { tone, word, why } = accessSaid(offer, now)
    return (
      <span title={offer.proven_at === null ? undefined : exact(offer.proven_at)}>
        <StatusDot tone={tone} why={why} whole>
          {word}
        </StatusDot>
      </span>
    )
  }
  const set = () =>
    act(async () => {
      await call(
        offerAccessAddressSet,
        { params: { id: offerId }, body: { address: chainAddress } },
        { version: offer.version },
      )
      await refreshOffers()
    })
  return (
    <>
      <ActionButton
        label="Set access address"
        size="small"
        busy={busy}
        busyText="Loading"
        can={allowed(offerAccessAddressSet)}
        run={() => set()}
        aria-label={`Set access address of ${cluster.name}`}
      />
      <Problem text={problem} />
    </>
  )
}

import { useQueries } from '@tanstack/react-query'
import { addressPattern, type Cluster, offerIdPattern } from '#contract/clusters/clusters.ts'
import { counted } from '#contract/words.ts'
import { truncate } from '../../lib/text.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { Flag } from '../../ui/pictures/Flag.tsx'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { unrecorded } from '../../ui/text/unrecorded.ts'
import { clusterOne } from './cluster-queries.ts'
import css from './ShowClusterKey.module.css'

/** Specified: with more than three clusters the list scrolls at 240 px; addresses are shortened to their first 5 and last 4 characters. */
const clustersInSight = 3
const addressEnds = [5, 4] as const

/** Specified texts for a missing address or offer. */
const words = {
  noAddress: 'List of assign servers',
  looking: 'Looking for Offers',
  notFound: "OfferID wasn't detected automatically. Please contact the provider team.",
}

/** The modal `showClusterKey`: clusters with addresses and offers. Only values in the valid format can be copied. */
export default function ShowClusterKey({ clusterIds }: { clusterIds: string[] }) {
  const { close } = useDialog()
  const answers = useQueries({ queries: clusterIds.map((id) => clusterOne(id)) })
  const scrolls = clusterIds.length > clustersInSight
  return (
    <Dialog
      title="List of newly generated clusters' addresses"
      footer={
        <>
          <span className="t3 fs13 grow">{counted(clusterIds.length, 'cluster')}</span>
          <ActionButton label="OK" kind="primary" run={() => close()} />
        </>
      }
    >
      <ul className={scrolls ? `${css['list']} ${css['scrolls']}` : css['list']} aria-label="Clusters" {...(scrolls && { tabIndex: 0 })}>
        {answers.map((answer, i) => (
          <li key={clusterIds[i]}>{answer.data ? <Entry cluster={answer.data} /> : <Pending of={answer} boxed={false} rows={1} widths={[120, 120]} />}</li>
        ))}
      </ul>
    </Dialog>
  )
}

function Entry({ cluster: c }: { cluster: Cluster }) {
  const address = c.chainAddress !== null && addressPattern.test(c.chainAddress) ? c.chainAddress : null
  const offer = c.offerId !== null && offerIdPattern.test(c.offerId) ? c.offerId : null
  return (
    <>
      <div className="row">
        <b className="clip">{c.name}</b>
        <span className="row right t3 fs13">
          <Flag code={c.datacenter.country_code} />
          {c.datacenter.code}
        </span>
      </div>
      <dl className={css['pair']} {...unrecorded}>
        <div>
          <dt>NEW CLUSTER ADDRESS</dt>
          <dd>
            {address === null ? (
              <span className="t2">{words.noAddress}</span>
            ) : (
              <Copyable value={address} what={`address of ${c.name}`} shown={truncate(address, ...addressEnds)} />
            )}
          </dd>
        </div>
        <div>
          <dt>OFFERID TO UPDATE</dt>
          <dd>
            {offer !== null ? (
              <Copyable value={offer} what={`offer id of ${c.name}`} shown={truncate(offer, ...addressEnds)} />
            ) : c.offer_detection === 'not_found' ? (
              <span className="c-warn">{words.notFound}</span>
            ) : (
              <StatusDot tone="busy">{words.looking}</StatusDot>
            )}
          </dd>
        </div>
      </dl>
    </>
  )
}

import type { ReactNode } from 'react'
import type { CapacityCommitment } from '#contract/marketplace/ccs.ts'
import { priceShown } from '#contract/marketplace/money.ts'
import { paths } from '../../lib/paths.ts'
import { sentence, truncate } from '../../lib/text.ts'
import { exact } from '../../lib/time/time.ts'
import { count, disk, memory } from '../../lib/units.ts'
import { useNow } from '../../lib/time/use-now.ts'
import { Meter } from '../../ui/pictures/Meter.tsx'
import { Time } from '../../ui/table/list-columns.tsx'
import { Copyable } from '../../ui/text/Copyable.tsx'
import { KeyValue } from '../../ui/text/Panel.tsx'
import { amount, HourlyPrice, unknown } from './cc-columns.tsx'
import { elapsedDays, unitsText } from './cc-texts.ts'
import css from './Marketplace.module.css'

/** The promised capacity. */
export const Capacity = ({ cc: { capacity, status } }: { cc: CapacityCommitment }) => (
  <KeyValue
    rows={[
      ['Compute units', unitsText(capacity) ?? unknown],
      ['vCPU', amount(capacity.vcpu, (n) => `${count(n)}, two per core`)],
      ['Memory', amount(capacity.memory_bytes, memory)],
      ['Disk', amount(capacity.disk_bytes, disk)],
      [
        'As of',
        status === 'not_committed' ? 'now: a draft follows the hardware' : 'the commitment',
      ],
    ]}
  />
)

/** With which offer, and for how much, the capacity is sold. */
const Access = ({
  offer: { access_address: address, in_use },
}: {
  offer: NonNullable<CapacityCommitment['offer']>
}) =>
  address === null ? (
    <span className="t3">None yet</span>
  ) : (
    <>
      <Copyable value={address} what="access address" shown={truncate(address, 6, 4)} />{' '}
      <span className="t3">{in_use ? 'in use' : 'not in use'}</span>
    </>
  )

export const Sold = ({ cc, cc: { offer } }: { cc: CapacityCommitment }) => (
  <KeyValue
    rows={[
      [
        'OfferID',
        offer === null ? (
          <span className="t3">None</span>
        ) : (
          <Copyable value={offer.id} what="OfferID" shown={truncate(offer.id)} />
        ),
      ],
      offer !== null && ['Status', sentence(offer.status)],
      offer !== null && ['Access address', <Access key="a" offer={offer} />],
      ['Price', cc.price === null ? <span className="t3">None yet</span> : priceShown(cc.price)],
      cc.price !== null && ['Per hour', <HourlyPrice key="h" cc={cc} />],
    ]}
  />
)

const by = (at: string | null, who: string | null): ReactNode =>
  at === null ? null : (
    <>
      <Time at={at} /> <span className="t3">{who}</span>
    </>
  )

/** From when to when, how much of it has passed, and who agreed. */
export function Terms({ cc }: { cc: CapacityCommitment }) {
  const elapsed = elapsedDays(cc, useNow(true, 60_000))
  return (
    <KeyValue
      rows={[
        ['Start', cc.starts_at === null ? 'When the delegation is confirmed' : exact(cc.starts_at)],
        [
          'End',
          cc.expires_at === null ? <span className="t3">None yet</span> : exact(cc.expires_at),
        ],
        elapsed !== null && [
          'Elapsed',
          <Meter
            key="e"
            value={elapsed.days}
            of={elapsed.of}
            label="Elapsed days of the commitment"
            text={elapsed.text}
          />,
        ],
        ['Committed', by(cc.committed_at, cc.committed_by)],
        ['Delegation', by(cc.delegated_at, cc.delegated_by)],
        cc.started_at !== null && ['Started', <Time key="s" at={cc.started_at} />],
        cc.ended_at !== null && ['Ended', <Time key="t" at={cc.ended_at} />],
        cc.reason !== null && ['Reason', cc.reason],
      ]}
    />
  )
}

/** Detail of a row: capacity, offer, commitment. */
export const CcDetails = ({ cc }: { cc: CapacityCommitment }) => (
  <div className={css['detail']}>
    <section>
      <h2>Capacity</h2>
      <Capacity cc={cc} />
    </section>
    <section>
      <h2>Offer</h2>
      <Sold cc={cc} />
    </section>
    <section>
      <h2>Commitment</h2>
      <Terms cc={cc} />
      <p className={css['links']}>
        <a href={paths.cc(cc.id)}>History</a>
        {cc.server.status !== 'deleted' && <a href={paths.server(cc.server.id)}>Open the server</a>}
      </p>
    </section>
  </div>
)

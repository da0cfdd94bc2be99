import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { priceShown } from '#contract/marketplace/money.ts'
import {
  hourlyTotalOf,
  type Offer,
  offerGet,
  resourceKeys,
  resourceLabels,
} from '#contract/marketplace/offers.ts'
import { allowed } from '../../../api/session.ts'
import { useCommands } from '../../../layout/search/commands.ts'
import { truncate } from '../../../lib/text.ts'
import { moment } from '../../../lib/time/time.ts'
import type { Action } from '../../../ui/actions.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { StatusDot } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { Copyable } from '../../../ui/text/Copyable.tsx'
import { KeyValue, Panel } from '../../../ui/text/Panel.tsx'
import { AccessState } from './AccessState.tsx'
import { createOffer, offerActions } from './offer-actions.ts'
import { offerOne } from './offer-queries.ts'
import { amountOf, offerSaid } from './offer-state.ts'

/**
 * The offer that sells the cluster: its price, its resources, and whether software in the cluster
 * acts for it.
 */
export function OfferPanel({ cluster }: { cluster: Cluster }) {
  const may = allowed(offerGet)
  const answer = useQuery({
    ...offerOne(cluster.offerId ?? ''),
    enabled: may.ok && cluster.offerId !== null,
  })
  if (!may.ok) return <Framed>{may.reason}</Framed>
  if (cluster.offerId === null) return <NoOffer cluster={cluster} />
  return answer.data ? (
    <Shown cluster={cluster} offer={answer.data} />
  ) : (
    <Panel title="Offer" label="Offer">
      <Pending of={answer} boxed={false} rows={4} />
    </Panel>
  )
}

const Framed = ({ children }: { children: ReactNode }) => (
  <Panel title="Offer" label="Offer">
    <p className="fs13 t2">{children}</p>
  </Panel>
)

function NoOffer({ cluster: c }: { cluster: Cluster }) {
  const actions = useMemo(() => [createOffer(c)], [c])
  useCommands(`Offer of ${c.name}`, actions)
  return (
    <Panel title="Offer" label="Offer">
      <div className="stack stack3">
        <p className="fs13 t2">
          {c.offer_looking_since === null
            ? 'This cluster has no offer, so nobody can buy its capacity.'
            : `This cluster has no offer yet. Steelyard has been looking for the offer of a former cluster of these servers since ${moment(c.offer_looking_since)}.`}
        </p>
        <Buttons actions={actions} />
      </div>
    </Panel>
  )
}

function Shown({ cluster: c, offer }: { cluster: Cluster; offer: Offer }) {
  const { tone, word, why } = offerSaid(offer)
  const total = hourlyTotalOf(offer)
  const { price } = offer
  const actions = useMemo(() => offerActions(c, offer), [c, offer])
  useCommands(`Offer of ${c.name}`, actions)
  return (
    <Panel title="Offer" label="Offer">
      <div className="stack stack3">
        <KeyValue
          rows={[
            [
              'Offer',
              <Copyable key="o" value={offer.id} what="offer id" shown={truncate(offer.id)} />,
            ],
            [
              'Status',
              <StatusDot key="s" tone={tone} why={why}>
                {word}
              </StatusDot>,
            ],
            ['Price', price && priceShown(price)],
            price !== null &&
              price.basis !== 'cluster' && [
                'Total',
                total === null
                  ? 'Unknown'
                  : priceShown({ ...price, amount: total, basis: 'cluster' }),
              ],
            ...resourceKeys
              .filter((key) => key !== 'unknown_servers' || offer.resources.unknown_servers > 0)
              .map((key): [string, string] => [
                resourceLabels[key][0],
                amountOf(key, offer.resources),
              ]),
            ['Computed', <Time key="t" at={offer.computed_at} />],
            [
              'Access address',
              offer.access_address && (
                <Copyable value={offer.access_address} what="access address" />
              ),
            ],
            [
              'Access',
              c.chainAddress && (
                <AccessState cluster={c} offerId={offer.id} chainAddress={c.chainAddress} />
              ),
            ],
          ]}
        />
        <Buttons actions={actions} />
      </div>
    </Panel>
  )
}

const Buttons = ({ actions }: { actions: readonly Action[] }) => (
  <div className="row wrap">
    {actions.map((action) => (
      <ActionButton key={action.label} {...action} />
    ))}
  </div>
)

import type { Cluster } from '#contract/clusters/clusters.ts'
import { perHour, priceBases } from '#contract/marketplace/money.ts'
import { type Offer, offerCreate, offerGet, offerUpdate } from '#contract/marketplace/offers.ts'
import { sendUnlessEdited } from '../../../api/asking/fresh-version.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { sentence } from '../../../lib/text.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsOfPrice, readPrice, type Typed, typedOf } from './offer-form.ts'
import { refreshOffers } from './offer-queries.ts'
import css from './Offer.module.css'

const { Text, Choose } = fieldsFor<Typed>()
const bases = priceBases.map((basis) => ({ value: basis, text: sentence(perHour[basis]) }))

/** Makes an offer of a cluster (`offer: null`), or changes the price of its offer. */
export default function OfferPrice({
  cluster,
  offer,
}: {
  cluster: Pick<Cluster, 'id' | 'name'>
  offer: Offer | null
}) {
  const { close } = useDialog()
  const isNew = offer === null
  const form = useForm({
    initial: typedOf(offer?.price ?? null),
    read: (typed) => readPrice(typed, isNew),
    send: async (price, key) => {
      if (isNew) return call(offerCreate, { body: { cluster_id: cluster.id, price } }, { key })
      return price === null
        ? offer
        : sendUnlessEdited(
            offer,
            () => call(offerGet, { params: { id: offer.id } }),
            ({ price: now, status }) => [now, status],
            (version) =>
              call(offerUpdate, { params: { id: offer.id }, body: { price } }, { version }),
          )
    },
    at: fieldsOfPrice,
    done: async () => {
      await refreshOffers()
      toast.success(
        isNew
          ? `${cluster.name} has an offer, a draft`
          : `The price of the offer of ${cluster.name} was changed`,
      )
      close()
    },
  })
  const { read } = form
  const price = read.ok ? read.body : null
  return (
    <FormDialog
      form={form}
      title={
        isNew
          ? `Make an offer of ${cluster.name}`
          : `Change the price of the offer of ${cluster.name}`
      }
      submit={isNew ? 'Make offer' : 'Save'}
      busyText="Saving"
      can={allowed(isNew ? offerCreate : offerUpdate)}
      command={
        isNew ? (
          <AsCommand
            complete={read.ok}
            cli={cliOf(
              ['offer', 'create', cluster.name],
              price === null
                ? {}
                : { price: price.amount, currency: price.currency, basis: price.basis },
            )}
            api={curlOf(offerCreate, {}, { cluster_id: cluster.id, price })}
          />
        ) : (
          <AsCommand complete={read.ok} api={curlOf(offerUpdate, { id: offer.id }, { price })} />
        )
      }
    >
      {isNew && (
        <p className="fs13 t2">
          The offer is a draft with the resources that the servers of {cluster.name} have now. It is
          sold only after you list it, and it needs a price for that.
        </p>
      )}
      <div className={css['price']}>
        <Text
          name="amount"
          label="Price"
          optional={isNew}
          hint="A decimal number, such as 0.05"
          inputMode="decimal"
        />
        <Text
          name="currency"
          label="Currency"
          optional={isNew}
          hint="Such as EUR"
          maxLength={5}
          autoCapitalize="characters"
        />
        <Choose
          name="basis"
          label="Basis"
          hint="What an hour at this price pays for"
          options={bases}
        />
      </div>
    </FormDialog>
  )
}

import { useQuery } from '@tanstack/react-query'
import { canHaveResources, type Offer, offerRecompute } from '#contract/marketplace/offers.ts'
import { no, yes } from '#contract/rule.ts'
import { call } from '../../../api/client.ts'
import { allowed } from '../../../api/session.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { both } from '../../../ui/actions.ts'
import { Pending } from '../../../ui/feedback/PageStates.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { PlainTable } from '../../../ui/table/PlainTable.tsx'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { differenceOf, refreshOffers } from './offer-queries.ts'
import { differenceRows } from './offer-state.ts'
import css from './Offer.module.css'

/** Shows how the resources of an offer differ from what its servers have now, and updates them. */
export default function OfferResources({ offer }: { offer: Offer }) {
  const { close } = useDialog()
  const answer = useQuery(differenceOf(offer.id))
  const rows = answer.data && differenceRows(answer.data.before, answer.data.after)
  const ready = answer.data
    ? both(
        rows!.length > 0 ? yes : no('Nothing has changed'),
        canHaveResources(offer, answer.data.after),
      )
    : no(answer.error ? 'The difference could not be loaded' : 'The difference is loading')
  const name = offer.cluster?.name ?? offer.id
  const form = useForm({
    initial: {},
    read: () => ({ ok: true, body: null }),
    send: () => call(offerRecompute, { params: { id: offer.id } }, { version: offer.version }),
    done: async () => {
      await refreshOffers()
      toast.success(`The resources of the offer of ${name} were updated`)
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title={`Update the resources of the offer of ${name}`}
      submit="Update"
      can={both(allowed(offerRecompute), ready)}
      command={
        <AsCommand
          cli={cliOf(['offer', 'update', name])}
          api={curlOf(offerRecompute, { id: offer.id }, undefined)}
        />
      }
    >
      {rows === undefined ? (
        <Pending of={answer} boxed={false} rows={3} widths={[160, 80, 80]} />
      ) : rows.length === 0 ? (
        <p>The offer has the resources that the servers of the cluster have now.</p>
      ) : (
        <>
          <p className="fs13 t2">
            The servers of the cluster have changed since the offer was made or last updated.
          </p>
          <PlainTable
            className={css['difference']}
            label="Difference of the resources"
            rows={rows}
            columns={[
              { head: 'Resource', cell: (row) => row.label },
              { head: 'In the offer', className: css['amount'], cell: (row) => row.before },
              { head: 'Now', className: css['amount'], cell: (row) => row.after },
            ]}
          />
        </>
      )}
    </FormDialog>
  )
}

import { Fragment, useState } from 'react'
import { type Bmc, bmcConfirm, bmcList, bmcPlace } from '#contract/bmcs/bmcs.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { reasonOf } from '../../lib/reason.ts'
import { exact } from '../../lib/time/time.ts'
import { Problem, StatusDot } from '../../ui/feedback/Status.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { Facts } from '../../ui/text/Panel.tsx'
import css from './ConfirmBmcs.module.css'

/** Certificates that BMCs have shown, each confirmed by a click of its own. */
export default function ConfirmBmcs({ bmcs }: { bmcs: readonly Bmc[] }) {
  const { close } = useDialog()
  return (
    <Dialog
      width="44rem"
      title={bmcs.length === 1 ? `Is this the BMC ${bmcPlace(bmcs[0]!)}?` : 'Are these your BMCs?'}
      footer={<ActionButton label="Done" kind="primary" run={() => close()} />}
    >
      <div className="stack">
        <p className="fs13 t2">
          Compare each fingerprint with the one that the BMC shows on its own page, or on the
          console of the server. Steelyard signs in only where the confirmed certificate answers.
        </p>
        <ul className={css['list']}>
          {bmcs.map((bmc) => (
            <OneBmc key={bmc.id} bmc={bmc} />
          ))}
        </ul>
      </div>
    </Dialog>
  )
}

/** The fingerprint with a place to break after every fourth byte. */
const inGroups = (fingerprint: string) =>
  (fingerprint.match(/.{1,12}/g) ?? []).map((part) => (
    <Fragment key={part}>
      {part}
      <wbr />
    </Fragment>
  ))

function OneBmc({ bmc }: { bmc: Bmc }) {
  const [state, setState] = useState<'open' | 'busy' | 'done'>('open')
  const [problem, setProblem] = useState<string | null>(null)
  const { certificate } = bmc
  const confirm = async () => {
    if (certificate === null) return
    setState('busy')
    setProblem(null)
    try {
      const { fingerprint } = certificate
      await call(
        bmcConfirm,
        { params: { id: bmc.id }, body: { fingerprint } },
        { version: bmc.version },
      )
      setState('done')
      await invalidate(bmcList)
    } catch (error) {
      setProblem(reasonOf(error))
      setState('open')
    }
  }
  return (
    <li className={css['one']}>
      <div className={css['head']}>
        <h3 className="mono">{bmcPlace(bmc)}</h3>
        {state === 'done' ? (
          <StatusDot tone="ok">Confirmed</StatusDot>
        ) : (
          <ActionButton
            label={`Confirm ${bmcPlace(bmc)}`}
            can={allowed(bmcConfirm)}
            run={confirm}
          />
        )}
      </div>
      {bmc.status === 'changed' && bmc.reason !== null && <Problem text={bmc.reason} />}
      <Problem text={problem} />
      {certificate === null ? (
        <p className="t3">It has not shown a certificate yet.</p>
      ) : (
        <>
          <p>
            <span className="label">SHA-256</span>{' '}
            <span className="mono fs12">{inGroups(certificate.fingerprint)}</span>
          </p>
          <Facts
            rows={[
              ['Subject', certificate.subject || <span className="t3">Unknown</span>],
              ['Issuer', certificate.issuer || <span className="t3">Unknown</span>],
              certificate.valid_to !== null && ['Valid until', exact(certificate.valid_to)],
              (bmc.vendor !== null || bmc.model !== null) && [
                'It says that it is',
                [bmc.vendor, bmc.model].filter(Boolean).join(' '),
              ],
            ]}
          />
        </>
      )}
    </li>
  )
}

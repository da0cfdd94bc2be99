import { useCallback, useEffect, useState } from 'react'
import { encode } from 'uqr'
import type { Answer } from '#contract/operation.ts'
import { totp, totpBegin, TotpCode, totpConfirm } from '#contract/people/second-factor.ts'
import { call } from '../../../api/client.ts'
import { readBy } from '../../../lib/fields.ts'
import { ErrorState, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { Command } from '../../../ui/text/Copyable.tsx'
import { unrecorded } from '../../../ui/text/unrecorded.ts'
import css from '../People.module.css'
import { secondFactorAdded } from '../people-queries.ts'
import ShowCodes from './ShowCodes.tsx'

const blank = { code: '' }
const { Text } = fieldsFor<typeof blank>()

/**
 * Gets a new secret for the app. It isn't in the query cache, which could fetch another one while
 * the user scans the code.
 */
function useSetup() {
  const [setup, setSetup] = useState<Answer<typeof totpBegin> | null>(null)
  const [error, setError] = useState<unknown>(null)
  const begin = useCallback(() => call(totpBegin).then(setSetup, setError), [])
  useEffect(() => void begin(), [begin])
  const again = () => {
    setError(null)
    void begin()
  }
  return { setup, error, again }
}

/**
 * Sets up an authenticator app: QR code, first code, then the recovery codes if these are the
 * account's first.
 */
export default function SetUpTotp() {
  const { close } = useDialog()
  const { setup, error, again } = useSetup()
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const form = useForm({
    initial: blank,
    read: (typed) => readBy(TotpCode, typed),
    send: (body) => call(totpConfirm, { body }),
    done: async ({ recovery_codes: made }) => {
      await secondFactorAdded()
      toast.success('The authenticator app is set up')
      if (made === null) close()
      else setCodes(made)
    },
  })
  if (codes !== null) return <ShowCodes codes={codes} />
  if (setup === null)
    return (
      <Dialog
        title="Set up an authenticator app"
        footer={<ActionButton label="Cancel" run={() => close()} />}
      >
        {error ? <ErrorState error={error} onRetry={again} /> : <SkeletonRows rows={4} />}
      </Dialog>
    )
  return (
    <FormDialog
      form={form}
      width="32rem"
      title="Set up an authenticator app"
      submit="Confirm"
      busyText="Confirming"
    >
      <p className="fs13 t2">
        Scan the code with the app, such as one of your phone or password manager. Then type the
        code that the app shows.
      </p>
      <Qr text={setup.uri} />
      <section className="stack stack2">
        <h3 className="label">Or type this key into the app</h3>
        <Command command={setup.secret} prompt="" what="key" />
      </section>
      <Text
        name="code"
        label="Code of the app"
        hint={`${totp.digits} digits, a new code every ${totp.periodSeconds} seconds`}
        inputMode="numeric"
        autoComplete="one-time-code"
        mono
      />
    </FormDialog>
  )
}

/** A QR code as a vector image. */
function Qr({ text }: { text: string }) {
  const { data, size } = encode(text)
  const path = data
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('')
  return (
    <div className={css['qr']} {...unrecorded}>
      <svg
        viewBox={`0 0 ${size} ${size}`}
        role="img"
        aria-label="QR code for the authenticator app"
        shapeRendering="crispEdges"
      >
        <path d={path} fill="currentColor" />
      </svg>
    </div>
  )
}

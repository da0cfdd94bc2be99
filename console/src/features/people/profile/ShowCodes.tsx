import { recoveryCodes } from '#contract/people/second-factor.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { CopyButton } from '../../../ui/text/Copyable.tsx'
import { unrecorded } from '../../../ui/text/unrecorded.ts'
import css from '../People.module.css'

const Codes = ({ codes }: { codes: readonly string[] }) => (
  <div className="stack">
    <Alert tone="warn">
      Keep these codes where you find them without your phone: they are not shown again.
    </Alert>
    <ul className={css['codes']} aria-label="Recovery codes" {...unrecorded}>
      {codes.map((code) => (
        <li key={code}>{code}</li>
      ))}
    </ul>
    <div className="row wrap">
      <CopyButton text={codes.join('\n')} />
      <ActionButton label="Save as a file" size="small" icon="download" run={() => save(codes)} />
    </div>
    <p className="fs13 t2">
      Each of the {recoveryCodes} codes works once, in place of a code of the app.
    </p>
  </div>
)

function save(codes: readonly string[]): void {
  const url = URL.createObjectURL(
    new Blob([`Recovery codes of Steelyard at ${location.origin}\n\n${codes.join('\n')}\n`], {
      type: 'text/plain',
    }),
  )
  const link = document.createElement('a')
  link.href = url
  link.download = 'steelyard-recovery-codes.txt'
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** Shows the recovery codes, which are not shown again. Only its button closes the dialog. */
export default function ShowCodes({ codes }: { codes: readonly string[] }) {
  const { close } = useDialog()
  return (
    <Dialog
      width="32rem"
      title="Your recovery codes"
      locked
      footer={<ActionButton label="I have kept them" kind="primary" run={() => close()} />}
    >
      <Codes codes={codes} />
    </Dialog>
  )
}

import type { ReactNode } from 'react'
import type { Verdict } from '#contract/rule.ts'
import { Problem } from '../feedback/Status.tsx'
import { Button } from '../inputs/Button.tsx'
import { Dialog } from '../overlay/Dialog.tsx'
import { defaultButtons, useDialog } from '../overlay/dialogs.ts'
import { fieldsFor, Form } from './fields.tsx'
import type { Form as FormState } from './use-form.ts'

/**
 * A form in a dialog with its Cancel and submit buttons. The dialog can't be closed while the form
 * is sent.
 */
export function FormDialog<Values, Body>({
  form,
  title,
  submit = defaultButtons.ok,
  busyText = 'Loading',
  danger = false,
  can,
  wayOut = defaultButtons.cancel,
  width,
  command,
  children,
}: {
  form: FormState<Values, Body>
  title: ReactNode
  /** Label of the submit button. */
  submit?: string | undefined
  busyText?: string
  danger?: boolean
  /** Whether the user may send the form at all, whatever its fields contain. */
  can?: Verdict | undefined
  wayOut?: string | undefined
  width?: string
  /** The same action as a CLI command. */
  command?: ReactNode
  children: ReactNode
}) {
  const { close } = useDialog()
  return (
    <Dialog
      locked={form.busy}
      width={width}
      title={title}
      footer={
        <>
          {command && <span className="grow hide-sm">{command}</span>}
          <Button data-way-out="" onClick={() => close()}>
            {wayOut}
          </Button>
          <Button
            kind={danger ? 'danger-fill' : 'primary'}
            type="submit"
            form={form.id}
            busy={form.busy}
            busyText={busyText}
            can={can}
          >
            {submit}
          </Button>
        </>
      }
    >
      <Form form={form} className="stack">
        {children}
        <Problem text={form.problem} />
      </Form>
    </Dialog>
  )
}

const { Text } = fieldsFor<{ typed: string }>()

/** Form field `typed`, in which the user types `words` to confirm an action that destroys data. */
export const TypeToConfirm = ({ words }: { words: string }) => (
  <Text
    name="typed"
    label={
      <>
        Type <span className="mono">{words}</span> to confirm
      </>
    }
  />
)

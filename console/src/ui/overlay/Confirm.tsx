import { no, yes } from '#contract/rule.ts'
import type { Confirmation } from '../actions.ts'
import { FormDialog, TypeToConfirm } from '../form/FormDialog.tsx'
import { useForm } from '../form/use-form.ts'
import { useDialog } from './dialogs.ts'

/** The dialog that `confirm()` opens. */
export default function Confirm({
  title,
  text,
  label,
  out,
  danger = false,
  typed = '',
  act,
}: Confirmation) {
  const { close } = useDialog()
  const form = useForm({
    initial: { typed: '' },
    read: () => ({ ok: true, body: null }),
    send: () => act?.(),
    done: () => close(true),
  })
  return (
    <FormDialog
      form={form}
      title={title}
      submit={label}
      wayOut={out}
      danger={danger}
      can={form.values.typed === typed ? yes : no(`Type ${typed} first`)}
    >
      <div>{text}</div>
      {typed !== '' && <TypeToConfirm words={typed} />}
    </FormDialog>
  )
}

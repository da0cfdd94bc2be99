import * as z from 'zod/mini'
import { useId, useState } from 'react'
import { SavedView } from '#contract/sessions.ts'
import { Button } from '../ui/inputs/Button.tsx'
import { Dialog } from '../ui/overlay/Dialog.tsx'
import { Field, TextInput } from '../ui/inputs/Field.tsx'

/** Asks for the name of a view. */
export default function SaveView({
  open,
  taken,
  onClose,
  onSave,
}: {
  open: boolean
  taken: readonly string[]
  onClose: () => void
  onSave: (name: string) => void
}) {
  const [name, setName] = useState('')
  const [tried, setTried] = useState(false)
  const formId = useId()
  const read = z.safeParse(SavedView.shape.name, name)
  const problem = !read.success ? (read.error.issues[0]?.message ?? 'Enter a name') : taken.includes(read.data) ? 'You have a view of this name' : null
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Save this view"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" form={formId}>
            Save
          </Button>
        </>
      }
    >
      <form
        id={formId}
        onSubmit={(event) => {
          event.preventDefault()
          setTried(true)
          if (problem === null) onSave(name)
          else event.currentTarget.querySelector('input')?.focus()
        }}
      >
        <Field label="Name" error={tried ? problem : null} hint="Filters and order are kept with your account, for every browser.">
          <TextInput value={name} onValue={setName} autoComplete="off" />
        </Field>
      </form>
    </Dialog>
  )
}

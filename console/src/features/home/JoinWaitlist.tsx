import { useState } from 'react'
import { waitlistJoin, WaitlistRequest } from '#contract/people/invitations.ts'
import { callOpen } from '../../api/client.ts'
import { readBy } from '../../lib/fields.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'

const blank = { name: '', company: '', email: '' }
const { Text } = fieldsFor<typeof blank>()

/**
 * Sends a name, a company and an email to the provider. The response doesn't reveal whether the
 * email was already known.
 */
export default function JoinWaitlist() {
  const [sent, setSent] = useState(false)
  const form = useForm({
    initial: blank,
    read: (typed) => readBy(WaitlistRequest, typed),
    send: (body) => callOpen(waitlistJoin, { body }),
    done: () => setSent(true),
  })
  if (sent) {
    return (
      <Dialog title="Join waitlist">
        <Alert tone="ok">
          You are on the list. The provider will write to {form.values.email}.
        </Alert>
      </Dialog>
    )
  }
  return (
    <FormDialog form={form} title="Join waitlist" submit="Join">
      <p>Leave your email address, and the provider writes to you when capacity is available.</p>
      <Text name="name" label="Name" autoComplete="name" />
      <Text name="company" label="Company" optional autoComplete="organization" />
      <Text name="email" label="Email" type="email" autoComplete="email" />
    </FormDialog>
  )
}

import { useState } from 'react'
import { waitlistJoin } from '#contract/users.ts'
import { CallError, callOpen } from '../../api/client.ts'
import { fieldErrors } from '../../lib/fields.ts'
import { reasonOf } from '../../lib/reason.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Field, TextInput } from '../../ui/inputs/Field.tsx'
import { Alert } from '../../ui/feedback/Status.tsx'

/** Leaves a name, a company and an email for the provider. It answers the same whether or not the email was known. */
export default function JoinWaitlist({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [form, setForm] = useState({ name: '', company: '', email: '' })
  const [tried, setTried] = useState(false)
  const [state, setState] = useState<'asking' | 'sending' | 'sent'>('asking')
  const [refused, setRefused] = useState<{ message: string; fields: Readonly<Record<string, string>> } | null>(null)
  const errors = { ...(tried ? fieldErrors(waitlistJoin.body, form) : {}), ...refused?.fields }
  const set = (key: keyof typeof form) => (value: string) => {
    setForm((now) => ({ ...now, [key]: value }))
    setRefused(null)
  }
  const send = async () => {
    setTried(true)
    if (Object.keys(fieldErrors(waitlistJoin.body, form)).length > 0) return
    setState('sending')
    try {
      await callOpen(waitlistJoin, { body: form })
      setState('sent')
    } catch (error) {
      setState('asking')
      setRefused({ message: reasonOf(error), fields: error instanceof CallError ? error.fields : {} })
    }
  }
  if (state === 'sent') {
    return (
      <Dialog
        open={open}
        onClose={onClose}
        title="Join waitlist"
        footer={
          <Button kind="primary" onClick={onClose}>
            OK
          </Button>
        }
      >
        <Alert tone="ok">You are on the list. The provider will write to {form.email}.</Alert>
      </Dialog>
    )
  }
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Join waitlist"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busy={state === 'sending'} busyText="Loading" onClick={() => void send()}>
            Join
          </Button>
        </>
      }
    >
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <p>Leave your address, and the provider writes to you when there is room.</p>
        {refused !== null && Object.keys(refused.fields).length === 0 && <Alert tone="danger">{refused.message}</Alert>}
        <Field label="Name" error={errors['name']}>
          <TextInput value={form.name} onValue={set('name')} autoComplete="name" />
        </Field>
        <Field label="Company" optional error={errors['company']}>
          <TextInput value={form.company} onValue={set('company')} autoComplete="organization" />
        </Field>
        <Field label="Email" error={errors['email']}>
          <TextInput value={form.email} onValue={set('email')} type="email" autoComplete="email" />
        </Field>
        <button type="submit" hidden aria-hidden="true" tabIndex={-1} />
      </form>
    </Dialog>
  )
}

import type { Answer } from '#contract/operation.ts'
import {
  InvitationAcceptance,
  invitationAccept,
  invitationLook,
} from '#contract/people/invitations.ts'
import { mayBePassword } from '#contract/sessions.ts'
import { callOpen, CallError } from '../../api/client.ts'
import { readBy } from '../../lib/fields.ts'
import { exact } from '../../lib/time/time.ts'
import { Problem } from '../../ui/feedback/Status.tsx'
import { fieldsFor, Form } from '../../ui/form/fields.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { type LinkForm, LinkPage, linkToken } from './LinkPage.tsx'
import css from './SignIn.module.css'

const takeToken = linkToken()
const look = (token: string) => callOpen(invitationLook, { body: { token } })

/** Creates the account of an invitation. */
export const AcceptInvitation = () => (
  <LinkPage
    heading="Your invitation"
    done="Your account is ready"
    takeToken={takeToken}
    look={look}
  >
    {(form) => <NewAccount {...form} />}
  </LinkPage>
)

interface Typed {
  name: string
  new_password: string
}
const { Text } = fieldsFor<Typed>()

function NewAccount({
  token,
  found: invited,
  onDone,
  onOver,
}: LinkForm<Answer<typeof invitationLook>>) {
  const { email, role, expires_at: until } = invited
  const form = useForm({
    initial: { name: invited.name, new_password: '' },
    read: (typed: Typed) => {
      const verdict = mayBePassword(typed.new_password, email)
      const read = readBy(InvitationAcceptance, { token, ...typed })
      return !read.ok || verdict.ok ? read : { ok: false, fields: { new_password: verdict.reason } }
    },
    send: (body) => callOpen(invitationAccept, { body }),
    done: onDone,
    failed: (error) =>
      error instanceof CallError &&
      (error.code === 'link_over' || error.code === 'user_exists') &&
      onOver(error.message),
  })
  return (
    <Form form={form} className={css['form']} focusFirst label="accept-invitation">
      <h1 id="accept-invitation">Create your account</h1>
      <p>
        You are invited as {role === 'viewer' ? 'a' : 'an'} <strong>{role}</strong>, with the email
        address <strong>{email}</strong>. The invitation ends on {exact(until)}.
      </p>
      <Problem text={form.problem} />
      <Text name="name" label="Name" size="large" autoComplete="name" />
      <Text
        name="new_password"
        label="Password"
        hint="12 to 128 characters"
        type="password"
        size="large"
        autoComplete="new-password"
      />
      {/* Tells password managers to which user the password belongs. */}
      <input hidden type="text" name="username" autoComplete="username" value={email} readOnly />
      <Button
        type="submit"
        kind="primary"
        size="large"
        busy={form.busy}
        busyText="Creating the account"
      >
        Create account
      </Button>
    </Form>
  )
}

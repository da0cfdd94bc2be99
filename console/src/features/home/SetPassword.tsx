import {
  mayBePassword,
  PasswordReset,
  passwordReset,
  passwordResetLook,
} from '#contract/sessions.ts'
import { callOpen, CallError } from '../../api/client.ts'
import { readBy } from '../../lib/fields.ts'
import { fieldsFor, Form } from '../../ui/form/fields.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Problem } from '../../ui/feedback/Status.tsx'
import { type LinkForm, LinkPage, linkToken } from './LinkPage.tsx'
import css from './SignIn.module.css'

const takeToken = linkToken()
const look = (token: string) => callOpen(passwordResetLook, { body: { token } })

/** Sets a password with the token of a link. */
export const SetPassword = () => (
  <LinkPage
    heading="Choose a new password"
    done="Your password is set"
    takeToken={takeToken}
    look={look}
  >
    {(form) => <NewPassword {...form} />}
  </LinkPage>
)

const blank = { new_password: '' }
const { Text } = fieldsFor<typeof blank>()

function NewPassword({ token, found: { email }, onDone, onOver }: LinkForm<{ email: string }>) {
  const form = useForm({
    initial: blank,
    read: (typed) => {
      const verdict = mayBePassword(typed.new_password, email)
      const read = readBy(PasswordReset, { token, ...typed })
      return !read.ok || verdict.ok ? read : { ok: false, fields: { new_password: verdict.reason } }
    },
    send: (body) => callOpen(passwordReset, { body }),
    done: onDone,
    failed: (error) =>
      error instanceof CallError && error.code === 'link_over' && onOver(error.message),
  })
  return (
    <Form form={form} className={css['form']} focusFirst label="set-password">
      <h1 id="set-password">Choose a new password</h1>
      <p>
        For <strong>{email}</strong>. Wherever you are signed in, you will be signed out.
      </p>
      <Problem text={form.problem} />
      <Text
        name="new_password"
        label="New password"
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
        busyText="Setting the password"
      >
        Set password
      </Button>
    </Form>
  )
}

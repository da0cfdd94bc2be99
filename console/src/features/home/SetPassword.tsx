import { useEffect, useState } from 'react'
import { mayBePassword, PasswordReset, passwordReset, passwordResetLook } from '#contract/sessions.ts'
import { callOpen, CallError } from '../../api/client.ts'
import { paths } from '../../lib/paths.ts'
import { readBy } from '../../lib/fields.ts'
import { fieldsFor, Form } from '../../ui/form/fields.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Problem } from '../../ui/feedback/Status.tsx'
import { Beam } from './Beam.tsx'
import css from './SignIn.module.css'

type State =
  | { at: 'looking' }
  /** The link is valid. */
  | { at: 'form'; email: string }
  /** `again`: Steelyard didn't respond, and the user can retry. Otherwise the link is invalid or expired. */
  | { at: 'problem'; text: string; again: boolean }
  | { at: 'done' }

const incomplete = 'This link is incomplete. Open the whole link that was sent to you.'

let taken = ''
/** Returns the token and removes it from the URL, so that it is neither on the screen nor in the history. */
function takeToken(): string {
  const token = location.hash.slice(1)
  if (token !== '') {
    taken = token
    history.replaceState(history.state, '', location.pathname)
  }
  return taken
}

async function lookAt(token: string): Promise<State> {
  try {
    const { email } = await callOpen(passwordResetLook, { body: { token } })
    return { at: 'form', email }
  } catch (problem) {
    const isOver = problem instanceof CallError && problem.status >= 400 && problem.status < 500
    return { at: 'problem', text: problem instanceof Error ? problem.message : String(problem), again: !isOver }
  }
}

/** Sets a password with the token of a link. The token is in the fragment, so that no server logs it. */
export function SetPassword() {
  const [token, setToken] = useState(takeToken)
  const [state, setState] = useState<State>(token === '' ? { at: 'problem', text: incomplete, again: false } : { at: 'looking' })

  useEffect(() => {
    document.title = 'Choose a password · Steelyard'
    if (token !== '') void lookAt(token).then(setState)
  }, [token])
  // Read the token again if the user opens another link in the same tab.
  useEffect(() => {
    const again = () => {
      if (location.hash.length > 1) setState({ at: 'looking' })
      setToken(takeToken())
    }
    addEventListener('hashchange', again)
    return () => removeEventListener('hashchange', again)
  }, [])

  const signIn = <a href={paths.signIn}>Sign in</a>
  return (
    <div className={css['page']}>
      <Beam />
      {state.at === 'form' ? (
        <NewPassword token={token} email={state.email} onState={setState} />
      ) : (
        <div className={css['form']}>
          <h1>{state.at === 'done' ? 'Your password is set' : 'Choose a new password'}</h1>
          {state.at === 'looking' && <p role="status">Checking the link</p>}
          {state.at === 'problem' && <Problem text={state.text} />}
          {state.at === 'problem' && state.again ? (
            <ActionButton label="Try again" size="large" run={() => lookAt(token).then(setState)} />
          ) : (
            state.at !== 'looking' && <p>{signIn}</p>
          )}
        </div>
      )}
    </div>
  )
}

const blank = { new_password: '' }
const { Text } = fieldsFor<typeof blank>()

function NewPassword({ token, email, onState }: { token: string; email: string; onState: (state: State) => void }) {
  const form = useForm({
    initial: blank,
    read: (typed) => {
      const verdict = mayBePassword(typed.new_password, email)
      const read = readBy(PasswordReset, { token, ...typed })
      return !read.ok || verdict.ok ? read : { ok: false, fields: { new_password: verdict.reason } }
    },
    send: (body) => callOpen(passwordReset, { body }),
    done: () => onState({ at: 'done' }),
    failed: (error) => error instanceof CallError && error.code === 'link_over' && onState({ at: 'problem', text: error.message, again: false }),
  })
  return (
    <Form form={form} className={css['form']} focusFirst label="set-password">
      <h1 id="set-password">Choose a new password</h1>
      <p>
        For <strong>{email}</strong>. Wherever you are signed in, you will be signed out.
      </p>
      <Problem text={form.problem} />
      <Text name="new_password" label="New password" hint="12 to 128 characters" type="password" size="large" autoComplete="new-password" />
      {/* Tells password managers to which user the password belongs. */}
      <input hidden type="text" name="username" autoComplete="username" value={email} readOnly />
      <Button type="submit" kind="primary" size="large" busy={form.busy} busyText="Setting the password">
        Set password
      </Button>
    </Form>
  )
}

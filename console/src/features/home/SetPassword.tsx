import { Link } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { mayBePassword, newPassword, passwordReset, passwordResetLook } from '#contract/sessions.ts'
import { callOpen, CallError } from '../../api/client.ts'
import { paths } from '../../lib/paths.ts'
import { fieldErrors } from '../../lib/fields.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Field, TextInput } from '../../ui/inputs/Field.tsx'
import { Problem } from '../../ui/feedback/Status.tsx'
import { Beam } from './Beam.tsx'
import css from './SignIn.module.css'

type State =
  | { at: 'looking' }
  /** The link is valid. */
  | { at: 'form'; email: string }
  /** `again`: Steelyard didn't answer. Otherwise the link is invalid or expired. */
  | { at: 'problem'; text: string; again: boolean }
  | { at: 'done' }

const incomplete = 'This link is not complete: open it again as it was sent to you.'

let taken = ''
/** Takes the token out of the URL, so that it is neither on the screen nor in the history. */
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
  const [error, setError] = useState<string | undefined>()
  const [refused, setRefused] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)

  useEffect(() => {
    document.title = 'Choose a password · Steelyard'
    if (token !== '') void lookAt(token).then(setState)
  }, [token])
  useEffect(() => {
    if (state.at === 'form') form.current?.querySelector<HTMLInputElement>('[name="new_password"]')?.focus({ preventScroll: true })
  }, [state.at])
  // Another link opened in the same tab.
  useEffect(() => {
    const again = () => {
      if (location.hash.length > 1) setState({ at: 'looking' })
      setToken(takeToken())
    }
    addEventListener('hashchange', again)
    return () => removeEventListener('hashchange', again)
  }, [])

  const written = () => {
    const value = form.current === null ? null : new FormData(form.current).get('new_password')
    return typeof value === 'string' ? value : ''
  }
  /** The sentence about the typed password, as far as the browser can check it. */
  const judge = (email: string): string | undefined => {
    const verdict = mayBePassword(written(), email)
    return fieldErrors(newPassword, written())[''] ?? (verdict.ok ? undefined : verdict.reason)
  }
  const submit = async (event: FormEvent<HTMLFormElement>, email: string) => {
    event.preventDefault()
    if (busy) return
    const wrong = judge(email)
    setError(wrong)
    const field = event.currentTarget.querySelector<HTMLInputElement>('[name="new_password"]')
    if (wrong !== undefined) return field?.focus()
    setBusy(true)
    setRefused(null)
    try {
      await callOpen(passwordReset, { body: { token, new_password: written() } })
      setState({ at: 'done' })
    } catch (problem) {
      const sentence = problem instanceof CallError ? problem.fields['new_password'] : undefined
      if (sentence !== undefined) {
        setError(sentence)
        field?.focus()
      } else if (problem instanceof CallError && problem.code === 'link_over') setState({ at: 'problem', text: problem.message, again: false })
      else setRefused(problem instanceof Error ? problem.message : String(problem))
    } finally {
      setBusy(false)
    }
    return undefined
  }

  const signIn = <Link to={paths.signIn}>Sign in</Link>
  return (
    <div className={css['page']}>
      <Beam />
      {state.at === 'form' ? (
        <form className={css['form']} ref={form} noValidate onSubmit={(event) => void submit(event, state.email)} aria-labelledby="set-password">
          <h1 id="set-password">Choose a new password</h1>
          <p>
            For <strong>{state.email}</strong>. Wherever you are signed in, you will be signed out.
          </p>
          <Problem text={refused} />
          {/* Tells password managers the account. */}
          <input hidden type="text" name="username" autoComplete="username" value={state.email} readOnly />
          <Field label="New password" error={error} hint="12 to 128 characters">
            <TextInput
              name="new_password"
              type="password"
              size="large"
              autoComplete="new-password"
              onValue={() => error !== undefined && setError(judge(state.email))}
            />
          </Field>
          <Button type="submit" kind="primary" size="large" busy={busy} busyText="Setting the password">
            Set password
          </Button>
        </form>
      ) : (
        <div className={css['form']}>
          <h1>{state.at === 'done' ? 'Your password is set' : 'Choose a new password'}</h1>
          {state.at === 'looking' && <p role="status">Looking at the link</p>}
          {state.at === 'problem' && <Problem text={state.text} />}
          {state.at === 'problem' && state.again ? (
            <Button size="large" onClick={() => void lookAt(token).then(setState)}>
              Try again
            </Button>
          ) : (
            state.at !== 'looking' && <p>{signIn}</p>
          )}
        </div>
      )}
    </div>
  )
}

import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { Verdict } from '#contract/rule.ts'
import { messages, signInProblem } from '../../api/messages.ts'
import { needsCode, signIn } from '../../api/auth.ts'
import { type Installation, useInstallation } from '../../api/installation.ts'
import type { PageProps } from '../../api/page.ts'
import { navigate, place } from '../../lib/router.ts'
import { useStore } from '../../lib/store.ts'
import { samePlace } from '../../lib/search.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Field, TextInput } from '../../ui/inputs/Field.tsx'
import { Problem } from '../../ui/feedback/Status.tsx'
import { Beam } from './Beam.tsx'
import css from './SignIn.module.css'

/** The validation rules load with the first typed character. */
const rules = () => import('./sign-in-rules.ts')

const read = (form: HTMLFormElement) => {
  const data = new FormData(form)
  // The password is not trimmed.
  const text = (name: string) => {
    const value = data.get(name)
    return typeof value === 'string' ? value : ''
  }
  return { email: text('email').trim(), password: text('password'), code: text('code').trim() }
}

// Written out, because the module of `no` would move into the code of this page, which signed-in
// users then had to load.
const refuse = (reason: string): Verdict => ({ ok: false, reason })
const wait = refuse('Signing in')

/**
 * Whether this page may use the installation's passkeys. A short form of `passkeysOf`, because the
 * sign-in page has a size limit.
 */
function passkeysHere({ rp_id: host, reason }: Installation['sign_in']['passkeys']): Verdict {
  if (host === null) return refuse(reason ?? 'Passkeys are not available here')
  const { hostname } = location
  return isSecureContext && (hostname === host || hostname.endsWith(`.${host}`))
    ? { ok: true }
    : refuse(`The passkeys of this Steelyard work only at ${host}`)
}

/**
 * Signs in and goes to the page that the user wanted. A native form, so that password managers
 * recognise the form.
 */
export function SignIn({ search }: PageProps<'/auth/login'>) {
  const { from } = useStore(place)
  const form = useRef<HTMLFormElement>(null)
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [refused, setRefused] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  /** Whether the password was right and a code is asked for. */
  const [second, setSecond] = useState(false)
  const ways = useInstallation()?.sign_in
  useEffect(() => {
    document.title = 'Sign in · Steelyard'
    form.current?.querySelector<HTMLInputElement>('[name="email"]')?.focus({ preventScroll: true })
  }, [])
  useEffect(() => {
    if (second) form.current?.querySelector<HTMLInputElement>('[name="code"]')?.focus()
  }, [second])
  const problem = refused ?? (search.error === undefined ? null : signInProblem(search.error))

  const check = async () => {
    // Without the rules the form is sent as it is: the server validates it too.
    const loaded = await rules().catch(() => null)
    const found =
      form.current === null || loaded === null
        ? {}
        : loaded.signInErrors(read(form.current), second)
    setErrors(found)
    return found
  }
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (busy) return
    const element = event.currentTarget
    const [first] = Object.keys(await check())
    if (first !== undefined)
      return element.querySelector<HTMLInputElement>(`[name="${first}"]`)?.focus()
    const { email, password, code } = read(element)
    const isIn = await attempt(() => signIn(email, password, second ? code : undefined))
    if (!isIn)
      element
        .querySelector<HTMLInputElement>(second ? '[name="code"]' : '[name="password"]')
        ?.select()
    return undefined
  }
  /** Runs a way to sign in, and then goes to the page that the user wanted. False if it failed. */
  const attempt = async (way: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true)
    setRefused(null)
    try {
      await way()
      await navigate(samePlace(from, location.origin), { replace: true })
      return true
    } catch (error) {
      if (needsCode(error)) setSecond(true)
      else
        setRefused(
          error instanceof Error && error.message !== ''
            ? error.message
            : messages.authenticationFailed,
        )
      setBusy(false)
      return false
    }
  }
  const byPasskey = () =>
    attempt(async () => (await import('../../api/identity/passkey.ts')).signInWithPasskey())
  const atProvider = async () => {
    setRefused(null)
    try {
      await (
        await import('../../api/identity/provider.ts')
      ).signInAtProvider(samePlace(from, location.origin))
    } catch (error) {
      setRefused(error instanceof Error ? error.message : messages.authenticationFailed)
    }
  }
  // After the first attempt every change is validated at once.
  const again = () => void (Object.keys(errors).length > 0 && check())
  return (
    <div className={css['page']}>
      <Beam />
      <form
        className={css['form']}
        ref={form}
        noValidate
        onInput={() => void rules().catch(() => undefined)}
        onSubmit={(event) => void submit(event)}
        aria-labelledby="sign-in"
      >
        <h1 id="sign-in">{second ? 'Enter your code' : 'Sign in to your account'}</h1>
        <Problem text={problem} />
        {ways?.password !== false && (
          <>
            {/* Stays in the form while the code is asked for, because it is sent again with the code. */}
            <div className={css['fields']} hidden={second}>
              <Field label="Email" error={errors['email']}>
                <TextInput
                  name="email"
                  type="email"
                  size="large"
                  autoComplete="username"
                  inputMode="email"
                  autoCapitalize="none"
                  spellCheck={false}
                  onValue={again}
                />
              </Field>
              <Field label="Password" error={errors['password']}>
                <TextInput
                  name="password"
                  type="password"
                  size="large"
                  autoComplete="current-password"
                  onValue={again}
                />
              </Field>
            </div>
            {second && (
              <Field
                label="Code"
                hint="From your authenticator app, or one of your recovery codes"
                error={errors['code']}
              >
                <TextInput
                  name="code"
                  size="large"
                  autoComplete="one-time-code"
                  autoCapitalize="none"
                  spellCheck={false}
                  mono
                  onValue={again}
                />
              </Field>
            )}
            <Button type="submit" kind="primary" size="large" busy={busy} busyText="Signing in">
              Sign in
            </Button>
          </>
        )}
        {ways?.password && (
          <Button
            size="large"
            icon="key"
            can={busy ? wait : passkeysHere(ways.passkeys)}
            onClick={() => void byPasskey()}
          >
            Sign in with a passkey
          </Button>
        )}
        {typeof ways?.provider === 'string' && !second && (
          <Button size="large" can={busy ? wait : undefined} onClick={() => void atProvider()}>
            Sign in with {ways.provider}
          </Button>
        )}
        {second && (
          <Button kind="ghost" onClick={() => setSecond(false)}>
            Back
          </Button>
        )}
        <p className="fs13 t2">
          Can’t sign in? Ask an administrator. The only administrator runs{' '}
          <code>steelyard user recover</code> on the machine of Steelyard.
        </p>
      </form>
    </div>
  )
}

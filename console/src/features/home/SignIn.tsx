import { type FormEvent, useEffect, useRef, useState } from 'react'
import { messages, signInProblem } from '../../api/messages.ts'
import { signIn } from '../../api/auth.ts'
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
  return { email: text('email').trim(), password: text('password') }
}

/** Signs in and goes to the page that the user wanted. A native form, so that password managers recognise the form. */
export function SignIn({ search }: PageProps<'/auth/login'>) {
  const { from } = useStore(place)
  const form = useRef<HTMLFormElement>(null)
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [refused, setRefused] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    document.title = 'Sign in · Steelyard'
    form.current?.querySelector<HTMLInputElement>('[name="email"]')?.focus({ preventScroll: true })
  }, [])
  const problem = refused ?? (search.error === undefined ? null : signInProblem(search.error))

  const check = async () => {
    // Without the rules the form is sent as it is: the server validates it too.
    const loaded = await rules().catch(() => null)
    const found = form.current === null || loaded === null ? {} : loaded.signInErrors(read(form.current))
    setErrors(found)
    return found
  }
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (busy) return
    const element = event.currentTarget
    const [first] = Object.keys(await check())
    if (first !== undefined) return element.querySelector<HTMLInputElement>(`[name="${first}"]`)?.focus()
    setBusy(true)
    setRefused(null)
    const { email, password } = read(element)
    try {
      await signIn(email, password)
      await navigate(samePlace(from, location.origin), { replace: true })
    } catch (error) {
      setRefused(error instanceof Error && error.message !== '' ? error.message : messages.authenticationFailed)
      setBusy(false)
      element.querySelector<HTMLInputElement>('[name="password"]')?.select()
    }
    return undefined
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
        <h1 id="sign-in">Sign in to your account</h1>
        <Problem text={problem} />
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
          <TextInput name="password" type="password" size="large" autoComplete="current-password" onValue={again} />
        </Field>
        <Button type="submit" kind="primary" size="large" busy={busy} busyText="Signing in">
          Sign in
        </Button>
      </form>
    </div>
  )
}

import { type FormEvent, type RefObject, useEffect, useId, useMemo, useRef, useState } from 'react'
import { type FieldValues, useForm as useHookForm, useWatch } from 'react-hook-form'
import type { Read } from '../../lib/fields.ts'
import { newKey } from '../../lib/key.ts'
import { isRefused, reasonOf, refusedFields } from '../../lib/reason.ts'

export interface FormOptions<Values, Body, Answer> {
  initial: Values
  /**
   * Turns the values into the request body, or into an error sentence per field. Called at every
   * change.
   */
  read: (values: Values) => Read<Body>
  /** Adds values that are known only when the form is sent, such as what the user has confirmed. */
  complete?: (body: Body) => Body
  /** Asks for confirmation. If the result is false, nothing is sent. */
  ask?: (body: Body) => Promise<boolean>
  /**
   * Sends the body. `key`: the Idempotency-Key, which stays the same while the same body is
   * retried.
   */
  send: (body: Body, key: string) => Promise<Answer> | Answer
  /** Called after a success. */
  done?: (answer: Answer, body: Body) => unknown
  /** Called after a refusal, or if there was no response. */
  failed?: (error: unknown) => unknown
  /**
   * Called when the user submits values that `read` rejects. The first invalid field gets the focus
   * anyway.
   */
  invalid?: (fields: Readonly<Record<string, string>>) => unknown
  /**
   * Maps the API's errors to fields. Default: the field is the first part of the error's path
   * ("exclude.3").
   */
  at?: (
    refused: Readonly<Record<string, string>>,
    values: Values,
  ) => Readonly<Record<string, string | undefined>>
}

/** A form as its field components use it. */
export interface FormFields {
  readonly values: Readonly<Record<string, unknown>>
  set(change: Readonly<Record<string, unknown>>): void
  /** Marks a field as touched: from then on its errors show at once. */
  leave(field: string): void
  /**
   * The error shown at a field: the API's or, after the field was touched or the form submitted,
   * the error of `read`.
   */
  errorOf(field: string): string | undefined
}

export interface Form<Values, Body = unknown> {
  readonly fields: FormFields
  /** Id of the form element, for a submit button outside of it. */
  id: string
  element: RefObject<HTMLFormElement | null>
  values: Values
  read: Read<Body>
  /** Changes some values and clears the API's errors. */
  set: (change: Partial<Values> | ((now: Values) => Partial<Values>)) => void
  leave: (field: keyof Values & string) => void
  errorOf: (field: keyof Values & string) => string | undefined
  /** Shows an error that `read` can't find, such as a file that is too large. */
  refuse: (field: keyof Values & string, sentence: string) => void
  /** Why sending failed, if no field is the reason. */
  problem: string | null
  /** The last failure, until a value changes or the form is sent again. */
  failure: unknown
  busy: boolean
  /** Whether the values differ from the initial ones. */
  dirty: boolean
  /** Sends valid values; otherwise focuses the first invalid field. True after a success. */
  submit: (event?: FormEvent) => Promise<boolean>
  /** Starts over from these values, or from the initial ones. */
  reset: (initial?: Values) => void
  /** Sets all values without changing the initial values, for a restored draft. */
  restore: (values: Values) => void
  /** Focuses the named field, or the first invalid one. */
  focus: (field?: keyof Values & string) => void
}

const none: Readonly<Record<string, string>> = {}
const wrong = '[aria-invalid="true"]'

/**
 * A form's state: values, errors and the running call. react-hook-form holds the values and the
 * touched fields. Errors come from `read`, which judges all values together, because fields depend
 * on each other.
 */
export function useForm<Values extends object, Body, Answer>(
  options: FormOptions<Values, Body, Answer>,
): Form<Values, Body> {
  const { initial, read, complete = (body) => body, ask, send, done, failed, invalid, at } = options
  const id = useId()
  const element = useRef<HTMLFormElement>(null)
  const hook = useHookForm<FieldValues, unknown, FieldValues>({
    defaultValues: initial,
    shouldFocusError: false,
    resolver: (values) => {
      const now = read(values as Values)
      return now.ok
        ? { values, errors: {} }
        : {
            values: {},
            errors: Object.fromEntries(
              Object.keys(now.fields).map((name) => [name, { type: 'rule' }]),
            ),
          }
    },
  })
  const watched = useWatch({ control: hook.control })
  const values = watched as Values
  const { isDirty, isSubmitted, submitCount, touchedFields } = hook.formState
  // False while `ask` waits for the user: no call is running then.
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const [refused, setRefused] = useState(none)
  const attempt = useRef({ of: '', key: '' })
  const going = useRef(false)
  const now = read(values)

  const { getValues, reset, setValue } = hook
  // The same functions on every render.
  const stable = useMemo(() => {
    const forget = () => {
      setFailure(null)
      setRefused(none)
    }
    const change = (part: object) => {
      forget()
      for (const [name, value] of Object.entries(part)) setValue(name, value, { shouldDirty: true })
    }
    const leave = (field: string) => setValue(field, getValues(field), { shouldTouch: true })
    const methods: Pick<Form<Values>, 'set' | 'leave' | 'refuse' | 'restore' | 'focus'> = {
      set: (part) => change(typeof part === 'function' ? part(getValues() as Values) : part),
      leave,
      refuse: (field, sentence) => setRefused({ [field]: sentence }),
      restore: (to) => reset(to, { keepDefaultValues: true }),
      focus: (field) =>
        element.current
          ?.querySelector<HTMLElement>(field === undefined ? wrong : `[name="${field}"]`)
          ?.focus(),
    }
    return { methods, forget, change, leave }
  }, [getValues, reset, setValue])
  const { methods, forget, change, leave } = stable
  const { focus } = methods
  // An effect, because the invalid fields must be marked first.
  useEffect(() => {
    if (submitCount > 0) focus()
  }, [submitCount, focus])

  const submit = async (event?: FormEvent) => {
    event?.preventDefault()
    // A double click arrives before `busy` is rendered.
    if (going.current) return false
    going.current = true
    forget()
    let isDone = false
    const go = async (latest: Values) => {
      const asked = read(latest)
      if (!asked.ok || (ask !== undefined && !(await ask(asked.body)))) return
      const body = complete(asked.body)
      const of = JSON.stringify(body)
      if (attempt.current.of !== of) attempt.current = { of, key: newKey() }
      setBusy(true)
      try {
        const answer = await send(body, attempt.current.key)
        attempt.current = { of: '', key: '' }
        isDone = true
        await done?.(answer, body)
      } catch (error) {
        if (isRefused(error)) attempt.current = { of: '', key: '' }
        setFailure(error)
        setRefused(
          ofForm(
            at === undefined ? refusedFields(error) : at(refusedFields(error), latest),
            initial,
          ),
        )
        await failed?.(error)
      } finally {
        setBusy(false)
      }
    }
    try {
      await hook.handleSubmit(
        (latest) => go(latest as Values),
        () => now.ok || invalid?.(now.fields),
      )()
    } finally {
      going.current = false
    }
    return isDone
  }
  const errorOf = (field: string) =>
    refused[field] ??
    (!now.ok && (isSubmitted || touchedFields[field] === true)
      ? ofForm(now.fields, initial)[field]
      : undefined)
  return {
    ...methods,
    fields: { values: watched, set: change, leave, errorOf },
    id,
    element,
    values,
    read: now,
    errorOf,
    problem: failure === null || Object.keys(refused).length > 0 ? null : reasonOf(failure),
    failure,
    busy,
    dirty: isDirty,
    submit,
    reset: (to) => {
      forget()
      reset(to ?? initial)
    },
  }
}

/**
 * Assigns error sentences to the form's fields by the first part of the path. A field gets only its
 * first sentence.
 */
function ofForm(
  said: Readonly<Record<string, string | undefined>>,
  form: object,
): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [path, sentence] of Object.entries(said)) {
    const field = path.split('.')[0] ?? ''
    if (sentence !== undefined && field in form) found[field] ??= sentence
  }
  return found
}

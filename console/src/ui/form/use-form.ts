import { type FormEvent, type RefObject, useEffect, useId, useMemo, useRef, useState } from 'react'
import { type FieldValues, useForm as useHookForm, useWatch } from 'react-hook-form'
import type { Read } from '../../lib/fields.ts'
import { newKey } from '../../lib/key.ts'
import { isRefused, reasonOf, refusedFields } from '../../lib/reason.ts'

export interface FormOptions<Values, Body, Answer> {
  initial: Values
  /** What is sent of the values, or a sentence per field. Called at every change, so that a form can say at once what is wrong. */
  read: (values: Values) => Read<Body>
  /** Puts in what is known only when it is sent, such as what a person has confirmed. */
  complete?: (body: Body) => Body
  /** Asks before it is sent. A no sends nothing. */
  ask?: (body: Body) => Promise<boolean>
  /** Sends it. `key`: the Idempotency-Key, the same while the same body is tried again. */
  send: (body: Body, key: string) => Promise<Answer> | Answer
  /** After it was sent. */
  done?: (answer: Answer, body: Body) => unknown
  /** After it was refused or got no answer. */
  failed?: (error: unknown) => unknown
  /** It was tried and may not be sent. By default the first field that is marked as wrong gets the focus. */
  invalid?: (fields: Readonly<Record<string, string>>) => unknown
  /** What the API refused, by the form's fields, where they are not the first parts of the API's paths ("exclude.3"). */
  at?: (refused: Readonly<Record<string, string>>, values: Values) => Readonly<Record<string, string | undefined>>
}

export interface Form<Values, Body = unknown> {
  /** Of the form element, for a submit button that stands outside of it. */
  id: string
  element: RefObject<HTMLFormElement | null>
  values: Values
  read: Read<Body>
  /** Changes some values. What was refused is forgotten. */
  set: (change: Partial<Values> | ((now: Values) => Partial<Values>)) => void
  /** Marks a field as left: from then on what is wrong with it is said at once. */
  leave: (field: keyof Values & string) => void
  /** What is said under a field: what the API refused, or what is wrong once it was left or the form was tried. */
  errorOf: (field: keyof Values & string) => string | undefined
  /** Shows a sentence at a field that the rules don't know, such as a file that is too large. */
  refuse: (field: keyof Values & string, sentence: string) => void
  /** Why it was not sent, where no field is to blame. */
  problem: string | null
  /** The last failure itself, until something is changed or sent again. */
  failure: unknown
  busy: boolean
  /** Differs from the initial values. */
  dirty: boolean
  /** Sends the form where it may be sent; else goes to the first wrong field. True once it is done. */
  submit: (event?: FormEvent) => Promise<boolean>
  /** Begins anew, from these values or the initial ones. */
  reset: (initial?: Values) => void
  /** Puts values in that differ from the initial ones, such as a draft. */
  restore: (values: Values) => void
  /** The first wrong field gets the focus, or the one that is named. */
  focus: (field?: keyof Values & string) => void
}

const none: Readonly<Record<string, string>> = {}
const wrong = '[aria-invalid="true"]'

/**
 * A form's state: values, what is wrong with them, what the API refused, and the call under way. react-hook-form keeps the values and what was touched;
 * the rules are those of `read`, which is judged whole, so that two fields that depend on each other are never of two opinions.
 */
export function useForm<Values extends object, Body, Answer>(options: FormOptions<Values, Body, Answer>): Form<Values, Body> {
  const { initial, read, complete = (body) => body, ask, send, done, failed, invalid, at } = options
  const id = useId()
  const element = useRef<HTMLFormElement>(null)
  const hook = useHookForm<FieldValues, unknown, FieldValues>({
    defaultValues: initial,
    shouldFocusError: false,
    resolver: (values) => {
      const now = read(values as Values)
      return now.ok ? { values, errors: {} } : { values: {}, errors: Object.fromEntries(Object.keys(now.fields).map((name) => [name, { type: 'rule' }])) }
    },
  })
  const values = useWatch({ control: hook.control }) as Values
  const { isDirty, isSubmitted, submitCount, touchedFields } = hook.formState
  // Not while it asks: nothing is on its way then.
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const [refused, setRefused] = useState(none)
  const attempt = useRef({ of: '', key: '' })
  const going = useRef(false)
  const now = read(values)

  const { getValues, reset, setValue } = hook
  // The same from one rendering to the next.
  const stable = useMemo(() => {
    const forget = () => {
      setFailure(null)
      setRefused(none)
    }
    const methods: Pick<Form<Values>, 'set' | 'leave' | 'refuse' | 'restore' | 'focus'> = {
      set: (change) => {
        forget()
        const part = typeof change === 'function' ? change(getValues() as Values) : change
        for (const [name, value] of Object.entries(part)) setValue(name, value, { shouldDirty: true })
      },
      leave: (field) => setValue(field, getValues(field), { shouldTouch: true }),
      refuse: (field, sentence) => setRefused({ [field]: sentence }),
      restore: (to) => reset(to, { keepDefaultValues: true }),
      focus: (field) => element.current?.querySelector<HTMLElement>(field === undefined ? wrong : `[name="${field}"]`)?.focus(),
    }
    return { ...methods, forget }
  }, [getValues, reset, setValue])
  const { forget, ...methods } = stable
  const { focus } = stable
  // Once what is wrong is marked.
  useEffect(() => {
    if (submitCount > 0) focus()
  }, [submitCount, focus])

  const submit = async (event?: FormEvent) => {
    event?.preventDefault()
    // A second press comes before the first one is drawn.
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
        setRefused(ofForm(at === undefined ? refusedFields(error) : at(refusedFields(error), latest), initial))
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
  return {
    ...methods,
    id,
    element,
    values,
    read: now,
    errorOf: (field) => refused[field] ?? (!now.ok && (isSubmitted || touchedFields[field] === true) ? ofForm(now.fields, initial)[field] : undefined),
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

/** The first sentence at each of the form's fields. */
function ofForm(said: Readonly<Record<string, string | undefined>>, form: object): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [path, sentence] of Object.entries(said)) {
    const field = path.split('.')[0] ?? ''
    if (sentence !== undefined && field in form) found[field] ??= sentence
  }
  return found
}

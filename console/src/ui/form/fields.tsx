import { type ComponentProps, createContext, type ReactNode, useContext, useEffect } from 'react'
import { Checkbox, Field, Select, type SelectOption, TextArea, TextInput } from '../inputs/Field.tsx'
import type { Form as FormState } from './use-form.ts'

// Every form goes through one context; `fieldsFor` gives each form's fields the names that it has.
type AnyForm = FormState<Record<string, unknown>>
const FormContext = createContext<AnyForm | null>(null)

function useFormState(): AnyForm {
  const form = useContext(FormContext)
  if (form === null) throw new Error('A field stands outside of Form')
  return form
}

/** The form element: its fields stand in it, and a submit button in it or anywhere with `form={form.id}`. `focusFirst`: it is what the page is for. */
export function Form<Values, Body>({
  form,
  className,
  focusFirst = false,
  label,
  children,
}: {
  form: FormState<Values, Body>
  className?: string | undefined
  focusFirst?: boolean
  /** Id of the heading that names the form. */
  label?: string
  children: ReactNode
}) {
  const { element } = form
  useEffect(() => {
    if (focusFirst) element.current?.querySelector('input')?.focus({ preventScroll: true })
  }, [element, focusFirst])
  return (
    <FormContext value={form as unknown as AnyForm}>
      <form ref={element} id={form.id} className={className} aria-labelledby={label} noValidate onSubmit={(event) => void form.submit(event)}>
        {children}
      </form>
    </FormContext>
  )
}

interface Look {
  label: ReactNode
  hint?: ReactNode
  optional?: boolean
  note?: ReactNode
  /** Of the field, label and sentence included. */
  fieldClass?: string | undefined
}

/** What is wrong is said once the field was left with something in it, so that one may pass through an empty form. */
function useWiring(name: string) {
  const form = useFormState()
  const value = form.values[name]
  return { form, value, error: form.errorOf(name), onBlur: () => (value === '' ? undefined : form.leave(name)) }
}

/** One line of text. `eager`: what is wrong is said while it is typed. */
function Text({
  name,
  label,
  hint,
  optional = false,
  note,
  fieldClass,
  eager = false,
  ...rest
}: Look & { name: string; eager?: boolean } & Omit<ComponentProps<typeof TextInput>, 'name' | 'value' | 'onValue' | 'onBlur'>) {
  const { form, value, error, onBlur } = useWiring(name)
  return (
    <Field label={label} hint={hint} optional={optional} note={note} className={fieldClass} error={error}>
      <TextInput
        autoComplete="off"
        spellCheck={false}
        {...rest}
        name={name}
        value={value as string}
        onValue={(to) => {
          form.set({ [name]: to })
          if (eager) form.leave(name)
        }}
        onBlur={onBlur}
      />
    </Field>
  )
}

/** Several lines of text. */
function Area({
  name,
  label,
  hint,
  optional = false,
  note,
  fieldClass,
  ...rest
}: Look & { name: string } & Omit<ComponentProps<typeof TextArea>, 'name' | 'value' | 'onValue' | 'onBlur'>) {
  const { form, value, error, onBlur } = useWiring(name)
  return (
    <Field label={label} hint={hint} optional={optional} note={note} className={fieldClass} error={error}>
      <TextArea spellCheck={rest.mono !== true} {...rest} name={name} value={value as string} onValue={(to) => form.set({ [name]: to })} onBlur={onBlur} />
    </Field>
  )
}

/** What a select says for "none": '' would be "nothing chosen yet". */
const none = 'none'

/** One of several. `none`: the words of the choice that stands for ''. `onValue` takes the place of setting the value alone. */
function Choose({
  name,
  label,
  hint,
  optional = false,
  note,
  fieldClass,
  options,
  none: noneText,
  onValue,
  ...rest
}: Look & {
  name: string
  options: readonly SelectOption<string>[]
  none?: string
  onValue?: (value: string) => void
  placeholder?: string
  disabled?: boolean
}) {
  const { form, value, error } = useWiring(name)
  const set = (to: string) => (onValue === undefined ? form.set({ [name]: to }) : onValue(to))
  return (
    <Field label={label} hint={hint} optional={optional} note={note} className={fieldClass} error={error}>
      <Select
        {...rest}
        name={name}
        value={noneText !== undefined && value === '' ? none : (value as string)}
        options={noneText === undefined ? options : [{ value: none, text: noneText }, ...options]}
        onValue={(to) => set(noneText !== undefined && to === none ? '' : to)}
        onBlur={() => form.leave(name)}
      />
    </Field>
  )
}

function Check({ name, label }: { name: string; label: ReactNode }) {
  const { form, value } = useWiring(name)
  return <Checkbox label={label} checked={value === true} onChange={(to) => form.set({ [name]: to })} />
}

/** A control of the form's own inside a labelled field. */
function Custom({ name, label, hint, optional = false, note, fieldClass, children }: Look & { name: string; children: ReactNode }) {
  return (
    <Field label={label} hint={hint} optional={optional} note={note} className={fieldClass} error={useFormState().errorOf(name)}>
      {children}
    </Field>
  )
}

/** Names of the values that are of a type. */
type NameOf<Values, Of> = { [Name in keyof Values]: Values[Name] extends Of ? Name : never }[keyof Values] & string

interface FieldsFor<Values> {
  Text: (props: Omit<ComponentProps<typeof Text>, 'name'> & { name: NameOf<Values, string> }) => ReactNode
  Area: (props: Omit<ComponentProps<typeof Area>, 'name'> & { name: NameOf<Values, string> }) => ReactNode
  Choose: <Name extends NameOf<Values, string>>(
    props: Omit<ComponentProps<typeof Choose>, 'name' | 'options' | 'onValue'> & {
      name: Name
      options: readonly SelectOption<Values[Name] & string>[]
      onValue?: (value: Values[Name]) => void
    },
  ) => ReactNode
  Check: (props: Omit<ComponentProps<typeof Check>, 'name'> & { name: NameOf<Values, boolean> }) => ReactNode
  Custom: (props: Omit<ComponentProps<typeof Custom>, 'name'> & { name: keyof Values & string }) => ReactNode
}

const all = { Text, Area, Choose, Check, Custom }

/** The fields of a form, typed by its values: `const { Text, Choose } = fieldsFor<Typed>()` beside the form's component. */
export const fieldsFor = <Values extends object>(): FieldsFor<Values> => all as unknown as FieldsFor<Values>

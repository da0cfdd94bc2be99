import { type ComponentProps, createContext, type ReactNode, useContext, useEffect } from 'react'
import { Field, TextArea, TextInput } from '../inputs/Field.tsx'
import { Checkbox, Select, type SelectOption } from '../inputs/Choices.tsx'
import type { FormFields, Form as FormState } from './use-form.ts'

// All forms share one context, whose field names are plain strings. `fieldsFor` restores the types
// of each form's names.
const FormContext = createContext<FormFields | null>(null)

function useFormFields(): FormFields {
  const fields = useContext(FormContext)
  if (fields === null) throw new Error('A field must be inside a Form')
  return fields
}

/**
 * The form element around the fields. A submit button outside of the form element refers to it by
 * `form={form.id}`. `focusFirst`: the first field gets the focus when the page opens.
 */
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
  /** Id of the heading that labels the form. */
  label?: string
  children: ReactNode
}) {
  const { element } = form
  useEffect(() => {
    if (focusFirst) element.current?.querySelector('input')?.focus({ preventScroll: true })
  }, [element, focusFirst])
  return (
    <FormContext value={form.fields}>
      <form
        ref={element}
        id={form.id}
        className={className}
        aria-labelledby={label}
        noValidate
        onSubmit={(event) => void form.submit(event)}
      >
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
  /** CSS class of the whole field: label, control and error. */
  fieldClass?: string | undefined
}

/**
 * Connects a control to its field. A field that is left empty shows no error yet, so that Tab can
 * pass through an empty form.
 */
function useField(name: string) {
  const form = useFormFields()
  const value = form.values[name]
  return {
    form,
    value,
    error: form.errorOf(name),
    onBlur: () => (value === '' ? undefined : form.leave(name)),
  }
}

/** Splits the props of a component into those of the field and those of the control in it. */
function split<P extends Look>({
  label,
  hint,
  optional = false,
  note,
  fieldClass: className,
  ...control
}: P) {
  return { look: { label, hint, optional, note, className }, control }
}

type TextProps = Look & { name: string; eager?: boolean } & Omit<
    ComponentProps<typeof TextInput>,
    'name' | 'value' | 'onValue' | 'onBlur'
  >
/** One line of text. `eager`: shows errors while the user types. */
function Text({ name, eager = false, ...rest }: TextProps) {
  const { form, value, error, onBlur } = useField(name)
  const { look, control } = split(rest)
  return (
    <Field {...look} error={error}>
      <TextInput
        autoComplete="off"
        spellCheck={false}
        {...control}
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
  ...rest
}: Look & { name: string } & Omit<
    ComponentProps<typeof TextArea>,
    'name' | 'value' | 'onValue' | 'onBlur'
  >) {
  const { form, value, error, onBlur } = useField(name)
  const { look, control } = split(rest)
  return (
    <Field {...look} error={error}>
      <TextArea
        spellCheck={rest.mono !== true}
        {...control}
        name={name}
        value={value as string}
        onValue={(to) => form.set({ [name]: to })}
        onBlur={onBlur}
      />
    </Field>
  )
}

/** The select's value for "none": to Radix, '' means that nothing is chosen yet. */
const none = 'none'

/**
 * A select. `none`: label of the option whose value is ''. `onValue`: called instead of setting the
 * value.
 */
function Choose({
  name,
  options,
  none: noneText,
  onValue,
  ...rest
}: Look & {
  name: string
  options: readonly SelectOption<string>[]
  none?: string
  // Declared as a method: TypeScript then accepts a handler for some strings only, such as a union
  // of literals.
  onValue?(this: void, value: string): void
  placeholder?: string
  disabled?: boolean
}) {
  const { form, value, error } = useField(name)
  const { look, control } = split(rest)
  const set = (to: string) => (onValue === undefined ? form.set({ [name]: to }) : onValue(to))
  return (
    <Field {...look} error={error}>
      <Select
        {...control}
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
  const { form, value } = useField(name)
  return (
    <Checkbox label={label} checked={value === true} onChange={(to) => form.set({ [name]: to })} />
  )
}

/** A labelled field around a control that the form supplies. */
function Custom({ name, children, ...rest }: Look & { name: string; children: ReactNode }) {
  return (
    <Field {...split(rest).look} error={useFormFields().errorOf(name)}>
      {children}
    </Field>
  )
}

/** Names of the values of one type. */
type NameOf<Values, Of> = {
  [Name in keyof Values]: Values[Name] extends Of ? Name : never
}[keyof Values] &
  string

interface FieldsFor<Values> {
  Text: (
    props: Omit<ComponentProps<typeof Text>, 'name'> & { name: NameOf<Values, string> },
  ) => ReactNode
  Area: (
    props: Omit<ComponentProps<typeof Area>, 'name'> & { name: NameOf<Values, string> },
  ) => ReactNode
  Choose: <Name extends NameOf<Values, string>>(
    props: Omit<ComponentProps<typeof Choose>, 'name' | 'options' | 'onValue'> & {
      name: Name
      options: readonly SelectOption<Values[Name] & string>[]
      onValue?: (value: Values[Name] & string) => void
    },
  ) => ReactNode
  Check: (
    props: Omit<ComponentProps<typeof Check>, 'name'> & { name: NameOf<Values, boolean> },
  ) => ReactNode
  Custom: (
    props: Omit<ComponentProps<typeof Custom>, 'name'> & { name: keyof Values & string },
  ) => ReactNode
}

const all = { Text, Area, Choose, Check, Custom }

/**
 * The field components, typed by a form's values: `const { Text, Choose } = fieldsFor<Typed>()`
 * beside the form's component.
 */
export const fieldsFor = <Values extends object>(): FieldsFor<Values> => all

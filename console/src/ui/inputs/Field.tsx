import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type TextareaHTMLAttributes,
  useContext,
  useId,
  useMemo,
  useState,
} from 'react'
import { IconButton, Kbd } from './Button.tsx'
import css from './Field.module.css'
import { cx } from '../cx.ts'
import { Icon, type IconName } from '../pictures/Icon.tsx'

interface Wiring {
  id?: string
  'aria-describedby'?: string
  'aria-invalid'?: true
}
const FieldContext = createContext<Wiring>({})

/** The attributes that wire a control to the Field around it. */
export const useField = (): Wiring => useContext(FieldContext)

interface FieldProps {
  label: ReactNode
  hint?: ReactNode
  error?: string | null | undefined
  /** Shows "optional" beside the label. */
  optional?: boolean
  /** A short remark beside the label: a range, a unit. */
  note?: ReactNode
  className?: string | undefined
  children: ReactNode
}

/** Label, control, hint and error, wired to each other. The error takes the place of the hint. */
export function Field({ label, hint, error, optional, note, className, children }: FieldProps) {
  const id = useId()
  const bad = error !== undefined && error !== null && error !== ''
  const below = bad ? error : hint
  const described = below !== undefined && below !== null
  const wiring = useMemo(
    () => ({
      id,
      ...(described && { 'aria-describedby': `${id}-below` }),
      ...(bad && { 'aria-invalid': true as const }),
    }),
    [id, described, bad],
  )
  return (
    <div className={cx(css['field'], className)}>
      <label className={css['label']} htmlFor={id}>
        {label}
        {(optional || note !== undefined) && (
          <span className={css['note']}>{optional ? 'optional' : note}</span>
        )}
      </label>
      <FieldContext value={wiring}>{children}</FieldContext>
      {/* Always rendered, so that screen readers announce an error when it appears. */}
      <div id={`${id}-below`} aria-live="polite" className={cx(css['below'], bad && css['error'])}>
        {below}
      </div>
    </div>
  )
}

export interface TextInputProps extends Omit<
  InputHTMLAttributes<HTMLInputElement>,
  'size' | 'onChange' | 'value' | 'prefix'
> {
  value?: string
  /**
   * Called with the trimmed value on every change; the field itself keeps what was typed until it
   * loses focus.
   */
  onValue?: (value: string) => void
  icon?: IconName
  /** Keyboard shortcut to the field, shown at its end. */
  hotkey?: string
  size?: 'medium' | 'large'
  unit?: ReactNode
  mono?: boolean
  ref?: React.Ref<HTMLInputElement>
}

/**
 * One line of text. The reported value is trimmed, as the specification requires of text inputs; a
 * password is never trimmed. Without `value` the input is a plain form control, read by FormData.
 */
export function TextInput({
  value,
  onValue,
  icon,
  hotkey,
  size = 'medium',
  unit,
  mono,
  className,
  type = 'text',
  onBlur,
  ...rest
}: TextInputProps) {
  const field = useField()
  const secret = type === 'password'
  const [raw, setRaw] = useState(value ?? '')
  const [shown, setShown] = useState(false)
  // A new `value` from the parent replaces the typed text, unless `value` is the trimmed typed
  // text.
  const text = value === undefined || raw.trim() === value ? raw : value
  return (
    <span
      className={cx(
        css['input'],
        size === 'large' && css['large'],
        field['aria-invalid'] && css['bad'],
        mono && 'mono',
        className,
      )}
    >
      {icon && <Icon name={icon} />}
      <input
        {...field}
        {...rest}
        type={secret && shown ? 'text' : type}
        {...(value !== undefined && { value: text })}
        onChange={(event) => {
          const typed = event.target.value
          setRaw(typed)
          onValue?.(secret ? typed : typed.trim())
        }}
        onBlur={(event) => {
          if (!secret && value !== undefined) setRaw(raw.trim())
          onBlur?.(event)
        }}
      />
      {unit !== undefined && <span className="t3">{unit}</span>}
      {hotkey !== undefined && <Kbd>{hotkey}</Kbd>}
      {secret && (
        <IconButton
          icon={shown ? 'eye-off' : 'eye'}
          label={shown ? 'Hide password' : 'Show password'}
          aria-pressed={shown}
          onClick={() => setShown(!shown)}
        />
      )}
    </span>
  )
}

export interface TextAreaProps extends Omit<
  TextareaHTMLAttributes<HTMLTextAreaElement>,
  'onChange' | 'value'
> {
  value?: string
  onValue?: (value: string) => void
  mono?: boolean
}

/**
 * Several lines. A list has one entry per line, or commas between entries: `listOf` of
 * `lib/text.ts` parses it.
 */
export function TextArea({ value, onValue, mono, className, rows = 4, ...rest }: TextAreaProps) {
  const field = useField()
  return (
    <textarea
      {...field}
      {...rest}
      rows={rows}
      {...(value !== undefined && { value })}
      className={cx(css['area'], field['aria-invalid'] && css['bad'], mono && 'mono', className)}
      onChange={(event) => onValue?.(event.target.value)}
    />
  )
}

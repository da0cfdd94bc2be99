/** Controls for choosing. Apart from `Field.tsx`, because the sign-in page has none of them. */
import type { ReactNode, SelectHTMLAttributes } from 'react'
import { cx } from '../cx.ts'
import { Icon } from '../pictures/Icon.tsx'
import { useField } from './Field.tsx'
import css from './Field.module.css'

export interface SelectOption<Value extends string> {
  value: Value
  text: string
  /** Additional text after `text`: a size, a place. */
  more?: string
  disabled?: boolean
}

/**
 * Separates `more` from the text: an option can't be styled, and several plain spaces are shown as
 * one.
 */
const emSpace = '\u2003'

interface SelectProps<Value extends string> extends Omit<
  SelectHTMLAttributes<HTMLSelectElement>,
  'value' | 'size' | 'onChange'
> {
  value: Value | ''
  options: readonly SelectOption<Value>[]
  onValue: (value: Value) => void
  size?: 'small' | 'medium' | 'large'
  mono?: boolean
  placeholder?: string
}

/**
 * A choice from a list: the browser's own select with our styles, so that it works as usual with
 * keyboard, touch and screen readers.
 */
export function Select<Value extends string>({
  value,
  options,
  onValue,
  size = 'medium',
  mono,
  placeholder,
  className,
  ...rest
}: SelectProps<Value>) {
  const field = useField()
  return (
    <span
      className={cx(
        css['select'],
        css[`select-${size}`],
        field['aria-invalid'] && css['bad'],
        mono && 'mono',
        className,
      )}
    >
      <select
        {...field}
        {...rest}
        value={value}
        onChange={(event) => onValue(event.target.value as Value)}
      >
        {placeholder !== undefined && (
          <option value="" disabled hidden>
            {placeholder}
          </option>
        )}
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled}>
            {option.more === undefined ? option.text : `${option.text}${emSpace}${option.more}`}
          </option>
        ))}
      </select>
      <Icon name="chevron-down" />
    </span>
  )
}

interface CheckboxProps {
  checked: boolean
  indeterminate?: boolean
  onChange: (checked: boolean) => void
  label: ReactNode
  /** The label is for screen readers only. */
  hideLabel?: boolean
  disabled?: boolean
  className?: string | undefined
  /** Called before `onChange` with whether Shift was held, for the selection of ranges. */
  onShift?: (held: boolean) => void
}

export function Checkbox({
  checked,
  indeterminate = false,
  onChange,
  label,
  hideLabel = false,
  disabled,
  className,
  onShift,
}: CheckboxProps) {
  return (
    <label className={cx(css['check'], hideLabel && css['bare'], className)}>
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        ref={(element) => {
          if (element) element.indeterminate = indeterminate
        }}
        onClick={(event) => onShift?.(event.shiftKey)}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className={css['box']}>
        <Icon name={indeterminate ? 'minus' : 'check'} size={12} />
      </span>
      <span className={hideLabel ? 'sr' : undefined}>{label}</span>
    </label>
  )
}

export function Switch({
  checked,
  onChange,
  label,
}: {
  checked: boolean
  onChange: (checked: boolean) => void
  label: ReactNode
}) {
  return (
    <label className={css['switch']}>
      <input
        type="checkbox"
        role="switch"
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className={css['knob']} />
      <span>{label}</span>
    </label>
  )
}

import { useId, useState } from 'react'
import { labelText, readLabel } from '../../lib/label.ts'
import { Icon } from '../pictures/Icon.tsx'
import { useField } from './Field.tsx'
import css from './LabelsInput.module.css'

interface LabelsInputProps {
  labels: Record<string, string>
  onLabels: (labels: Record<string, string>) => void
  disabled?: boolean
  /** Labels that the browser offers while the user types. */
  suggestions?: readonly string[]
  placeholder?: string
}

/**
 * Labels as chips. Enter, a comma or a space ends a label; Backspace in the empty field removes the
 * last label.
 */
export function LabelsInput({
  labels,
  onLabels,
  disabled = false,
  suggestions = [],
  placeholder = 'key=value',
}: LabelsInputProps) {
  const field = useField()
  const list = useId()
  const [text, setText] = useState('')
  const add = (entries: readonly string[]) => {
    const read = entries.map(readLabel).filter((label) => label !== null)
    if (read.length > 0) onLabels({ ...labels, ...Object.fromEntries(read) })
  }
  const without = (key: string) =>
    Object.fromEntries(Object.entries(labels).filter(([k]) => k !== key))
  return (
    <span className={field['aria-invalid'] ? `${css['input']} ${css['bad']}` : css['input']}>
      {Object.entries(labels).map((label) => (
        <span key={label[0]} className={css['chip']}>
          {labelText(label)}
          {!disabled && (
            <button
              type="button"
              aria-label={`Remove label ${labelText(label)}`}
              onClick={() => onLabels(without(label[0]))}
            >
              <Icon name="close" size={12} />
            </button>
          )}
        </span>
      ))}
      <input
        {...field}
        list={list}
        value={text}
        readOnly={disabled}
        placeholder={disabled ? '' : placeholder}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        onChange={(event) => {
          const parts = event.target.value.split(/[,\s]/)
          setText(parts.pop() ?? '')
          add(parts)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && text.trim() !== '') {
            event.preventDefault()
            add([text])
            setText('')
          }
          const last = Object.entries(labels).at(-1)
          if (event.key === 'Backspace' && text === '' && last !== undefined && !disabled) {
            event.preventDefault()
            onLabels(without(last[0]))
            setText(labelText(last))
          }
        }}
        onBlur={() => {
          add([text])
          setText('')
        }}
      />
      <datalist id={list}>
        {suggestions.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </span>
  )
}

import { useId, useState } from 'react'
import { Icon } from '../pictures/Icon.tsx'
import { useField } from './Field.tsx'
import css from './LabelsInput.module.css'

export interface Chip {
  value: string
  text: string
}

interface ChipsInputProps {
  chips: readonly Chip[]
  onChips: (chips: readonly Chip[]) => void
  /** Offered by the browser while the user types. */
  suggestions: readonly Chip[]
  /** The chip of a typed text; null if the text is none. Default: the suggestion of this text. */
  read?: (text: string) => Chip | null
  /** Called with what is typed, for instance to fetch suggestions. */
  onText?: (text: string) => void
  placeholder?: string
}

/**
 * A list of things as chips. Enter, or leaving the field, adds what was typed; a suggestion that is
 * chosen is added at once. Backspace in the empty field takes the last chip back into the field. A
 * text that is no chip stays, so that it can be mended.
 */
export function ChipsInput({
  chips,
  onChips,
  suggestions,
  read = (text) => suggestions.find((one) => one.text === text) ?? null,
  onText,
  placeholder = '',
}: ChipsInputProps) {
  const field = useField()
  const list = useId()
  const [text, setText] = useState('')
  const type = (to: string) => {
    setText(to)
    onText?.(to)
  }
  const add = (typed: string): boolean => {
    const chip = typed.trim() === '' ? null : read(typed.trim())
    if (chip === null) return false
    if (!chips.some(({ value }) => value === chip.value)) onChips([...chips, chip])
    type('')
    return true
  }
  return (
    <span className={field['aria-invalid'] ? `${css['input']} ${css['bad']}` : css['input']}>
      {chips.map(({ value, text: said }) => (
        <span key={value} className={css['chip']}>
          {said}
          <button
            type="button"
            aria-label={`Remove ${said}`}
            onClick={() => onChips(chips.filter((one) => one.value !== value))}
          >
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      <input
        {...field}
        list={list}
        value={text}
        placeholder={chips.length === 0 ? placeholder : ''}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        onChange={(event) => {
          const to = event.target.value
          // Choosing a suggestion replaces the text, and typing inserts into it.
          const { inputType } = event.nativeEvent as InputEvent
          const isChosen = inputType === 'insertReplacementText' || inputType === undefined
          if (!isChosen || !suggestions.some((one) => one.text === to) || !add(to)) type(to)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && text.trim() !== '') {
            event.preventDefault()
            add(text)
          }
          const last = chips.at(-1)
          if (event.key === 'Backspace' && text === '' && last !== undefined) {
            event.preventDefault()
            onChips(chips.slice(0, -1))
            type(last.text)
          }
        }}
        onBlur={() => add(text)}
      />
      <datalist id={list}>
        {suggestions.map(({ value, text: said }) => (
          <option key={value} value={said} />
        ))}
      </datalist>
    </span>
  )
}

import { type FormEvent, useState } from 'react'
import { readRange, writeRange } from '#contract/marketplace/range.ts'
import { Button } from '../inputs/Button.tsx'
import { Field, TextInput } from '../inputs/Field.tsx'
import css from './Filters.module.css'

const orNull = (text: string): string | null => (text === '' ? null : text)

interface RangeInputsProps {
  label: string
  unit: string
  /** Text of the range, '' for any. */
  value: string
  onValue: (value: string) => void
}

/**
 * Fields for both ends of a range, either of which may stay empty. The button or Enter applies the
 * range.
 */
export default function RangeInputs({ label, unit, value, onValue }: RangeInputsProps) {
  const given = readRange(value)
  const [least, setLeast] = useState(given?.least ?? '')
  const [most, setMost] = useState(given?.most ?? '')
  const [isAsked, setAsked] = useState(false)
  const next = writeRange({ least: orNull(least), most: orNull(most) })
  const isWrong = next !== '' && readRange(next) === null
  const apply = (event: FormEvent) => {
    event.preventDefault()
    setAsked(true)
    if (!isWrong) onValue(next)
  }
  return (
    <form className={css['range']} noValidate onSubmit={apply} aria-label={`${label} range`}>
      <Field label={`${label} from`}>
        <TextInput
          inputMode="decimal"
          autoComplete="off"
          value={least}
          onValue={setLeast}
          unit={unit || undefined}
        />
      </Field>
      <Field
        label={`${label} to`}
        error={isAsked && isWrong ? 'Enter decimal numbers, the smaller one first' : null}
      >
        <TextInput
          inputMode="decimal"
          autoComplete="off"
          value={most}
          onValue={setMost}
          unit={unit || undefined}
        />
      </Field>
      <Button type="submit" size="small">
        Apply
      </Button>
    </form>
  )
}

import type { ReactNode } from 'react'
import type { Verdict } from '#contract/rule.ts'
import { cx } from '../cx.ts'
import { Tooltip } from '../overlay/Tooltip.tsx'
import css from './Button.module.css'

interface SegmentedProps<Value extends string> {
  label: string
  value: Value
  options: readonly { value: Value; text: ReactNode; can?: Verdict }[]
  onChange: (value: Value) => void
  size?: 'small' | 'medium'
}

/** A choice among few values, side by side. */
export function Segmented<Value extends string>({
  label,
  value,
  options,
  onChange,
  size = 'small',
}: SegmentedProps<Value>) {
  return (
    <span
      role="group"
      aria-label={label}
      className={cx(css['seg'], size === 'medium' && css['seg-medium'])}
    >
      {options.map(({ value: one, text, can }) => (
        <Tooltip key={one} text={can?.ok === false ? can.reason : null}>
          <button
            type="button"
            aria-pressed={one === value}
            aria-disabled={can?.ok === false || undefined}
            onClick={() => can?.ok !== false && onChange(one)}
          >
            {text}
          </button>
        </Tooltip>
      ))}
    </span>
  )
}

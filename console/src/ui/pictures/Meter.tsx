import type { ReactNode } from 'react'
import css from './Meter.module.css'
import { cx } from '../cx.ts'

const percent = (part: number, of: number) =>
  of <= 0 ? 0 : Math.max(0, Math.min(100, (part / of) * 100))

export type MeterTone = 'accent' | 'ok' | 'warn' | 'danger'
/** Warn from 80 %, danger from 95 %. */
export const fillTone = (value: number, of: number): MeterTone =>
  of <= 0 || value / of < 0.8 ? 'accent' : value / of < 0.95 ? 'warn' : 'danger'

interface MeterProps {
  value: number
  of: number
  scale?: number
  /** Accessible name of the measured quantity. */
  label: string
  tone?: MeterTone
  text?: ReactNode
}

/**
 * A meter drawn as a steelyard: a thin beam with quarter notches and a poise (sliding weight) at
 * the value. `text` is shown beside the beam. `scale` is common to a column, so that lengths are
 * comparable: the beam takes `of / scale` of the width.
 */
export function Meter({ value, of, scale = of, label, tone = 'accent', text }: MeterProps) {
  const at = percent(value, of)
  const beam = (
    <span
      className={cx(css['meter'], css[tone])}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={of}
      aria-valuenow={value}
      style={{ width: scale === of ? undefined : `${percent(of, scale)}%` }}
    >
      <i style={{ width: `${at}%` }} />
      <u style={{ left: `${at}%` }} />
    </span>
  )
  if (text === undefined) return scale === of ? beam : <span className={css['slot']}>{beam}</span>
  return (
    <span className={css['line']}>
      <span className={css['slot']}>{beam}</span>
      <span className={css['text']}>{text}</span>
    </span>
  )
}

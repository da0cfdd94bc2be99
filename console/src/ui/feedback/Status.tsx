import type { ReactNode } from 'react'
import css from './Status.module.css'
import { cx } from '../cx.ts'
import type { Tone } from './tone.ts'
import { Icon, type IconName } from '../pictures/Icon.tsx'

export type { Tone }

interface StatusDotProps {
  tone: Tone
  children: ReactNode
  why?: ReactNode
  quiet?: boolean
  whole?: boolean
}

/**
 * A shape, a word and an optional reason: "Unreachable since 14:02 · connection refused". `whole`: a
 * long reason wraps instead of being cut.
 */
export function StatusDot({ tone, children, why, quiet = false, whole = false }: StatusDotProps) {
  return (
    <span
      className={cx(css['st'], css[tone], quiet && css['quiet'], whole && css['whole'])}
      data-status=""
    >
      <span className={css['word']}>{children}</span>
      {why !== undefined && why !== null && why !== '' && (
        <span className={css['why']} title={typeof why === 'string' ? why : undefined}>
          {why}
        </span>
      )}
    </span>
  )
}

/**
 * A state and its reason in a table cell, in one line. The word is whole; only the reason may be
 * cut. On narrow screens the reason may be below the word, and in cards, and with `tall`, it has up
 * to three lines: `tall` is for tables without a page that shows the whole reason.
 */
export const StatusReason = ({
  tone,
  word,
  why,
  tall = false,
}: {
  tone: Tone
  word: ReactNode
  why?: ReactNode
  tall?: boolean
}) => (
  <span className={cx(css['under'], tall && css['tall'])} data-tall={tall || undefined}>
    <StatusDot tone={tone} why={why}>
      {word}
    </StatusDot>
  </span>
)

interface BadgeProps {
  tone?: 'neutral' | 'ok' | 'warn' | 'danger' | 'info' | 'accent' | 'line'
  icon?: IconName
  mono?: boolean
  children: ReactNode
  title?: string
}

export function Badge({ tone = 'neutral', icon, mono, children, title }: BadgeProps) {
  return (
    <span
      className={cx(
        css['badge'],
        tone !== 'neutral' && css[`badge-${tone}`],
        mono && css['badge-mono'],
      )}
      title={title}
    >
      {icon && <Icon name={icon} size={12} />}
      {children}
    </span>
  )
}

const alertIcon = { danger: 'error', warn: 'alert', info: 'info', ok: 'check' } as const

/**
 * A message inside the page. A screen reader announces `danger` immediately, other tones after what
 * it is reading.
 */
export function Alert({
  tone,
  children,
  action,
  className,
}: {
  tone: keyof typeof alertIcon
  children: ReactNode
  action?: ReactNode
  className?: string
}) {
  return (
    <div
      className={cx(css['alert'], css[`alert-${tone}`], className)}
      role={tone === 'danger' ? 'alert' : 'status'}
    >
      <Icon name={alertIcon[tone]} />
      <div className="grow">{children}</div>
      {action}
    </div>
  )
}

/** Why an action failed, shown where it was started. Renders nothing without a text. */
export const Problem = ({ text }: { text: string | null | undefined }): ReactNode =>
  text !== null && text !== undefined && <Alert tone="danger">{text}</Alert>

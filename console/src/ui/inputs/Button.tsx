import type { AnchorHTMLAttributes, ButtonHTMLAttributes, ReactNode } from 'react'
import type { Verdict } from '#contract/rule.ts'
import css from './Button.module.css'
import { cx } from '../cx.ts'
import { Icon, type IconName, Spinner } from '../pictures/Icon.tsx'
import { Tooltip } from '../overlay/Tooltip.tsx'

interface Look {
  kind?: 'primary' | 'plain' | 'ghost' | 'danger' | 'danger-fill'
  size?: 'small' | 'medium' | 'large'
  icon?: IconName | undefined
  iconAfter?: IconName | undefined
}

const look = ({ kind = 'plain', size = 'medium' }: Look, more?: string) => cx(css['btn'], css[kind], css[size], more)

export interface ButtonProps extends Look, Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  /** Shows progress and ignores clicks. */
  busy?: boolean
  /** Label while busy. Specified default: "Loading". */
  busyText?: string
  /** A refusal disables the button and shows its reason as tooltip. */
  can?: Verdict | undefined
}

/** A button. Disabled ones stay focusable and say why: `aria-disabled`, never `disabled`. */
export function Button({ kind, size, icon, iconAfter, busy = false, busyText, can, className, children, onClick, type = 'button', ...rest }: ButtonProps) {
  const refused = can !== undefined && !can.ok
  const off = busy || refused
  const button = (
    <button
      {...rest}
      type={type}
      className={look({ ...(kind && { kind }), ...(size && { size }) }, className)}
      aria-disabled={refused || undefined}
      aria-busy={busy || undefined}
      onClick={(event) => (off ? event.preventDefault() : onClick?.(event))}
    >
      {busy ? <Spinner /> : icon && <Icon name={icon} />}
      {busy && busyText !== undefined ? busyText : children}
      {iconAfter && <Icon name={iconAfter} className={css['after']} />}
    </button>
  )
  // Always inside a Tooltip: a button that becomes disabled after a click stays the same element and keeps the focus.
  return <Tooltip text={refused ? can.reason : null}>{button}</Tooltip>
}

export interface ButtonLinkProps extends Look, AnchorHTMLAttributes<HTMLAnchorElement> {
  href: string
}

/** A link that looks like a button. */
export function ButtonLink({ kind, size, icon, iconAfter, className, children, ...rest }: ButtonLinkProps) {
  return (
    <a {...rest} className={look({ ...(kind && { kind }), ...(size && { size }) }, className)}>
      {icon && <Icon name={icon} />}
      {children}
      {iconAfter && <Icon name={iconAfter} className={css['after']} />}
    </a>
  )
}

export interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled' | 'children'> {
  icon: IconName
  /** Accessible name, also the tooltip. */
  label: string
  can?: Verdict | undefined
  size?: 'small' | 'medium'
  iconSize?: 12 | 16 | 20
}

export function IconButton({ icon, label, can, size = 'medium', iconSize, className, onClick, ...rest }: IconButtonProps) {
  const refused = can !== undefined && !can.ok
  return (
    <Tooltip text={refused ? can.reason : label} delay={refused ? 0 : 500}>
      <button
        {...rest}
        type="button"
        aria-label={label}
        aria-disabled={refused || undefined}
        className={cx(css['icon'], size === 'small' && css['icon-small'], className)}
        onClick={(event) => (refused ? event.preventDefault() : onClick?.(event))}
      >
        <Icon name={icon} {...(iconSize ? { size: iconSize } : size === 'small' ? { size: 12 as const } : {})} />
      </button>
    </Tooltip>
  )
}

export function IconLink({ icon, label, href, className, ...rest }: { icon: IconName; label: string; href: string } & AnchorHTMLAttributes<HTMLAnchorElement>) {
  return (
    <Tooltip text={label} delay={500}>
      <a {...rest} href={href} aria-label={label} className={cx(css['icon'], className)}>
        <Icon name={icon} />
      </a>
    </Tooltip>
  )
}

interface SegmentedProps<Value extends string> {
  label: string
  value: Value
  options: readonly { value: Value; text: ReactNode; can?: Verdict }[]
  onChange: (value: Value) => void
  size?: 'small' | 'medium'
}

/** A choice among few values, side by side. */
export function Segmented<Value extends string>({ label, value, options, onChange, size = 'small' }: SegmentedProps<Value>) {
  return (
    <span role="group" aria-label={label} className={cx(css['seg'], size === 'medium' && css['seg-medium'])}>
      {options.map((option) => {
        const refused = option.can !== undefined && !option.can.ok
        const button = (
          <button
            key={option.value}
            type="button"
            aria-pressed={option.value === value}
            aria-disabled={refused || undefined}
            onClick={() => !refused && onChange(option.value)}
          >
            {option.text}
          </button>
        )
        return refused ? (
          <Tooltip key={option.value} text={option.can?.ok === false ? option.can.reason : ''}>
            {button}
          </Tooltip>
        ) : (
          button
        )
      })}
    </span>
  )
}

export function Kbd({ children }: { children: ReactNode }) {
  return <kbd className={css['kbd']}>{children}</kbd>
}

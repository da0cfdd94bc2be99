import type { AnchorHTMLAttributes, ButtonHTMLAttributes, ReactNode } from 'react'
import type { Verdict } from '#contract/rule.ts'
import css from './Button.module.css'
import { cx } from '../cx.ts'
import { Icon, type IconName, Spinner } from '../pictures/Icon.tsx'
import { Tooltip } from '../overlay/Tooltip.tsx'

interface Look {
  kind?: 'primary' | 'plain' | 'ghost' | 'danger' | 'danger-fill' | undefined
  size?: 'small' | 'medium' | 'large' | undefined
  icon?: IconName | undefined
  iconAfter?: IconName | undefined
}

/** Why something is refused, or null. */
const reasonAgainst = (can: Verdict | undefined): string | null =>
  can?.ok === false ? can.reason : null

const look = ({ kind = 'plain', size = 'medium' }: Look, more?: string) =>
  cx(css['btn'], css[kind], css[size], more)

export interface ButtonProps
  extends Look, Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  /** Shows progress and ignores clicks. */
  busy?: boolean
  /** Label while busy. Specified default: "Loading". */
  busyText?: string
  /** A refusal disables the button and shows its reason as tooltip. */
  can?: Verdict | undefined
}

/**
 * A button. A disabled button stays focusable and shows the reason: `aria-disabled`, never
 * `disabled`.
 */
export function Button({
  kind,
  size,
  icon,
  iconAfter,
  busy = false,
  busyText,
  can,
  className,
  children,
  onClick,
  type = 'button',
  ...rest
}: ButtonProps) {
  const reason = reasonAgainst(can)
  const button = (
    <button
      {...rest}
      type={type}
      className={look({ kind, size }, className)}
      data-primary={kind === 'primary' || undefined}
      aria-disabled={reason !== null || undefined}
      aria-busy={busy || undefined}
      onClick={(event) => (busy || reason !== null ? event.preventDefault() : onClick?.(event))}
    >
      {busy ? <Spinner /> : icon && <Icon name={icon} />}
      {busy && busyText !== undefined ? busyText : children}
      {iconAfter && <Icon name={iconAfter} className={css['after']} />}
    </button>
  )
  // Always inside a Tooltip: a button that becomes disabled after a click stays the same element
  // and keeps the focus.
  return <Tooltip text={reason}>{button}</Tooltip>
}

export interface ButtonLinkProps extends Look, AnchorHTMLAttributes<HTMLAnchorElement> {
  href: string
}

/** A link that looks like a button. */
export function ButtonLink({
  kind,
  size,
  icon,
  iconAfter,
  className,
  children,
  ...rest
}: ButtonLinkProps) {
  return (
    <a
      {...rest}
      className={look({ kind, size }, className)}
      data-primary={kind === 'primary' || undefined}
    >
      {icon && <Icon name={icon} />}
      {children}
      {iconAfter && <Icon name={iconAfter} className={css['after']} />}
    </a>
  )
}

export interface IconButtonProps extends Omit<
  ButtonHTMLAttributes<HTMLButtonElement>,
  'disabled' | 'children'
> {
  icon: IconName
  /** Accessible name, also the tooltip. */
  label: string
  can?: Verdict | undefined
  size?: 'small' | 'medium' | undefined
  iconSize?: 12 | 16 | 20
}

export function IconButton({
  icon,
  label,
  can,
  size = 'medium',
  iconSize,
  className,
  onClick,
  ...rest
}: IconButtonProps) {
  const reason = reasonAgainst(can)
  return (
    <Tooltip text={reason ?? label} delay={reason === null ? 500 : 0}>
      <button
        {...rest}
        type="button"
        aria-label={label}
        aria-disabled={reason !== null || undefined}
        className={cx(css['icon'], size === 'small' && css['icon-small'], className)}
        onClick={(event) => (reason !== null ? event.preventDefault() : onClick?.(event))}
      >
        <Icon
          name={icon}
          {...(iconSize ? { size: iconSize } : size === 'small' ? { size: 12 as const } : {})}
        />
      </button>
    </Tooltip>
  )
}

export function IconLink({
  icon,
  label,
  href,
  className,
  ...rest
}: { icon: IconName; label: string; href: string } & AnchorHTMLAttributes<HTMLAnchorElement>) {
  return (
    <Tooltip text={label} delay={500}>
      <a {...rest} href={href} aria-label={label} className={cx(css['icon'], className)}>
        <Icon name={icon} />
      </a>
    </Tooltip>
  )
}

export function Kbd({ children }: { children: ReactNode }) {
  return <kbd className={css['kbd']}>{children}</kbd>
}

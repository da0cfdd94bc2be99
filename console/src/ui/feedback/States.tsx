import { type HTMLAttributes, type ReactNode, useEffect, useState } from 'react'
import { reasonOf } from '../../lib/reason.ts'
import { clock } from '../../lib/time/clock.ts'
import { Button } from '../inputs/Button.tsx'
import css from './States.module.css'
import { cx } from '../cx.ts'

/** An empty state with the next step as a button. */
export function Empty({
  title,
  text,
  actions,
  boxed = false,
}: {
  title: ReactNode
  text?: ReactNode
  actions?: ReactNode
  boxed?: boolean
}) {
  return (
    <div className={cx(css['empty'], boxed && css['boxed'])}>
      <h2 className="h2">{title}</h2>
      {text !== undefined && <p className="fs13 t2">{text}</p>}
      {actions !== undefined && <div className={css['actions']}>{actions}</div>}
    </div>
  )
}

interface LineProps extends HTMLAttributes<HTMLDivElement> {
  button: string
  onPress: (() => void) | undefined
}

/** A sentence, and a button for what to do next. */
const Line = ({ children, button, onPress, className, ...rest }: LineProps) => (
  <div {...rest} className={cx(css['line'], className)}>
    <span>{children}</span>
    {onPress && (
      <Button size="small" onClick={onPress}>
        {button}
      </Button>
    )}
  </div>
)

/** Nothing matches the filters. */
export const NoMatch = ({ what = 'Nothing', onReset }: { what?: string; onReset: () => void }) => (
  <Line button="Reset filters" onPress={onReset}>
    {what} matches these filters.
  </Line>
)

/** The page number is past the end of the list. */
export const PastEnd = ({ onFirst }: { onFirst: () => void }) => (
  <Line button="First page" onPress={onFirst}>
    The list ends before this page.
  </Line>
)

interface ErrorStateProps {
  error: unknown
  onRetry?: (() => void) | undefined
  boxed?: boolean
}

/** An error in one part of the page. */
export const ErrorState = ({ error, onRetry, boxed = false }: ErrorStateProps) => (
  <Line button="Try again" onPress={onRetry} className={cx(boxed && css['boxed'])} role="alert">
    <b>Something went wrong.</b> <span className="t2">{reasonOf(error)}</span>
  </Line>
)

/** True after `ms`, so that quick responses show no spinner or skeleton. */
export function useSlow(ms = 150): boolean {
  const [slow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), ms)
    return () => clearTimeout(timer)
  }, [ms])
  return slow
}

/** A placeholder bar, `width` in px or as CSS. */
export function Skeleton({
  width = 96,
  height = 10,
}: {
  width?: number | string
  height?: number
}) {
  return <span className={css['bone']} style={{ width, height }} />
}

/** A placeholder table while the first rows load, shown after 150 ms. */
export function SkeletonRows({
  rows = 8,
  widths = [120, 80, 90, 70, 110],
}: {
  rows?: number
  widths?: readonly number[]
}) {
  const slow = useSlow()
  return (
    <div className={css['rows']} aria-busy="true">
      <span className="sr">Loading…</span>
      {Array.from({ length: rows }, (_, r) => (
        <div key={r} className={css['bones']} style={{ visibility: slow ? 'visible' : 'hidden' }}>
          <Skeleton width={16} height={16} />
          {widths.map((w, c) => (
            <Skeleton
              key={c}
              width={Math.round(w * (0.72 + 0.28 * Math.abs(Math.sin(r * 3 + c))))}
            />
          ))}
        </div>
      ))}
    </div>
  )
}

/** A band above data that may be out of date. */
export function StaleBand({
  children,
  action,
  boxed = false,
}: {
  children: ReactNode
  action?: ReactNode
  boxed?: boolean
}) {
  return (
    <div className={cx(css['stale'], boxed && css['stale-boxed'])} role="status">
      <span>{children}</span>
      {action}
    </div>
  )
}

/** Says that the data is from `at` (ms since 1970) because a newer request failed, and why. */
export function Stale({
  at,
  error,
  onRetry,
}: {
  at: number
  error: unknown
  onRetry?: () => void
}) {
  return (
    <StaleBand
      action={
        onRetry && (
          <Button size="small" kind="ghost" icon="refresh" onClick={onRetry}>
            Try again
          </Button>
        )
      }
    >
      Shown as of {clock(new Date(at).toISOString())}. The last refresh failed: {reasonOf(error)}
    </StaleBand>
  )
}

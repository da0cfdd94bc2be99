import { Fragment, useEffect, useRef } from 'react'
import { resolveValue, toast, useToaster } from 'react-hot-toast/headless'
import { reasonOf } from '../../lib/reason.ts'
import { cx } from '../cx.ts'
import { Button, IconButton } from '../inputs/Button.tsx'
import { Icon } from '../pictures/Icon.tsx'
import css from './Toast.module.css'
import type { ToastOptions } from './toast.ts'

const icon = { ok: 'check', danger: 'error', info: 'info' } as const
const mostShown = 4
/** Duration in ms of the animation of a closing toast (`Toast.module.css`). */
const leavingMs = 150

/**
 * Shows a toast. Errors stay twice as long as other toasts.
 * @param onError called with the reason why the toast's action failed: its toast is closed by then
 */
export function raise(
  tone: keyof typeof icon,
  text: string,
  { undo, action, id }: ToastOptions,
  onError: (reason: string) => void,
): void {
  const act = undo === undefined ? action : { label: 'Undo', run: undo }
  const run = async (what: () => unknown) => {
    try {
      await what()
    } catch (error) {
      onError(reasonOf(error))
    }
  }
  toast.custom(
    (made) => (
      <li className={cx(css['toast'], css[tone])} data-state={made.visible ? 'open' : 'closed'}>
        <Icon name={icon[tone]} />
        <span className="grow">{text}</span>
        {act && (
          <Button
            kind="ghost"
            size="small"
            onClick={() => {
              toast.dismiss(made.id)
              void run(act.run)
            }}
          >
            {act.label}
          </Button>
        )}
        <IconButton icon="close" label="Dismiss" onClick={() => toast.dismiss(made.id)} />
      </li>
    ),
    {
      duration: tone === 'danger' ? 10_000 : 5_000,
      removeDelay: leavingMs,
      ...(id !== undefined && { id }),
    },
  )
}

export const takeOff = (id: string): void => toast.dismiss(id)

/**
 * The newest toasts, the newest at the bottom. No toast closes while the pointer or the focus is on
 * one, or while the window is hidden.
 */
export default function ToastView() {
  const { toasts, handlers } = useToaster()
  const region = useRef<HTMLElement>(null)
  const isPaused = useRef(false)
  const pause = () => {
    const held = document.hidden || region.current?.matches(':hover, :focus-within') === true
    if (held === isPaused.current) return
    isPaused.current = held
    if (held) handlers.startPause()
    else handlers.endPause()
  }
  useEffect(() => {
    pause()
    document.addEventListener('visibilitychange', pause)
    return () => document.removeEventListener('visibilitychange', pause)
  })
  return (
    <section
      ref={region}
      aria-label="Notices"
      aria-live="polite"
      aria-relevant="additions text"
      data-toasts=""
      onPointerEnter={pause}
      onPointerLeave={pause}
      onFocus={pause}
      onBlur={pause}
    >
      <ol className={css['toaster']}>
        {toasts.slice(0, mostShown).map((made) => (
          <Fragment key={made.id}>{resolveValue(made.message, made)}</Fragment>
        ))}
      </ol>
    </section>
  )
}

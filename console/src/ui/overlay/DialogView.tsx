import { Dialog } from 'radix-ui'
import { type MouseEvent, useEffect, useRef } from 'react'
import { Button, IconButton } from '../inputs/Button.tsx'
import { cx } from '../cx.ts'
import type { ShapeProps } from './Dialog.tsx'
import { defaultButtons } from './dialogs.ts'
import css from './Dialog.module.css'
import { useDragAway } from './use-drag-away.ts'

const typed =
  'input:enabled:not([type="checkbox"], [type="radio"], [type="file"], [hidden]), textarea:enabled, select:enabled'

/**
 * Initial focus of a centred dialog. A form: its first field, with the text selected. A question:
 * the closing button, so that an accidental Enter does no harm. Other dialogs: the dialog itself.
 * Never the close icon.
 */
const firstOf = (dialog: HTMLElement): HTMLElement =>
  dialog.querySelector<HTMLElement>(typed) ??
  dialog.querySelector<HTMLElement>('[data-way-out]') ??
  dialog

/**
 * A bottom sheet itself gets the initial focus instead of a field, so that no on-screen keyboard
 * opens on a phone.
 */
const begin = (sheet: boolean) => (event: Event) => {
  const dialog = event.currentTarget
  if (!(dialog instanceof HTMLElement)) return
  event.preventDefault()
  const first = sheet ? dialog : firstOf(dialog)
  first.focus({ preventScroll: true })
  if (first instanceof HTMLInputElement) first.select()
}

/** The open popover, such as the one with a form's CLI command; null if no popover is open. */
const popover = () => document.querySelector<HTMLElement>('[popover="auto"]:popover-open')

/** A pointer or key event that would close the dialog, from React or a library. */
type Closing = Pick<Event, 'preventDefault' | 'target'>

/**
 * Events that don't close a dialog: any event while the dialog is `locked`; Escape or a click
 * outside if it closes a popover in the dialog; a click on a toast; a click outside after the user
 * has typed, because the click may be accidental. Even then Escape, the close icon and Cancel close
 * the dialog.
 */
function useHold(open: boolean, locked: boolean) {
  const typed = useRef(false)
  useEffect(() => {
    if (!open) typed.current = false
  }, [open])
  return {
    onInput: () => {
      typed.current = true
    },
    onEscapeKeyDown: (event: Closing) => {
      const above = popover()
      above?.hidePopover()
      if (locked || above !== null) event.preventDefault()
    },
    onPointerDownOutside: (event: Closing) => {
      const toast =
        event.target instanceof Element && event.target.closest('[data-toasts]') !== null
      if (locked || typed.current || toast || popover() !== null) event.preventDefault()
    },
  }
}

/** For the backdrop: a click there doesn't take the focus out of the dialog. */
const keepFocus = (event: MouseEvent): void => {
  if (event.target === event.currentTarget) event.preventDefault()
}

export default function DialogView({
  sheet,
  open,
  onClose,
  title,
  footer,
  width,
  locked = false,
  children,
  onCloseAutoFocus,
}: ShapeProps) {
  const hold = useHold(open, locked)
  const drag = useDragAway('bottom', onClose)
  const content = (
    <Dialog.Content
      className={cx(css['dialog'], sheet && css['sheet'])}
      style={sheet ? undefined : { width }}
      aria-describedby={undefined}
      onOpenAutoFocus={begin(sheet)}
      onCloseAutoFocus={onCloseAutoFocus}
      {...hold}
      {...(sheet && !locked && drag)}
    >
      {sheet && <span className={css['grip']} aria-hidden="true" />}
      <header className={css['head']}>
        <Dialog.Title asChild>
          <h2>{title}</h2>
        </Dialog.Title>
        <IconButton
          icon="close"
          label="Close"
          can={
            locked
              ? { ok: false, reason: 'Wait until the current request has finished' }
              : undefined
          }
          onClick={onClose}
        />
      </header>
      <div className={css['body']} data-no-drag="">
        {children}
      </div>
      <footer className={css['foot']}>
        {footer ?? (
          <Button kind="primary" data-way-out="" onClick={onClose}>
            {defaultButtons.ok}
          </Button>
        )}
      </footer>
    </Dialog.Content>
  )
  return (
    <Dialog.Root open={open} onOpenChange={(to) => !to && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={css['scrim']} onMouseDown={keepFocus} />
        {sheet ? (
          content
        ) : (
          <div className={css['centre']} role="presentation" onMouseDown={keepFocus}>
            {content}
          </div>
        )}
      </Dialog.Portal>
    </Dialog.Root>
  )
}

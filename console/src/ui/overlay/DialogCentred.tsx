import { Dialog } from 'radix-ui'
import { IconButton } from '../inputs/Button.tsx'
import type { ShapeProps } from './Dialog.tsx'
import css from './Dialog.module.css'
import { keepFocus, useHold } from './use-hold.ts'

const typed = 'input:enabled:not([type="checkbox"], [type="radio"], [type="file"], [hidden]), textarea:enabled, select:enabled'

/**
 * Initial focus. A form: its first field, with the text selected. A question: the closing button,
 * so that an accidental Enter does no harm. Other dialogs: the dialog itself. Never the close icon.
 */
function begin(event: Event): void {
  const dialog = event.currentTarget
  if (!(dialog instanceof HTMLElement)) return
  event.preventDefault()
  const first = dialog.querySelector<HTMLElement>(typed) ?? dialog.querySelector<HTMLElement>('[data-way-out]') ?? dialog
  first.focus({ preventScroll: true })
  if (first instanceof HTMLInputElement) first.select()
}

export default function DialogCentred({ open, onClose, title, footer, width, locked = false, children, onCloseAutoFocus }: ShapeProps) {
  const hold = useHold(open, locked)
  return (
    <Dialog.Root open={open} onOpenChange={(to) => !to && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={css['scrim']} onMouseDown={keepFocus} />
        <div className={css['centre']} role="presentation" onMouseDown={keepFocus}>
          <Dialog.Content
            className={css['dialog']}
            style={{ width }}
            aria-describedby={undefined}
            onOpenAutoFocus={begin}
            onCloseAutoFocus={onCloseAutoFocus}
            {...hold}
          >
            <header className={css['head']}>
              <Dialog.Title asChild>
                <h2>{title}</h2>
              </Dialog.Title>
              <IconButton icon="close" label="Close" can={locked ? { ok: false, reason: 'Wait until this has been answered' } : undefined} onClick={onClose} />
            </header>
            <div className={css['body']}>{children}</div>
            {footer !== undefined && <footer className={css['foot']}>{footer}</footer>}
          </Dialog.Content>
        </div>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

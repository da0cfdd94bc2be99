import { Dialog } from 'radix-ui'
import { IconButton } from './Button.tsx'
import type { ShapeProps } from './Dialog.tsx'
import css from './Dialog.module.css'

/** A form is there to be filled in: its first field has the focus, and what stands in it can be typed over. Where nothing is to be typed, Radix takes the first control. */
function toFirstField(event: Event): void {
  const field = event.currentTarget instanceof HTMLElement && event.currentTarget.querySelector<HTMLElement>(typed)
  if (!field) return
  event.preventDefault()
  field.focus()
  if (field instanceof HTMLInputElement) field.select()
}
const typed = 'input:enabled:not([type="checkbox"], [type="radio"], [type="file"], [hidden]), textarea:enabled, select:enabled'

export default function DialogCentred({ open, onClose, title, footer, width, locked = false, children, onCloseAutoFocus }: ShapeProps) {
  const hold = (event: Event) => locked && event.preventDefault()
  return (
    <Dialog.Root open={open} onOpenChange={(to) => !to && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={css['scrim']} />
        <div className={css['centre']}>
          <Dialog.Content
            className={css['dialog']}
            style={{ width }}
            aria-describedby={undefined}
            onOpenAutoFocus={toFirstField}
            onCloseAutoFocus={onCloseAutoFocus}
            onEscapeKeyDown={hold}
            onPointerDownOutside={(event) => (locked || (event.target as Element).closest('[data-sonner-toaster]')) && event.preventDefault()}
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

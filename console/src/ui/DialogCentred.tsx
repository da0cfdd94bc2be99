import { Dialog } from 'radix-ui'
import { IconButton } from './Button.tsx'
import type { ShapeProps } from './Dialog.tsx'
import css from './Dialog.module.css'

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

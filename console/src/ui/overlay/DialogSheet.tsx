import { Drawer } from 'vaul'
import { IconButton } from '../inputs/Button.tsx'
import type { ShapeProps } from './Dialog.tsx'
import css from './Dialog.module.css'
import { cx } from '../cx.ts'
import { keepFocus, useHold } from './use-hold.ts'

export default function DialogSheet({ open, onClose, title, footer, locked = false, children, onCloseAutoFocus }: ShapeProps) {
  const hold = useHold(open, locked)
  return (
    <Drawer.Root open={open} onOpenChange={(to) => !to && onClose()} dismissible={!locked} closeThreshold={0.25} repositionInputs={false}>
      <Drawer.Portal>
        <Drawer.Overlay className={css['scrim-sheet']} onMouseDown={keepFocus} />
        <Drawer.Content
          className={cx(css['dialog'], css['sheet'])}
          aria-describedby={undefined}
          // vaul leaves the focus outside, so Tab would walk the page behind. The sheet itself gets it, so that no keyboard opens on a phone.
          onOpenAutoFocus={(event) => event.currentTarget instanceof HTMLElement && event.currentTarget.focus()}
          onCloseAutoFocus={onCloseAutoFocus}
          {...hold}
        >
          <span className={css['grip']} aria-hidden="true" />
          <header className={css['head']}>
            <Drawer.Title asChild>
              <h2>{title}</h2>
            </Drawer.Title>
            <IconButton icon="close" label="Close" onClick={onClose} />
          </header>
          <div className={css['body']} data-vaul-no-drag="">
            {children}
          </div>
          {footer !== undefined && <footer className={css['foot']}>{footer}</footer>}
        </Drawer.Content>
      </Drawer.Portal>
    </Drawer.Root>
  )
}

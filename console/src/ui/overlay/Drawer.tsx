import { Dialog } from 'radix-ui'
import type { ReactNode } from 'react'
import css from './Drawer.module.css'
import { useDragAway } from './use-drag-away.ts'

interface DrawerProps {
  open: boolean
  onClose: () => void
  /** Accessible name. */
  label: string
  children: ReactNode
}

/** A panel that slides in from the left in 0.5 s and closes when dragged a quarter of its width. */
export default function Drawer({ open, onClose, label, children }: DrawerProps) {
  const drag = useDragAway('left', onClose)
  return (
    <Dialog.Root open={open} onOpenChange={(to) => !to && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={css['scrim']} />
        <Dialog.Content className={css['drawer']} aria-describedby={undefined} {...drag}>
          <Dialog.Title className="sr">{label}</Dialog.Title>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

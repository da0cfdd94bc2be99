import { Dialog } from 'radix-ui'
import { cx } from '../cx.ts'
import type { DrawerProps } from './Drawer.tsx'
import css from './Drawer.module.css'
import { useDragAway } from './use-drag-away.ts'

export default function DrawerView({ open, onClose, label, side = 'left', children }: DrawerProps) {
  const drag = useDragAway(side, onClose)
  return (
    <Dialog.Root open={open} onOpenChange={(to) => !to && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={css['scrim']} />
        <Dialog.Content className={cx(css['drawer'], css[side])} aria-describedby={undefined} {...drag}>
          <Dialog.Title className="sr">{label}</Dialog.Title>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

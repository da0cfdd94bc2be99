import { Drawer } from 'vaul'
import type { DrawerProps } from './Drawer.tsx'
import css from './Drawer.module.css'
import { cx } from '../cx.ts'

export default function DrawerView({ open, onClose, label, side = 'left', children }: DrawerProps) {
  return (
    <Drawer.Root open={open} onOpenChange={(to) => !to && onClose()} direction={side} closeThreshold={0.25} repositionInputs={false}>
      <Drawer.Portal>
        <Drawer.Overlay className={css['scrim']} />
        <Drawer.Content className={cx(css['drawer'], css[side])} aria-describedby={undefined}>
          <Drawer.Title className="sr">{label}</Drawer.Title>
          {children}
        </Drawer.Content>
      </Drawer.Portal>
    </Drawer.Root>
  )
}

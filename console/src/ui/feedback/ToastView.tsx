import { useEffect } from 'react'
import { Toaster, toast } from 'sonner'
import { Button, IconButton } from '../inputs/Button.tsx'
import { cx } from '../cx.ts'
import { Icon } from '../pictures/Icon.tsx'
import type { ToastOptions } from './toast.ts'
import css from './Toast.module.css'

const icon = { ok: 'check', danger: 'error', info: 'info' } as const

/** sonner drops toasts before its Toaster has mounted. They are kept here until then. */
const early: (() => void)[] = []
let standing = false

export function raise(...toast: Parameters<typeof put>): void {
  if (standing) put(...toast)
  else early.push(() => put(...toast))
}

/** Errors stay twice as long as other toasts. Duration in ms. */
function put(tone: keyof typeof icon, text: string, { undo, action, id }: ToastOptions): void {
  const act = undo === undefined ? action : { label: 'Undo', run: undo }
  toast.custom(
    (made) => (
      <div className={cx(css['toast'], css[tone])}>
        <Icon name={icon[tone]} />
        <span className="grow">{text}</span>
        {act && (
          <Button
            kind="ghost"
            size="small"
            onClick={() => {
              toast.dismiss(made)
              act.run()
            }}
          >
            {act.label}
          </Button>
        )}
        <IconButton icon="close" label="Dismiss" onClick={() => toast.dismiss(made)} />
      </div>
    ),
    { duration: tone === 'danger' ? 10_000 : 5_000, unstyled: true, ...(id !== undefined && { id }) },
  )
}

export const takeOff = (id: string): void => void toast.dismiss(id)

export default function ToastView() {
  useEffect(() => {
    standing = true
    for (const raiseNow of early.splice(0)) raiseNow()
    return () => {
      standing = false
    }
  }, [])
  return (
    <Toaster
      position="bottom-right"
      expand
      offset={{ bottom: 40, right: 24 }}
      mobileOffset={{ bottom: 36, left: 16, right: 16 }}
      gap={8}
      visibleToasts={4}
      className={css['toaster'] ?? ''}
      containerAriaLabel="Notices"
    />
  )
}

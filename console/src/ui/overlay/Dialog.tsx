import type { ReactNode } from 'react'
import { onceOpened } from '../part.tsx'
import { useMedia } from '../../lib/use-media.ts'
import { useDialog } from './dialogs.ts'
import { useFocusBack } from './focus-back.ts'

export interface DialogProps {
  title: ReactNode
  /**
   * Buttons, right-aligned; on a sheet they share the width. Default: one button "OK", which closes
   * the dialog.
   */
  footer?: ReactNode
  /** CSS width of the centred dialog. Default: 27.5rem. */
  width?: string | undefined
  /** Prevents closing by Escape or by a click outside, for instance while a request is running. */
  locked?: boolean
  children?: ReactNode
}

export interface ShapeProps extends DialogProps {
  /** Shown at the bottom of a narrow screen instead of centred. */
  sheet: boolean
  open: boolean
  onClose: () => void
  onCloseAutoFocus: (event: Event) => void
}

const View = onceOpened(() => import('./DialogView.tsx'))

/**
 * The frame of a dialog that `dialog()` opened: centred on wide screens, a bottom sheet at or below
 * `sm`. The focus moves in, stays inside, and returns when the dialog closes. A click outside
 * doesn't discard typed input.
 */
export function Dialog(props: DialogProps) {
  const { open, close } = useDialog()
  const narrow = useMedia('upto', 'sm')
  const onCloseAutoFocus = useFocusBack(open)
  return (
    <View
      {...props}
      open={open}
      onClose={() => close()}
      sheet={narrow}
      onCloseAutoFocus={onCloseAutoFocus}
    />
  )
}

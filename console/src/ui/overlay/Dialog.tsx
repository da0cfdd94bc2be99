import { lazy, type ReactNode, Suspense, useState } from 'react'
import { patiently } from '../../lib/code.ts'
import { useMedia } from '../../lib/use-media.ts'
import { useFocusBack } from './focus-back.ts'

export interface DialogProps {
  open: boolean
  onClose: () => void
  title: ReactNode
  /** Buttons, right-aligned; on a bottom sheet they share the width. */
  footer?: ReactNode
  /** CSS width of the centred dialog. Default: 27.5rem. */
  width?: string
  /** Prevents closing with Escape or a click outside, for instance during a request. */
  locked?: boolean
  children?: ReactNode
}

export interface ShapeProps extends DialogProps {
  /** At the bottom of a narrow screen, instead of centred. */
  sheet: boolean
  onCloseAutoFocus: (event: Event) => void
}

const View = lazy(patiently(() => import('./DialogView.tsx')))

/** A dialog: centred on wide screens, a bottom sheet up to `sm`. Its code loads when first opened. It traps and returns the focus, and a click outside doesn't discard typed input. */
export function Dialog(props: DialogProps) {
  const narrow = useMedia('upto', 'sm')
  const [wanted, setWanted] = useState(false)
  if (props.open && !wanted) setWanted(true)
  const onCloseAutoFocus = useFocusBack(props.open)
  return wanted ? (
    <Suspense fallback={null}>
      <View {...props} sheet={narrow} onCloseAutoFocus={onCloseAutoFocus} />
    </Suspense>
  ) : null
}

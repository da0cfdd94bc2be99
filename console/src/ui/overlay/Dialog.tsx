import { lazy, type ReactNode, Suspense, useState } from 'react'
import { patiently } from '../../lib/code.ts'
import { useMedia } from '../../lib/use-media.ts'
import { useFocusBack } from './focus-back.ts'

export interface DialogProps {
  open: boolean
  onClose: () => void
  title: ReactNode
  /** Buttons, right-aligned; on a sheet they share the width. */
  footer?: ReactNode
  /** CSS width of the centred dialog; 27.5rem unless told otherwise. */
  width?: string
  /** No closing by Escape or by a click outside, such as while something is being sent. */
  locked?: boolean
  children?: ReactNode
}

/** What the two shapes of a dialog get besides. */
export interface ShapeProps extends DialogProps {
  onCloseAutoFocus: (event: Event) => void
}

const Centred = lazy(patiently(() => import('./DialogCentred.tsx')))
const Sheet = lazy(patiently(() => import('./DialogSheet.tsx')))

/** Centred on wide screens, a bottom sheet at or below `sm`. Fetched when first opened; focus goes in, stays in, and comes back; what was typed is not lost by a press beside it. */
export function Dialog(props: DialogProps) {
  const narrow = useMedia('upto', 'sm')
  const [wanted, setWanted] = useState(false)
  if (props.open && !wanted) setWanted(true)
  const onCloseAutoFocus = useFocusBack(props.open)
  if (!wanted) return null
  const all = { ...props, onCloseAutoFocus }
  return <Suspense fallback={null}>{narrow ? <Sheet {...all} /> : <Centred {...all} />}</Suspense>
}

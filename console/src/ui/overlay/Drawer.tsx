import { lazy, type ReactNode, Suspense, useState } from 'react'

export interface DrawerProps {
  open: boolean
  onClose: () => void
  /** Accessible name. */
  label: string
  side?: 'left' | 'right'
  children: ReactNode
}

const View = lazy(() => import('./DrawerView.tsx'))

/** A panel that slides in from the side in 0.5 s and closes when dragged a quarter of its width. Its code loads when first opened. */
export function Drawer(props: DrawerProps) {
  const [wanted, setWanted] = useState(false)
  if (props.open && !wanted) setWanted(true)
  return wanted ? (
    <Suspense fallback={null}>
      <View {...props} />
    </Suspense>
  ) : null
}

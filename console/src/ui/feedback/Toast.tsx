import { lazy, Suspense } from 'react'
import { useStore } from '../../lib/store.ts'
import { toastsWanted } from './toast.ts'

const View = lazy(() => import('./ToastView.tsx'))

/** Where toasts appear. Stands once, in the layout; empty and weightless until the first one. */
export function ToastHost() {
  return useStore(toastsWanted) ? (
    <Suspense fallback={null}>
      <View />
    </Suspense>
  ) : null
}

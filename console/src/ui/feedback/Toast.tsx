import { lazy, Suspense } from 'react'
import { useStore } from '../../lib/store.ts'
import { toastsWanted } from './toast.ts'

const View = lazy(() => import('./ToastView.tsx'))

/** Container of toasts, once in the layout. Loads its code with the first toast. */
export function ToastHost() {
  return useStore(toastsWanted) ? (
    <Suspense fallback={null}>
      <View />
    </Suspense>
  ) : null
}

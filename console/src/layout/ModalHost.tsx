import { useRouter } from '@tanstack/react-router'
import { type ComponentType, Suspense, useEffect } from 'react'
import { useStore } from '../lib/store.ts'
import { asked } from '../ui/actions.ts'
import { type ModalName, modalOrder, type ModalProps, modals, modalStore, shownModal } from './modals.ts'
import { modalViews } from './modal-views.ts'

/** The global dialogs, at most one at a time. */
export function ModalHost() {
  const state = useStore(modalStore)
  const shown = shownModal(state)
  const router = useRouter()
  useEffect(() => {
    // A dialog about a page closes with it, also on the browser's Back and at the end of the session.
    const leave = () => {
      modals.closeAll()
      asked.get()?.answer(false)
    }
    const stop = router.subscribe('onResolved', ({ pathChanged }) => pathChanged && leave())
    return () => {
      stop()
      leave()
    }
  }, [router])
  return modalOrder.map((name) => {
    const View = modalViews[name] as ComponentType<ModalProps<ModalName>> | undefined
    const modal = state[name]
    if (View === undefined || modal === undefined) return null
    return (
      <Suspense key={name} fallback={null}>
        <View open={modal.open && name === shown} data={modal.data} onConfirm={modal.onConfirm} close={() => modals.close(name)} />
      </Suspense>
    )
  })
}

import { type ComponentType, Suspense } from 'react'
import { useStore } from '../lib/store.ts'
import { type ModalName, modalOrder, type ModalProps, modals, modalStore, shownModal } from './modals.ts'
import { modalViews } from './modal-views.ts'

/** The global dialogs, at most one at a time. */
export function ModalHost() {
  const state = useStore(modalStore)
  const shown = shownModal(state)
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

import { createStore } from '../lib/store.ts'

/** Data of each global dialog. */
export interface ModalData {
  showClusterKey: { clusterIds: string[] }
  editServerName: { serverId: string; name: string }
  confirmServersWithoutPatch: { servers: { id: string; name: string; address?: string }[] }
}
export type ModalName = keyof ModalData

export interface ModalState<Name extends ModalName = ModalName> {
  open: boolean
  data: ModalData[Name]
  onConfirm: (() => unknown) | undefined
}

/** Props of a dialog's view. */
export interface ModalProps<Name extends ModalName> {
  open: boolean
  data: ModalData[Name]
  onConfirm: (() => unknown) | undefined
  close: () => void
}

export type Modals = { [Name in ModalName]?: ModalState<Name> }

/** Priority if several are open: the specification's order. */
export const modalOrder: readonly ModalName[] = ['showClusterKey', 'editServerName', 'confirmServersWithoutPatch']

/** How long a closed dialog keeps its data, in ms, for its closing animation. */
const resetMs = 300

export const modalStore = createStore<Modals>({})

/** The dialog that is shown: the first open one in the specified order. */
export const shownModal = (modals: Modals): ModalName | null => modalOrder.find((name) => modals[name]?.open) ?? null

const patch = <Name extends ModalName>(name: Name, state: ModalState<Name> | undefined) => modalStore.set((now) => ({ ...now, [name]: state }))

export const modals = {
  open<Name extends ModalName>(name: Name, data: ModalData[Name], { onConfirm }: { onConfirm?: () => unknown } = {}): void {
    patch(name, { open: true, data, onConfirm })
  },
  /** Closes a dialog. Its data and callbacks are dropped a moment later. */
  close(name: ModalName): void {
    const state = modalStore.get()[name]
    if (!state?.open) return
    modalStore.set((now) => ({ ...now, [name]: { ...state, open: false } }))
    setTimeout(() => {
      if (modalStore.get()[name]?.open === false) patch(name, undefined)
    }, resetMs)
  },
  /** Called on navigation and when the session ends. */
  closeAll(): void {
    for (const name of modalOrder) modals.close(name)
  },
}

import { createStore } from '../lib/store.ts'

/** What each of the global dialogs is opened with. */
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

/** What a dialog's view is given. */
export interface ModalProps<Name extends ModalName> {
  open: boolean
  data: ModalData[Name]
  onConfirm: (() => unknown) | undefined
  close: () => void
}

export type Modals = { [Name in ModalName]?: ModalState<Name> }

/** Which of several is shown: the specification's order. */
export const modalOrder: readonly ModalName[] = ['showClusterKey', 'editServerName', 'confirmServersWithoutPatch']

/** How long a closed dialog keeps its data, in ms, so that it can go away in one piece. */
const resetMs = 300

export const modalStore = createStore<Modals>({})

/** The one that is shown: the first open one in the specified order. */
export const shownModal = (modals: Modals): ModalName | null => modalOrder.find((name) => modals[name]?.open) ?? null

const patch = <Name extends ModalName>(name: Name, state: ModalState<Name> | undefined) => modalStore.set((now) => ({ ...now, [name]: state }))

export const modals = {
  open<Name extends ModalName>(name: Name, data: ModalData[Name], { onConfirm }: { onConfirm?: () => unknown } = {}): void {
    patch(name, { open: true, data, onConfirm })
  },
  /** Closes it; its data and callbacks go a moment later. */
  close(name: ModalName): void {
    const state = modalStore.get()[name]
    if (!state?.open) return
    modalStore.set((now) => ({ ...now, [name]: { ...state, open: false } }))
    setTimeout(() => {
      if (modalStore.get()[name]?.open === false) patch(name, undefined)
    }, resetMs)
  },
  /** For when another page is shown, or nobody is signed in any more. */
  closeAll(): void {
    for (const name of modalOrder) modals.close(name)
  },
}

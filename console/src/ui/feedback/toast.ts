import { createStore } from '../../lib/store.ts'

/** True from the first toast on: until then nothing of it is fetched. */
export const toastsWanted = createStore(false)

export interface ToastOptions {
  /** What can be undone has it here. */
  undo?: () => unknown
  /** Another thing to do about it. */
  action?: { label: string; run: () => unknown }
  /** The same id replaces what is shown: a notice that many calls cause appears once. */
  id?: string
}

/** The id of the one error that is shown, while there is such a one. */
let onlyError: string | null = null

async function show(tone: 'ok' | 'danger' | 'info', text: string, options: ToastOptions = {}): Promise<void> {
  if (tone === 'danger' && onlyError !== null && options.id !== onlyError) return
  const { raise } = await import('./ToastView.tsx')
  toastsWanted.set(true)
  raise(tone, text, options)
}

async function dismiss(id: string): Promise<void> {
  if (!toastsWanted.get()) return
  const { takeOff } = await import('./ToastView.tsx')
  takeOff(id)
}

/** Results that come after one has left the place. Errors of a form stay in the form. */
export const toast = {
  success: (text: string, options?: ToastOptions): void => void show('ok', text, options),
  error: (text: string, options?: ToastOptions): void => void show('danger', text, options),
  /**
   * An error that says why everything else fails, once: the failures of what is under way add nothing to it and are not shown until `hearErrors`.
   */
  lastError: (text: string, id: string): void => {
    onlyError = id
    void show('danger', text, { id })
  },
  hearErrors: (): void => {
    onlyError = null
  },
  info: (text: string, options?: ToastOptions): void => void show('info', text, options),
  /** Takes one off that is no longer true. */
  dismiss: (id: string): void => void dismiss(id),
}

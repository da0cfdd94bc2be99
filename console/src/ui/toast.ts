import { createStore } from '../lib/store.ts'

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

async function show(tone: 'ok' | 'danger' | 'info', text: string, options: ToastOptions = {}): Promise<void> {
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
  info: (text: string, options?: ToastOptions): void => void show('info', text, options),
  /** Takes one off that is no longer true. */
  dismiss: (id: string): void => void dismiss(id),
}

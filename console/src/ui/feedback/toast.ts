import { patiently } from '../../lib/code/retries.ts'
import { createStore } from '../../lib/store.ts'

const load = patiently(async () => {
  const { raise, takeOff } = await import('./ToastView.tsx')
  return { raise, takeOff }
})

/** Becomes true with the first toast. The code of toasts is loaded then. */
export const toastsWanted = createStore(false)

export interface ToastOptions {
  /** Undoes the action. */
  undo?: () => unknown
  /** A further action. */
  action?: { label: string; run: () => unknown }
  /** A toast with the same id replaces this one, so a notice caused by many calls appears once. */
  id?: string
}

/**
 * Id of the error shown by `lastError`; null if there is none. While this is set, errors with other
 * ids are not shown.
 */
let onlyError: string | null = null

async function show(
  tone: 'ok' | 'danger' | 'info',
  text: string,
  options: ToastOptions = {},
): Promise<void> {
  if (tone === 'danger' && onlyError !== null && options.id !== onlyError) return
  const { raise } = await load()
  toastsWanted.set(true)
  raise(tone, text, options, toast.error)
}

async function dismiss(id: string): Promise<void> {
  if (!toastsWanted.get()) return
  const { takeOff } = await load()
  takeOff(id)
}

/** For results that arrive after the user has left the form. A form shows its own errors. */
export const toast = {
  success: (text: string, options?: ToastOptions): void => void show('ok', text, options),
  error: (text: string, options?: ToastOptions): void => void show('danger', text, options),
  /**
   * Shows an error that explains all following errors, which are not shown until `hearErrors` is
   * called.
   */
  lastError: (text: string, id: string): void => {
    onlyError = id
    void show('danger', text, { id })
  },
  hearErrors: (): void => {
    onlyError = null
  },
  info: (text: string, options?: ToastOptions): void => void show('info', text, options),
  /** Removes a toast whose message no longer applies. */
  dismiss: (id: string): void => void dismiss(id),
}

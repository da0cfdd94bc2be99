import { createContext, useContext } from 'react'

/** For components in a dialog: whether the dialog is shown, and a function that closes it. */
export interface DialogScope {
  open: boolean
  close: (answer?: unknown) => void
}

/** Provided by the host, or by a page whose URL says that a dialog is open. */
export const DialogContext = createContext<DialogScope | null>(null)

export function useDialog(): DialogScope {
  const scope = useContext(DialogContext)
  if (scope === null) throw new Error('A dialog must be inside a DialogContext')
  return scope
}

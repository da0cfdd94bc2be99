import { type ComponentType, createElement, type ReactElement } from 'react'
import { createStore } from '../../lib/store.ts'
import { part } from '../part.tsx'
import { MissingDialog } from './MissingDialog.tsx'

export { DialogContext, useDialog } from './dialog-scope.ts'

/**
 * A dialog that was opened. After closing, it stays in the list for a moment, so that it can fade
 * out with its data.
 */
export interface OpenedDialog {
  id: number
  element: ReactElement
  open: boolean
  rank: number
}

/** Labels of a dialog's buttons unless the dialog sets others. Specified. */
export const defaultButtons = { ok: 'OK', cancel: 'Cancel' } as const

/** Every dialog that is open or fading out; `DialogHost` renders them. */
export const openedDialogs = createStore<readonly OpenedDialog[]>([])

/** How long a closed dialog keeps its data, in ms. Specified: "after a short delay". */
const resetMs = 300

/**
 * The default rank. Dialogs of the lowest rank are shown first; among dialogs of equal rank, the
 * one opened last.
 */
const ordinary = 9

let lastId = 0
/** Id of the dialog that was opened last. */
export const lastDialogId = (): number => lastId
const answers = new Map<number, (answer: unknown) => void>()

/**
 * Declares a dialog and returns the function that opens it. The dialog's code is loaded at the
 * first opening. The promise resolves to the answer with which the dialog was closed, or to
 * undefined if the dialog was dismissed or the user left its page.
 */
export function dialog<Props extends object | undefined = undefined, Answer = void>(
  load: () => Promise<{ default: ComponentType<NonNullable<Props>> }>,
  rank = ordinary,
): (...props: Props extends object ? [Props] : []) => Promise<Answer | undefined> {
  const View: ComponentType<NonNullable<Props>> = part<NonNullable<Props>>(load, MissingDialog)
  return (...[props]) =>
    new Promise((resolve) => {
      for (const same of openedDialogs.get()) if (same.element.type === View) closeDialog(same.id)
      lastId += 1
      answers.set(lastId, resolve as (answer: unknown) => void)
      openedDialogs.set((now) => [
        ...now.filter((one) => one.element.type !== View),
        {
          id: lastId,
          element: createElement(View, (props ?? {}) as NonNullable<Props>),
          open: true,
          rank,
        },
      ])
    })
}

/** The dialog that is shown; null while none is open. */
export function shownDialog(opened: readonly OpenedDialog[]): OpenedDialog | null {
  const open = opened.filter((one) => one.open)
  const first = Math.min(...open.map((one) => one.rank))
  return open.findLast((one) => one.rank === first) ?? null
}

/** Closes a dialog with its answer. The dialog's data is removed a moment later. */
export function closeDialog(id: number, answer?: unknown): void {
  openedDialogs.set((now) => now.map((one) => (one.id === id ? { ...one, open: false } : one)))
  answers.get(id)?.(answer)
  answers.delete(id)
  setTimeout(() => openedDialogs.set((now) => now.filter((one) => one.id !== id)), resetMs)
}

/** Closes all dialogs, after another page is shown or the session has ended. */
export function closeDialogs(): void {
  for (const { id, open } of openedDialogs.get()) if (open) closeDialog(id)
}

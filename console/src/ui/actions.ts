import { all, type Verdict } from '#contract/rule.ts'
import { createStore } from '../lib/store.ts'
import type { IconName } from './pictures/Icon.tsx'

/** Something that can be done: one list of these makes buttons, the row menu, the bulk bar and the commands of ⌘K. */
export interface Action {
  label: string
  icon?: IconName
  /** Said quietly beside it. */
  hint?: string
  danger?: boolean
  /** A no disables it, with the reason in sight. Absent: it may be done. */
  can?: Verdict
  /** Either does something… */
  run?: () => unknown
  /** …or leads somewhere. */
  to?: string
}

/** The first no of several verdicts: "may you" and "does the object allow it". */
export const both = all

export interface Confirmation {
  title: string
  text: React.ReactNode
  /** Verb of the button; the word of the title where it is left out. */
  label?: string
  /** Of the way out, where "Cancel" could be read as the deed itself. */
  out?: string
  danger?: boolean
  /** Where data is lost: this has to be typed first. */
  typed?: string
  /** Done on confirmation; the dialog shows that it is busy, and the error if it fails. */
  act?: () => unknown
}

interface Asked extends Confirmation {
  answer: (yes: boolean) => void
}

/** What is being asked now; the host in the layout shows it. */
export const asked = createStore<Asked | null>(null)

/** Asks in a dialog. Resolves to true once confirmed and, if there is an `act`, done; false if it was closed. */
export const confirm = (confirmation: Confirmation): Promise<boolean> =>
  new Promise((resolve) => {
    asked.get()?.answer(false)
    asked.set({
      ...confirmation,
      answer: (yes) => {
        asked.set(null)
        resolve(yes)
      },
    })
  })

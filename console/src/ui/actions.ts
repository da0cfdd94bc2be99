import { all, type Verdict } from '#contract/rule.ts'
import { createStore } from '../lib/store.ts'
import type { IconName } from './pictures/Icon.tsx'

/** An action. One list of actions feeds buttons, the row menu, the bulk bar and ⌘K. */
export interface Action {
  label: string
  icon?: IconName
  /** Shown in a quieter colour beside the label. */
  hint?: string
  danger?: boolean
  /** A refusal disables the action and shows the reason. Default: allowed. */
  can?: Verdict
  /** Either does something… */
  run?: () => unknown
  /** …or leads somewhere. */
  to?: string
}

/** The first refusal of several verdicts: the user's permission and the object's state. */
export const both = all

export interface Confirmation {
  title: string
  text: React.ReactNode
  /** Label of the button. Default: the title. */
  label?: string
  /** Label of the closing button, if "Cancel" could be misread as the action. */
  out?: string
  danger?: boolean
  /** For destructive actions: the user must type this text first. */
  typed?: string
  /** Runs on confirmation. The dialog shows progress, and the error if it fails. */
  act?: () => unknown
}

interface Asked extends Confirmation {
  answer: (yes: boolean) => void
}

/** The current question. The host in the layout shows it. */
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

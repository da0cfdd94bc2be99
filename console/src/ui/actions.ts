import { all, type Verdict } from '#contract/rule.ts'
import { dialog } from './overlay/dialogs.ts'
import type { Result } from './overlay/Results.tsx'
import type { IconName } from './pictures/Icon.tsx'

/** An action. One list of actions feeds buttons, the row menu, the bulk bar and ⌘K. */
export interface Action {
  label: string
  icon?: IconName | undefined
  /** Shown in a quieter colour beside the label. */
  hint?: string
  danger?: boolean
  /** A refusal disables the action and shows the reason. Default: allowed. */
  can?: Verdict | undefined
  /** Called by a click. An action has either `run` or `to`. */
  run?: () => unknown
  /** URL to which the action leads. */
  to?: string
}

/**
 * Combines verdicts, such as the user's permission and the object's state: yes, or the first
 * refusal.
 */
export const both = all

/**
 * The action as a list, which is empty if the condition is false. To be spread into a list of
 * actions.
 */
export const only = (is: boolean, action: Action): Action[] => (is ? [action] : [])

export interface Confirmation {
  title: string
  text: React.ReactNode
  /** Label of the button. Default: "OK". */
  label?: string
  /** Label of the closing button, if "Cancel", the default, could be misread as the action. */
  out?: string
  danger?: boolean
  /** For destructive actions: the user must type this text first. */
  typed?: string
  /** Runs on confirmation. The dialog shows progress, and the error if it fails. */
  act?: () => unknown
}

const ask = dialog<Confirmation, boolean>(() => import('./overlay/Confirm.tsx'), 0)

/**
 * Asks in a dialog. True after the user has confirmed and `act`, if given, has succeeded; false if
 * the dialog was closed.
 */
export const confirm = async (confirmation: Confirmation): Promise<boolean> =>
  (await ask(confirmation)) === true

/** Shows the results of an action on several things. */
export const showResults = dialog<{ title: string; results: readonly Result[]; done: string }>(
  () => import('./overlay/Results.tsx'),
)

import { logOut } from '../api/session.ts'
import { createStore } from '../lib/store.ts'
import { confirm } from '../ui/actions.ts'

/** What is being edited and not saved, by the form that holds it: "patch". */
export const unsaved = createStore<ReadonlyMap<string, string>>(new Map())

/** Logs out, which deletes the drafts of this browser: asks first where something unsaved is on the screen. */
export async function askAndLogOut(): Promise<void> {
  const [what] = unsaved.get().values()
  if (
    what !== undefined &&
    !(await confirm({
      title: 'Log out without saving?',
      label: 'Log out',
      danger: true,
      text: `This ${what} is not saved. Logging out deletes its draft from this browser, and every other draft of yours.`,
    }))
  )
    return
  await logOut()
}

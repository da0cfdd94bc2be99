import { logOut } from '../api/session.ts'
import { createStore } from '../lib/store.ts'
import { confirm } from '../ui/actions.ts'

/** Unsaved forms, by form: "patch". */
export const unsaved = createStore<ReadonlyMap<string, string>>(new Map())

/** Logs out, which deletes this browser's drafts. Asks first if a form has unsaved changes. */
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

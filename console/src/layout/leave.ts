import { useCallback, useEffect, useId, useRef } from 'react'
import { authStatus, storedUserId } from '../api/auth.ts'
import { report } from '../api/report.ts'
import { logOut } from '../api/session.ts'
import { blockLeaving } from '../lib/router.ts'
import { createStore } from '../lib/store.ts'
import { confirm } from '../ui/actions.ts'

/**
 * The forms with unsaved changes. Maps the form's id to the kind of object that it edits, such as
 * "patch".
 */
const unsaved = createStore<ReadonlyMap<string, string>>(new Map())

/** Logs out, which deletes this browser's drafts. Asks first if a form has unsaved changes. */
export async function askAndLogOut(): Promise<void> {
  const [what] = unsaved.get().values()
  const text = `This ${what} is not saved. Logging out deletes its draft from this browser, and every other draft of yours.`
  if (
    what !== undefined &&
    !(await confirm({ title: 'Log out without saving?', label: 'Log out', danger: true, text }))
  )
    return
  const user = storedUserId()
  if (user !== null)
    void import('../api/drafts.ts').then(({ removeDrafts }) => removeDrafts(user)).catch(report)
  await logOut()
}

/**
 * Asks before the user leaves a page while `dirty`. The returned function allows leaving, for
 * instance after saving, or forbids leaving again.
 */
export function useLeaveGuard(dirty: boolean, what: string): (may: boolean) => void {
  const free = useRef(false)
  const id = useId()
  useEffect(() => {
    if (!dirty) return undefined
    unsaved.set((now) => new Map(now).set(id, what))
    const unblock = blockLeaving({
      blockerFn: async () => {
        // Don't ask after the end of a session: the draft is restored after the next sign-in.
        if (free.current || authStatus.get() === 'signedOut') return false
        return !(await confirm({
          title: 'Leave without saving?',
          label: 'Leave',
          text: `A draft of this ${what} is kept in this browser until you save it or log out.`,
        }))
      },
      enableBeforeUnload: () => !free.current && authStatus.get() !== 'signedOut',
    })
    return () => {
      unblock()
      unsaved.set((now) => new Map([...now].filter(([one]) => one !== id)))
    }
  }, [dirty, id, what])
  return useCallback((may) => {
    free.current = may
  }, [])
}

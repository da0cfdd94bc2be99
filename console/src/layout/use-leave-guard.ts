import { useBlocker } from '@tanstack/react-router'
import { useCallback, useRef } from 'react'
import { confirm } from '../ui/actions.ts'

/** Asks before a page is left while `dirty`. What it gives back says that it may be left now, such as once it is saved, or that it may not after all. */
export function useLeaveGuard(dirty: boolean, what: string): (may: boolean) => void {
  const free = useRef(false)
  useBlocker({
    shouldBlockFn: async () => {
      if (free.current || !dirty) return false
      return !(await confirm({
        title: 'Leave without saving?',
        label: 'Leave',
        text: `A draft of this ${what} is kept in this browser until you save it or log out.`,
      }))
    },
    enableBeforeUnload: () => dirty && !free.current,
  })
  return useCallback((may) => {
    free.current = may
  }, [])
}

import { useEffect } from 'react'
import type { Answer } from '#contract/operation.ts'
import type { installationGet } from '#contract/users.ts'
import { createStore, useStore } from '../lib/store.ts'
import { entryCalls } from './entry-calls.ts'
import { readAnswer, send } from './http.ts'

export type Installation = Answer<typeof installationGet>

const known = createStore<Installation | null>(null)
let asked = false

/** What everybody who looks at this installation may know: its version, whether its servers are simulated, and where its waitlist is. Null until known. */
export function useInstallation(): Installation | null {
  useEffect(() => {
    if (asked) return
    asked = true
    void (async () => {
      try {
        known.set((await readAnswer(await send(entryCalls.installationGet, {}, {}))) as Installation)
      } catch {
        // Nothing hangs on it: asked again by whoever shows it next.
        asked = false
      }
    })()
  }, [])
  return useStore(known)
}

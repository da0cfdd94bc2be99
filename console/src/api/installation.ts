import { useEffect } from 'react'
import type { Answer } from '#contract/operation.ts'
import type { installationGet } from '#contract/users.ts'
import { createStore, useStore } from '../lib/store.ts'
import { storedToken } from './auth.ts'
import { entryCalls, readAnswer, send } from './http.ts'

export type Installation = Answer<typeof installationGet>

const known = createStore<Installation | null>(null)
let asked = false

/**
 * Public facts of this installation: its version, whether its servers are simulated, and its
 * waitlist. Null until loaded.
 */
export function useInstallation(): Installation | null {
  useEffect(() => {
    if (asked) return
    asked = true
    void (async () => {
      try {
        known.set(
          (await readAnswer(
            await send(entryCalls.installationGet, {}, { token: storedToken() }),
          )) as Installation,
        )
      } catch {
        // The failure is ignored: the next component that needs these facts repeats the request.
        asked = false
      }
    })()
  }, [])
  return useStore(known)
}

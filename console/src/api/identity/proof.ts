/**
 * Asks users again for their password or passkey, for calls that need a recent proof of identity.
 */
import { createStore } from '../../lib/store.ts'
import { whenSessionEnds } from '../auth.ts'

/**
 * Whether the user's role requires a second factor that the session lacks. Until one is added, only
 * calls about the own account are accepted.
 */
export const secondFactorMissing = createStore(false)
whenSessionEnds(() => secondFactorMissing.set(false))

/**
 * Asks in a dialog. True after the user has proved their identity. Set by the frame, because the
 * API client knows no dialogs.
 */
type AskForProof = () => Promise<boolean>
let ask: AskForProof = () => Promise.resolve(false)
export function whenProofNeeded(asks: AskForProof): () => void {
  ask = asks
  return () => {
    ask = () => Promise.resolve(false)
  }
}

let asking: Promise<boolean> | null = null
/** Asks once, even if several calls need the proof at the same time. */
export function proved(): Promise<boolean> {
  asking ??= ask().finally(() => {
    asking = null
  })
  return asking
}

/** Code of an error response, which stays readable. */
export const codeOf = async (response: Response): Promise<string | null> => {
  const body = (await response
    .clone()
    .json()
    .catch(() => null)) as { code?: unknown } | null
  return typeof body?.code === 'string' ? body.code : null
}

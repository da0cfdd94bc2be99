/**
 * The stages of a rotation. Steelyard keeps the old and the new secrets until its end. Steelyard's
 * own certificates are always of an authority that every machine accepts:
 *
 * - `accepting`: machines learn to accept the new authority. Steelyard uses the old one.
 * - `switching`: every machine accepts both, and the new one becomes the issuing authority.
 *   Steelyard uses the new one.
 * - `dropping`: every machine has certificates of the new one, and stops accepting the old one.
 *   From here on the rotation can't be undone.
 * - `returning`: the rotation is undone. Every machine still accepts the old authority, and
 *   Steelyard uses the old one again.
 */
import { type Form, hasAcceptedList, type Rotatable } from '#talos/secrets/rotation.ts'
import type { RotationRow } from './store-rotations.ts'

export type Stage = RotationRow['stage']

/** Prefixes of steps about one server. */
export type ServerStep = 'accept' | 'switch' | 'drop' | 'switch-back' | 'withdraw'

/**
 * The form of a server's secrets after a step, and the later forms. A server in one of them needs
 * nothing from this step.
 */
export function formsOf(
  what: Rotatable,
  step: ServerStep,
): { readonly form: Form; readonly later: readonly Form[] } {
  if (step === 'accept') return { form: 'accepts_both', later: ['switched', 'new'] }
  if (step === 'switch')
    return hasAcceptedList(what) ? { form: 'switched', later: ['new'] } : { form: 'new', later: [] }
  if (step === 'drop') return { form: 'new', later: [] }
  if (step === 'switch-back') return { form: 'accepts_both', later: ['old'] }
  return { form: 'old', later: [] }
}

/**
 * The form of a server that joins after a rotation has failed and before its retry: the server and
 * all others accept each other.
 */
export function formOfNewServer(what: Rotatable, stage: Stage): Form {
  if (!hasAcceptedList(what)) return stage === 'switching' ? 'new' : 'old'
  return stage === 'dropping' ? 'switched' : 'accepts_both'
}

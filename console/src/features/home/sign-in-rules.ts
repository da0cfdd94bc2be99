import { Credentials } from '#contract/sessions.ts'
import { fieldErrors } from '../../lib/fields.ts'

/**
 * Field errors of the sign-in form, by the call's schema. `second`: whether the code is asked for.
 */
export function signInErrors(
  { code, ...form }: { email: string; password: string; code: string },
  second: boolean,
): Record<string, string> {
  return fieldErrors(Credentials, second ? { ...form, code } : form)
}

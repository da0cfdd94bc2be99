import { Credentials } from '#contract/sessions.ts'
import { fieldErrors } from '../../lib/fields.ts'

/** Field errors of the sign-in form, by the call's schema. */
export const signInErrors = (form: { email: string; password: string }): Record<string, string> => fieldErrors(Credentials, form)

import { authorize } from '#contract/sessions.ts'
import { fieldErrors } from '../../lib/fields.ts'

/** Sentences for the fields of the sign-in form, by the call's own schema. */
export const signInErrors = (form: { email: string; password: string }): Record<string, string> => fieldErrors(authorize.body, form)

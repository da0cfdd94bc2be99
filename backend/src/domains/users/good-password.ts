/** Passwords that are guessed first are refused: common ones (NIST SP 800-63B §5.1.1.2), and those that hold the name in the email. */
import { Problem } from '#contract/errors.ts'
import { mayBePassword } from '#contract/sessions.ts'

let common: Promise<ReadonlySet<string>> | undefined
/** The list of zxcvbn, 49,000 of which some have 12 characters; read when it is first asked for. */
const readCommon = async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'].map(String))
}

/** @throws Problem invalid, with the sentence at `field` */
export async function demandGoodPassword(password: string, email: string, field: 'password' | 'new_password'): Promise<void> {
  const verdict = mayBePassword(password, email)
  const refuse = (reason: string) => new Problem('invalid', reason, { [field]: reason })
  if (!verdict.ok) throw refuse(verdict.reason)
  common ??= readCommon()
  if ((await common).has(password.toLowerCase())) throw refuse('This password is among the most common ones: choose another')
}

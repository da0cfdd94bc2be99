/** The password of a user who is signed in already: asked for before it is changed, and to prove the identity. */
import { Problem } from '#contract/errors.ts'
import { inTurn, verifyPassword } from './password.ts'
import type { Throttle } from './throttle.ts'

/**
 * Whether this is the person's password. Guesses are throttled like sign-ins.
 * @throws Problem throttled, unavailable; conflict if the account has no password
 */
export async function isOwnPassword(
  throttle: Throttle,
  person: { id: string; email: string; password_hash: string | null },
  password: string,
): Promise<boolean> {
  const { id, email, password_hash } = person
  if (password_hash === null) throw new Problem('conflict', 'Your account has no password. An administrator can create a link with which you set one.')
  const source = `person ${id}`
  return inTurn({ source }, async () => {
    const { waitMs, attempt } = await throttle.begin(email, source)
    if (attempt === undefined) throw new Problem('throttled', 'Too many tries. Please wait before you try again.', undefined, waitMs / 1000)
    try {
      const { right } = await verifyPassword(password, password_hash)
      if (right) await throttle.succeed(email, source)
      return right
    } catch (error) {
      // The password was not compared, so this was no wrong guess.
      await throttle.forget(attempt)
      throw error
    }
  })
}

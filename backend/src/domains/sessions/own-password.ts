/**
 * The password of a user who is signed in already: asked for before it is changed, and to prove the
 * identity.
 */
import { Problem } from '#contract/errors.ts'
import type { UserCaller } from '../../http/caller.ts'
import { inTurn, verifyPassword } from './password.ts'
import type { Throttle } from './throttle.ts'
import { vouched } from './turns.ts'

/** How a session is named in the queue of passwords and in the throttle. */
export const sessionSource = ({ sessionId }: Pick<UserCaller, 'sessionId'>): string =>
  `session ${sessionId}`

/**
 * Whether this is the caller's password. Guesses are throttled like sign-ins, but by session: a
 * stolen session can't keep its owner from proving who they are in another one.
 * @throws Problem throttled, unavailable; conflict if the account has no password
 */
export async function isOwnPassword(
  throttle: Throttle,
  caller: UserCaller,
  { email, password_hash }: { email: string; password_hash: string | null },
  password: string,
): Promise<boolean> {
  if (password_hash === null)
    throw new Problem(
      'conflict',
      'Your account has no password. An administrator can create a link with which you set one.',
    )
  const source = sessionSource(caller)
  return inTurn(vouched(source), async () => {
    const { waitMs, attempt } = await throttle.begin(email, source)
    if (attempt === undefined)
      throw new Problem(
        'throttled',
        'Too many tries. Please wait before you try again.',
        undefined,
        waitMs / 1000,
      )
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

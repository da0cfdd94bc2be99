/**
 * Hashes and checks passwords: argon2id (RFC 9106) in the PHC string format, off the main thread,
 * at most two at once.
 */
import { hash, verify } from '@node-rs/argon2'
import { Problem } from '#contract/errors.ts'
import { mayBePassword } from '#contract/sessions.ts'
import { isCommonPassword } from './common-passwords.ts'
import { PasswordsBusy, type Source, turns, vouched } from './turns.ts'

/**
 * The work of one hash of argon2id: `memoryCost` in KiB, `timeCost` in passes. OWASP's second
 * recommendation: 19 MiB, two passes, one lane. Only tests change it (`testing/work.ts`).
 */
export const hashWork = { memoryCost: 19_456, timeCost: 2 }

/**
 * The only hashing queue of this process. Two concurrent hashes keep two cores busy; 400 hashes of
 * strangers take about 8 s.
 */
const hashing = turns({
  atOnce: 2,
  atOnceOfStrangers: 1,
  mostWaiting: 400,
  mostOfSource: 100,
  mostOfPair: 20,
  longestWaitMs: 8_000,
})

/**
 * Calls `act` when it is the source's turn to hash. `signal` ends the wait.
 * @throws Problem throttled if too many calls of the source wait, unavailable if too many calls of
 * all sources wait
 */
export async function inTurn<T>(
  from: Source,
  act: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await hashing.take(from, act, signal)
  } catch (error) {
    if (!(error instanceof PasswordsBusy)) throw error
    if (error.byItself)
      throw new Problem('throttled', 'Too many tries at once. Please wait a moment.', undefined, 1)
    throw new Problem('unavailable', 'Server busy. Please try again.', undefined, 3)
  }
}

/**
 * Hashes a new password in turn. `by`: the session, valid link or program that sets it.
 * @throws Problem throttled, unavailable
 */
export const hashPassword = (password: string, by: string): Promise<string> =>
  inTurn(vouched(by), () => hashNow(password))

/** Must be called inside of `inTurn`. */
export const hashNow = (password: string): Promise<string> =>
  hash(password, { algorithm: 2, parallelism: 1, outputLen: 32, ...hashWork })

/**
 * Limits of m (KiB), t and p: a hash that needs more work was not made by Steelyard. A backup of
 * somebody else could contain one.
 */
const highest = [65_536, 10, 4] as const
const phc =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$[A-Za-z0-9+/]{1,64}\$[A-Za-z0-9+/]{43}$/

/**
 * Must be called inside of `inTurn`. An empty password and an unreadable hash never match.
 * @returns `outdated`: the password is correct, and should be hashed again with the current
 * work
 */
export async function verifyPassword(
  password: string,
  phcHash: string,
): Promise<{ right: boolean; outdated: boolean }> {
  const match = phc.exec(phcHash)
  if (
    !match ||
    password === '' ||
    match.slice(1, 4).some((value, i) => Number(value) > highest[i]!)
  )
    return { right: false, outdated: false }
  const right = await verify(phcHash, password)
  return {
    right,
    outdated:
      right && (Number(match[1]) < hashWork.memoryCost || Number(match[2]) < hashWork.timeCost),
  }
}

/**
 * A hash that no password matches. It is verified for unknown accounts, so that sign-ins to known
 * and unknown accounts take the same time.
 */
export const nobodysHash = (): string =>
  `$argon2id$v=19$m=${hashWork.memoryCost},t=${hashWork.timeCost},p=1$${'BwcH'.repeat(5)}Bw$${'BwcH'.repeat(10)}Bwc`

/**
 * Refuses passwords that attackers guess first: common ones (NIST SP 800-63B §5.1.1.2), and those
 * that contain the part of the email address before the @.
 * @throws Problem invalid, with the message at `field`
 */
export async function demandGoodPassword(
  password: string,
  email: string,
  field: 'password' | 'new_password',
): Promise<void> {
  const verdict = mayBePassword(password, email)
  const refuse = (reason: string) => new Problem('invalid', reason, { [field]: reason })
  if (!verdict.ok) throw refuse(verdict.reason)
  if (await isCommonPassword(password))
    throw refuse('This password is among the most common ones: choose another')
}

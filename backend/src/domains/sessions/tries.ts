/**
 * Tries of passwords at sign-in: whose turn it is (`turns.ts`), whether the throttle lets the
 * source try, and when a refusal is answered (`slow-answers.ts`).
 */
import { performance } from 'node:perf_hooks'
import { Problem } from '#contract/errors.ts'
import { bucket } from '../../http/limits.ts'
import type { Platform } from '../../platform.ts'
import type { Users } from '../users/api.ts'
import { hashNow, inTurn, nobodysHash, verifyPassword } from './password.ts'
import { slowAnswers, type SlowAnswerLimits } from './slow-answers.ts'
import { standings } from './standings.ts'
import type { Throttle } from './throttle.ts'

/**
 * Refused tries of strangers use a quarter of their place in the queue, so that it is mostly free
 * for somebody who signs in for the first time.
 */
const pace: SlowAnswerLimits = { share: 1 / 4, burstMs: 2_000, longestMs: 15_000, most: 1_000 }
/** What a request costs that the full queue turns away, in ms. */
const turnedAwayMs = 2
/**
 * Right passwords of one account that are answered at once. Somebody who knows one could use up the
 * queue by signing in without end.
 */
const rightPace = { perSecond: 1 / 6, burst: 20 }

interface Try {
  readonly email: string
  readonly password: string
  /**
   * An address, a /64 of IPv6, or a device. `isKnown`: a device from which the account has signed
   * in before.
   */
  readonly source: string
  readonly isKnown: boolean
  readonly signal: AbortSignal
}

export function passwordTries({
  users,
  throttle,
  clock,
}: Pick<Platform, 'clock'> & { users: Users; throttle: Throttle }) {
  const standing = standings()
  // Separate, so that the second mistake of a user doesn't wait behind the guesses from fresh
  // addresses. Known devices aren't held back.
  const paces = {
    known: undefined,
    returning: slowAnswers(pace),
    stranger: slowAnswers(pace),
    slowed: slowAnswers(pace),
  }
  const right = bucket({ ...rightPace, clock })

  /**
   * Must be called inside of `inTurn`. If `verdict` is missing, the throttle has refused the
   * attempt.
   */
  const check = async ({ email, password, source }: Try) => {
    const person = await users.byEmail(email)
    const { waitMs, attempt } = await throttle.begin(email, source)
    if (attempt === undefined) return { person, waitMs, verdict: undefined, rehashed: undefined }
    try {
      const verdict = await verifyPassword(password, person?.password_hash ?? nobodysHash())
      return {
        person,
        waitMs,
        verdict,
        rehashed: verdict.outdated ? await hashNow(password) : undefined,
      }
    } catch (error) {
      await throttle.forget(attempt)
      throw error
    }
  }

  return {
    /**
     * One try. `hold` must be awaited before a refusal is answered.
     * @throws Problem throttled, unavailable
     */
    async take(asked: Try) {
      const { email, source, isKnown, signal } = asked
      const lane = standing.laneOf(source, email, isKnown)
      let costMs = turnedAwayMs
      const hold = async (): Promise<void> => {
        await paces[lane]?.hold(email, costMs, signal)
        if (!signal.aborted) standing.answered(source, email)
      }
      const timed = async () => {
        const began = performance.now()
        try {
          return await check(asked)
        } finally {
          costMs = performance.now() - began
        }
      }
      try {
        const tried = await inTurn({ lane, account: email, source }, timed, signal)
        if (tried.verdict && (!tried.verdict.right || tried.person?.disabled_at))
          standing.mistaken(source, email)
        if (tried.verdict?.right) standing.forget(source, email)
        return { ...tried, hold }
      } catch (error) {
        if (!(error instanceof Problem) || signal.aborted) throw error
        await hold()
        throw error
      }
    },

    /** Holds back the answer to a right password if the account gets very many. */
    async holdRight(accountId: string, hold: () => Promise<void>): Promise<void> {
      if (right.take(accountId) > 0) await hold()
    },

    /** Answers all refusals that are held back, because the program stops. */
    release(): void {
      for (const each of Object.values(paces)) each?.release()
    },
  }
}

/** Passwords: argon2id (RFC 9106) in the PHC string format, two at once at most, so that fifty sign-ins can't stall the process. */
import crypto, { randomBytes, timingSafeEqual } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import { argon2idBy, tagLength } from './argon2.ts'
import { PasswordsBusy, type Source, turns } from './turns.ts'

/** OWASP's second recommendation: 19 MiB, two passes, one lane. */
const parameters = { memory: 19_456, passes: 2, parallelism: 1 } as const

/** The one queue of this process for everything that hashes. Two hashes keep two cores busy; 400 take it some 5 s. */
const hashing = turns({ atOnce: 2, mostWaiting: 400, mostOfOne: 20, longestWaitMs: 8_000 })

/**
 * Calls `act` once it is the source's turn to hash.
 * @throws Problem throttled where the source has too many waiting, unavailable where everybody has
 */
export async function inTurn<T>(from: Source, act: () => Promise<T>): Promise<T> {
  try {
    return await hashing.take(from, act)
  } catch (error) {
    if (!(error instanceof PasswordsBusy)) throw error
    if (error.byItself) throw new Problem('throttled', 'Too many tries at once. Please wait a moment.', undefined, 1)
    throw new Problem('unavailable', 'Server busy. Please try again.', undefined, 3)
  }
}

/** By the module's object: an import by name ends the program where Node lacks it. */
const derive = argon2idBy(crypto.argon2)

const unpadded = (bytes: Uint8Array) =>
  Buffer.from(bytes)
    .toString('base64')
    .replace(/={1,2}$/, '')

/**
 * Waits for its turn in the queue of its source.
 * @throws Problem throttled, unavailable
 */
export const hashPassword = (password: string, from: Source): Promise<string> => inTurn(from, () => hashNow(password))

/** For a holder of a turn. */
export async function hashNow(password: string): Promise<string> {
  const salt = randomBytes(16)
  const tag = await derive(password, salt, parameters)
  return `$argon2id$v=19$m=${parameters.memory},t=${parameters.passes},p=${parameters.parallelism}$${unpadded(salt)}$${unpadded(tag)}`
}

const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{1,64})\$([A-Za-z0-9+/]{43})$/

/** For a holder of a turn. `outdated`: the password is right, and should be hashed again with today's parameters. A hash that can't be read matches nothing, as an empty password does. */
export async function verifyPassword(password: string, hash: string): Promise<{ right: boolean; outdated: boolean }> {
  const match = phc.exec(hash)
  if (!match || password === '') return { right: false, outdated: false }
  const [memory, passes, parallelism] = [Number(match[1]), Number(match[2]), Number(match[3])] as const
  const tag = await derive(password, Buffer.from(match[4]!, 'base64'), { memory, passes, parallelism })
  const right = timingSafeEqual(tag, Buffer.from(match[5]!, 'base64'))
  return { right, outdated: right && (memory < parameters.memory || passes < parameters.passes) }
}

/** A hash of nobody's password: checked where there is no such account, so that both take the same time. */
export const nobodysHash = `$argon2id$v=19$m=${parameters.memory},t=${parameters.passes},p=${parameters.parallelism}$${unpadded(Buffer.alloc(16, 7))}$${unpadded(Buffer.alloc(tagLength, 7))}`

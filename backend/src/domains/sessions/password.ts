/** Passwords: argon2id (RFC 9106) in the PHC string format, two at once at most, so that fifty sign-ins can't stall the process. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { places } from '../../http/limits.ts'

/** OWASP's second recommendation: 19 MiB, two passes, one lane. */
const parameters = { memory: 19_456, passes: 2, parallelism: 1 } as const
const tagLength = 32
const atOnce = 2
/** Who waits longer than this for a place is told to come back. */
const longestWaitMs = 8_000

const pool = places(atOnce)

/** The server is too busy with other sign-ins. */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy'
}

async function derive(password: string, salt: Uint8Array, p: { memory: number; passes: number; parallelism: number }): Promise<Buffer> {
  if (!(await pool.take(longestWaitMs))) throw new PasswordsBusy()
  try {
    return await new Promise((resolve, reject) => {
      argon2('argon2id', { message: password, nonce: salt, parallelism: p.parallelism, memory: p.memory, passes: p.passes, tagLength }, (error, tag) =>
        error ? reject(error) : resolve(Buffer.from(tag)),
      )
    })
  } finally {
    pool.give()
  }
}

const unpadded = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '')

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const tag = await derive(password, salt, parameters)
  return `$argon2id$v=19$m=${parameters.memory},t=${parameters.passes},p=${parameters.parallelism}$${unpadded(salt)}$${unpadded(tag)}`
}

const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{1,64})\$([A-Za-z0-9+/]{43})$/

/** `outdated`: the password is right, and should be hashed again with today's parameters. A hash that can't be read matches nothing. */
export async function verifyPassword(password: string, hash: string): Promise<{ right: boolean; outdated: boolean }> {
  const match = phc.exec(hash)
  if (!match) return { right: false, outdated: false }
  const [memory, passes, parallelism] = [Number(match[1]), Number(match[2]), Number(match[3])] as const
  const tag = await derive(password, Buffer.from(match[4]!, 'base64'), { memory, passes, parallelism })
  const right = timingSafeEqual(tag, Buffer.from(match[5]!, 'base64'))
  return { right, outdated: right && (memory < parameters.memory || passes < parameters.passes) }
}

/** A hash of nobody's password: checked where there is no such account, so that both take the same time. */
export const nobodysHash = `$argon2id$v=19$m=${parameters.memory},t=${parameters.passes},p=${parameters.parallelism}$${unpadded(Buffer.alloc(16, 7))}$${unpadded(Buffer.alloc(tagLength, 7))}`

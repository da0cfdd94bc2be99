/**
 * argon2id (RFC 9106), off the main thread: by Node where it has argon2 (from 24.7.0), by hash-wasm on threads of our own where it lacks it.
 * The pinned Node for Apple silicon is older (docs/decisions/001). Both give the same bytes for the same input.
 */
import type { argon2 } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { Argon2Answered, Argon2Asked } from './argon2-thread.ts'

export interface Argon2Parameters {
  /** KiB */
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

export const tagLength = 32

/** A tag of 32 bytes. The password isn't empty, the salt has 8 bytes at least. */
export type Argon2id = (password: string, salt: Uint8Array, p: Argon2Parameters) => Promise<Uint8Array>

/** Threads without work. There are never more than hashes at once, which the queue of passwords bounds. */
const idle: Worker[] = []

const beside: Argon2id = (password, salt, p) =>
  new Promise((resolve, reject) => {
    const worker = idle.pop() ?? new Worker(new URL('./argon2-thread.ts', import.meta.url), { name: 'argon2' })
    worker.removeAllListeners().ref()
    const settle = (act: () => void): void => {
      worker.removeAllListeners()
      act()
    }
    worker.once('message', (answered: Argon2Answered) =>
      settle(() => {
        worker.unref()
        idle.push(worker)
        // It ends by itself only by a fault; then it is given no more work.
        worker.once('error', () => idle.splice(idle.indexOf(worker), 1))
        if ('tag' in answered) resolve(answered.tag)
        else reject(new Error(`argon2 failed: ${answered.failure}`))
      }),
    )
    worker.once('error', (error) => settle(() => reject(error)))
    worker.once('exit', (code) => settle(() => reject(new Error(`The thread of argon2 ended with ${code}`))))
    const asked: Argon2Asked = { password: Buffer.from(password, 'utf8'), salt: Uint8Array.from(salt), ...p, tagLength }
    worker.postMessage(asked, [])
  })

/** By what Node has, which may be nothing. */
export function argon2idBy(native: typeof argon2 | undefined): Argon2id {
  if (!native) return beside
  return (password, nonce, p) =>
    new Promise((resolve, reject) => {
      native('argon2id', { message: password, nonce, ...p, tagLength }, (error, tag) => (error ? reject(error) : resolve(tag)))
    })
}

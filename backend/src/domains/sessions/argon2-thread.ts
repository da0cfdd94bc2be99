/** The thread that hashes where Node has no argon2 (`argon2.ts`): one message, one answer. */
import { parentPort } from 'node:worker_threads'
import { argon2id } from 'hash-wasm'
import type { Argon2Parameters } from './argon2.ts'

export interface Argon2Asked extends Argon2Parameters {
  readonly password: Uint8Array
  readonly salt: Uint8Array
  readonly tagLength: number
}
export type Argon2Answered = { readonly tag: Uint8Array } | { readonly failure: string }

parentPort?.on('message', ({ password, salt, memory, passes, parallelism, tagLength }: Argon2Asked) => {
  void argon2id({ password, salt, memorySize: memory, iterations: passes, parallelism, hashLength: tagLength, outputType: 'binary' })
    .then(
      (tag): Argon2Answered => ({ tag }),
      (error: unknown): Argon2Answered => ({ failure: error instanceof Error ? error.message : String(error) }),
    )
    .then((answered) => parentPort!.postMessage(answered, []))
})

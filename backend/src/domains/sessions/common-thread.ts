/** The worker thread that knows the most common passwords (`common-passwords.ts`). */
import { parentPort } from 'node:worker_threads'
import { dictionary } from '@zxcvbn-ts/language-common'

/** To the worker thread. */
export interface Asked {
  readonly id: number
  readonly password: string
}
/** From the worker thread. */
export interface Answered {
  readonly id: number
  readonly isCommon: boolean
}

const port = parentPort!
const common = new Set(dictionary['passwords-common'])
port.on('message', ({ id, password }: Asked) => {
  const answer: Answered = { id, isCommon: common.has(password.toLowerCase()) }
  port.postMessage(answer, [])
})

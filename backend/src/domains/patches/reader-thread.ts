/** The thread beside, on which large texts are read (`reader.ts`): it answers each message by the function that is named in it, one after another. */
import { parentPort } from 'node:worker_threads'
import { checkBody } from './check.ts'
import { maskLines } from './masking.ts'
import { compose } from './render.ts'

const work = { check: checkBody, compose, mask: maskLines }

export type Work = typeof work
export interface Asked {
  readonly name: keyof Work
  readonly given: readonly unknown[]
}
export type Answered = { readonly ok: true; readonly answer: unknown } | { readonly ok: false; readonly failure: string }

parentPort?.on('message', ({ name, given }: Asked) => {
  let answered: Answered
  try {
    answered = { ok: true, answer: (work[name] as (...all: readonly unknown[]) => unknown)(...given) }
  } catch (error) {
    answered = { ok: false, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
  parentPort!.postMessage(answered, [])
})

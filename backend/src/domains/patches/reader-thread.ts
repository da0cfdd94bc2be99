/** The worker thread that reads texts (`reader.ts`). It processes one message at a time, with the function that the message names. */
import { parentPort } from 'node:worker_threads'
import { type ErrorCode, Problem } from '#contract/errors.ts'
import { differenceOf } from './drift/difference.ts'
import { linksOf } from './links.ts'
import { maskText, unmask } from './masking.ts'
import { checkBody, compose, previewOf } from './render.ts'

const work = { check: checkBody, compose, difference: differenceOf, links: linksOf, mask: maskText, unmask, preview: previewOf }

export type Work = typeof work
export type Asked = { readonly name: keyof Work; readonly given: readonly unknown[] }
export type Answered =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly problem: { readonly code: ErrorCode; readonly message: string; readonly fields: Record<string, string> } }
  | { readonly ok: false; readonly problem: null; readonly failure: string }
/** Sent after the thread has loaded its modules; only then does the time limit of a text begin. */
export const ready = 'ready'

parentPort?.on('message', ({ name, given }: Asked) => {
  let answered: Answered
  try {
    answered = { ok: true, answer: (work[name] as (...all: readonly unknown[]) => unknown)(...given) }
  } catch (error) {
    // A class instance can't cross threads, so its fields are sent.
    if (error instanceof Problem) answered = { ok: false, problem: { code: error.code, message: error.message, fields: { ...error.fields } } }
    else answered = { ok: false, problem: null, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
  parentPort!.postMessage(answered, [])
})
parentPort?.postMessage(ready, [])

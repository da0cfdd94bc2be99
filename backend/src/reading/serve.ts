/** The worker's side of a thread: it carries out one piece of work at a time. */
import { parentPort } from 'node:worker_threads'
import { type ErrorCode, Problem } from '#contract/errors.ts'
import { ConfigError, type ConfigProblem } from '#talos/config/problem.ts'
import { Refusal } from '../refusal.ts'

/** Sent after the thread has loaded its modules; only then do the limits of its work begin. */
export const ready = 'ready'

/**
 * An error, as data: an instance of a class can't cross threads. `failed`: a fault of this program.
 */
export type Failure =
  | {
      readonly kind: 'problem'
      readonly code: ErrorCode
      readonly message: string
      readonly fields: Record<string, string>
    }
  | {
      readonly kind: 'config'
      readonly problems: readonly ConfigProblem[]
      readonly layer: string | undefined
    }
  | { readonly kind: 'refused' | 'failed'; readonly message: string }

/** `processorMs`: what the work has used. */
export type Answered = { readonly processorMs: number } & (
  | { readonly ok: true; readonly answer: unknown }
  | ({ readonly ok: false } & Failure)
)

function failureOf(error: unknown): Failure {
  if (error instanceof Problem)
    return {
      kind: 'problem',
      code: error.code,
      message: error.message,
      fields: { ...error.fields },
    }
  if (error instanceof ConfigError)
    return { kind: 'config', problems: error.problems, layer: error.layer }
  if (error instanceof Refusal) return { kind: 'refused', message: error.message }
  return {
    kind: 'failed',
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
  }
}

/**
 * Answers each message with the result of `act`. Keep `act` synchronous, so that one message at a
 * time is worked on.
 */
export function serve(act: (asked: never) => unknown): void {
  parentPort?.on('message', (asked) => {
    const began = process.threadCpuUsage()
    const processorMs = (): number => {
      const { user, system } = process.threadCpuUsage(began)
      return (user + system) / 1000
    }
    let answered: Answered
    try {
      const answer = act(asked as never)
      answered = { ok: true, answer, processorMs: processorMs() }
    } catch (error) {
      answered = { ok: false, ...failureOf(error), processorMs: processorMs() }
    }
    parentPort!.postMessage(answered, [])
  })
  parentPort?.postMessage(ready, [])
}

/** Named work: a message names one of these functions and gives its arguments. */
export interface Asked {
  readonly name: string
  readonly given: readonly unknown[]
}

export const serveWork = (work: Readonly<Record<string, (...given: never[]) => unknown>>): void =>
  serve(({ name, given }: Asked) =>
    (work[name] as (...all: readonly unknown[]) => unknown)(...given),
  )

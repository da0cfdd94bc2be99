/**
 * Reads patches and merges configurations where it holds nobody else up: 64 KiB of YAML take some 50 ms, a merge several times as long, and while the main
 * thread reads, nobody is answered. What is short is read at once; what is long goes to a thread beside, one text after another, within a time limit.
 */
import { Worker } from 'node:worker_threads'
import type { PatchProblem } from '#contract/patches.ts'
import { Problem } from '#contract/errors.ts'
import { checkBody } from './check.ts'
import type { Layer, RenderContext } from './layers.ts'
import { linksOf } from './links.ts'
import { type Masked, lineIn, maskLines, unmask } from './masking.ts'
import type { Answered, Asked, Work } from './reader-thread.ts'
import { compose, type Composed } from './render.ts'

export interface Reader {
  /** What speaks against a patch's body; none where it may be saved. */
  check(body: string, talosVersion?: string): Promise<PatchProblem[]>
  /** Merges layers and judges the result; see `compose`. */
  compose(base: string, layers: readonly Layer[], context: Pick<RenderContext, 'talosVersion'>): Promise<Composed>
  /** Names of the links that a body configures; see `linksOf`. */
  links(body: string): Promise<string[]>
  /** A text with its secrets masked. */
  mask(text: string): Promise<Masked>
  /** A text with the secrets of `before` where it holds masks. @throws Problem as `unmask` */
  unmask(text: string, before: string): Promise<string>
}

export interface ReaderOptions {
  /** Characters up to which a text is read on the main thread: some 10 ms of YAML. */
  readonly short?: number
  /** Far more than the worst of texts takes, also on a busy machine. */
  readonly limitMs?: number
}

/** A thread that nobody asked anything for this long ends: it holds some 20 MB. */
const idleMs = 60_000
/** Far more than a configuration needs; past it the thread ends instead of the process. */
const resourceLimits = { maxOldGenerationSizeMb: 256 }

interface Waiting {
  readonly asked: Asked
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

export function reader({ short = 12_000, limitMs = 10_000 }: ReaderOptions = {}): Reader {
  const line: Waiting[] = []
  let current: Waiting | undefined
  let thread: Worker | undefined
  let limit: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined

  const settle = (how: (waiting: Waiting) => void): void => {
    const waiting = current
    current = undefined
    clearTimeout(limit)
    if (waiting) how(waiting)
    next()
  }
  /** Whatever it was doing is given up; the next text gets a new thread. */
  const end = (): void => {
    const old = thread
    thread = undefined
    old?.removeAllListeners().on('error', () => undefined)
    void old?.terminate()
  }
  const start = (): Worker => {
    const made = new Worker(new URL('./reader-thread.ts', import.meta.url), { resourceLimits, name: 'patches' })
    // It does not keep the process alive.
    made.unref()
    made.on('message', (answered: Answered) =>
      settle(({ resolve, reject }) => {
        if (answered.ok) resolve(answered.answer)
        else if (answered.problem) reject(new Problem(answered.problem.code, answered.problem.message, answered.problem.fields))
        else reject(new Error(`The patches' thread failed: ${answered.failure}`))
      }),
    )
    made.on('error', (error) => {
      end()
      settle(({ reject }) => reject(error as Error))
    })
    return made
  }
  const next = (): void => {
    if (current) return
    clearTimeout(idle)
    current = line.shift()
    if (!current) {
      idle = setTimeout(end, idleMs).unref()
      return
    }
    thread ??= start()
    thread.postMessage(current.asked, [])
    limit = setTimeout(() => {
      end()
      settle(({ reject }) => reject(new Problem('unavailable', 'Reading the patch took too long. Please try again.')))
    }, limitMs)
  }
  const beside = <Name extends keyof Work>(name: Name, ...given: Parameters<Work[Name]>): Promise<ReturnType<Work[Name]>> =>
    new Promise((resolve, reject) => {
      line.push({ asked: { name, given }, resolve: (answer) => resolve(answer as ReturnType<Work[Name]>), reject })
      next()
    })

  return {
    check: async (body, talosVersion) => (body.length <= short ? checkBody(body, talosVersion) : beside('check', body, talosVersion)),
    compose: async (base, layers, context) => {
      const { talosVersion } = context
      const length = layers.reduce((sum, layer) => sum + layer.body.length, 0)
      return length <= short ? compose(base, layers, context) : beside('compose', base, layers, { talosVersion })
    },
    links: async (body) => (body.length <= short ? linksOf(body) : beside('links', body)),
    unmask: async (text, before) => (text.length + before.length <= short ? unmask(text, before) : beside('unmask', text, before)),
    mask: async (text) => {
      const { text: shown, lost } = text.length <= 2 * short ? maskLines(text) : await beside('mask', text)
      return { text: shown, lineOf: (at) => lineIn(lost, at) }
    },
  }
}

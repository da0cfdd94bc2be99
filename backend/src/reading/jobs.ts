/**
 * Every piece of work on bytes that strangers wrote which isn't done on the main thread: on which
 * thread it is done, and its limits (docs/decisions/021-work-budgets.md). Which files may call a
 * raw parser is in `tools/parsers.ts`.
 *
 * The limits of depth and of the number of values are those of the parsers: `usualBounds`
 * (talos/config/tree.ts) for YAML, `limits` (json.ts) for JSON.
 */
import type { AnswerWork } from './answers-thread.ts'
import type { TextWork } from './texts-thread.ts'

export type Work = TextWork & AnswerWork
export type ThreadName = 'texts' | 'slow' | 'answers'

interface Job {
  readonly thread: Exclude<ThreadName, 'slow'>
  /** Completes `Reading … took too long`. */
  readonly what: string
  /** Maximum bytes of all texts. */
  readonly bytes: number
  /** Maximum processor time, in ms. */
  readonly processorMs: number
}

const kib = 1024
const mib = 1024 * kib
/**
 * A machine's configuration is at most as long as a list of a machine may be (`maxListBytes`, 1
 * MiB).
 */
const config = {
  thread: 'texts',
  what: 'the configuration',
  bytes: 8 * mib,
  processorMs: 3_000,
} as const
const one = { ...config, bytes: 2 * mib, processorMs: 1_500 } as const
/** Several texts are merged. */
const merge = { thread: 'texts', what: 'the patch', bytes: 32 * mib, processorMs: 8_000 } as const
/** A patch is at most 1 MiB long and has at most 20,000 values. */
const patch = { thread: 'texts', what: 'the patch', bytes: 4 * mib, processorMs: 3_000 } as const

const schematic = {
  thread: 'texts',
  what: 'the schematic',
  bytes: 1 * mib,
  processorMs: 500,
} as const

export const jobs: { readonly [Name in keyof Work]: Job } = {
  check: patch,
  compose: merge,
  composeChange: merge,
  links: patch,
  mask: patch,
  preview: merge,
  unmask: patch,
  bundle: one,
  difference: { ...config, what: 'the patch' },
  documentForm: config,
  effect: config,
  facts: one,
  factsThatDiffer: config,
  form: config,
  homes: one,
  images: one,
  moveToDocuments: config,
  removed: one,
  same: config,
  told: one,
  trial: config,
  withFacts: one,
  withSecrets: config,
  proof: { thread: 'texts', what: 'the files', bytes: 512 * kib, processorMs: 1_000 },
  early: { ...patch, what: 'the documents of the image' },
  known: schematic,
  schematic,
  redfish: { thread: 'answers', what: 'the document', bytes: 2 * mib, processorMs: 1_000 },
  json: { thread: 'answers', what: 'the response', bytes: 16 * mib, processorMs: 3_000 },
}

interface Thread {
  /**
   * Maximum memory of V8's heap on the thread, in MiB. Past it the thread ends, not the process.
   */
  readonly memoryMiB: number
  /** An idle thread ends after this time in ms, because it uses some 20 MB. */
  readonly idleMs: number
}
export const threads: { readonly [name in ThreadName]: Thread } = {
  texts: { memoryMiB: 256, idleMs: 600_000 },
  /** For texts of owners whose last one took long (`reader.ts`). */
  slow: { memoryMiB: 256, idleMs: 60_000 },
  answers: { memoryMiB: 128, idleMs: 60_000 },
}

/** Limit of all work in wall-clock time, in ms, in addition to the limits of processor time. */
export const longestMs = 15_000

/** The limits of a stream: bytes that a thread of its own reads as they arrive. */
export const streams = {
  /**
   * A snapshot of etcd. Its whole length is limited where it is read from a machine or a store (8
   * GiB).
   */
  etcd: {
    what: 'the snapshot',
    memoryMiB: 128,
    pieceBytes: 2 * mib,
    processorMs: 3_000,
    processorMsPerMiB: 150,
    pieceMs: 120_000,
  },
} as const

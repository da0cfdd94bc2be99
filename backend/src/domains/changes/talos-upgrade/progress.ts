/**
 * The progress of a machine that pulls and writes an image, as the reason of the step that waits
 * for it.
 */
import type { InstallerProgress, OnProgress } from '#talos/client/lifecycle.ts'
import { type ChangeTurn, write } from '../frame.ts'

/** A machine reports each layer ten times a second. */
const atMostEveryMs = 2_000

const mib = (bytes: number): string => (bytes / 1024 ** 2).toFixed(0)

/** `brave-otter-042 pulls Talos v1.13.9: 34 of 84 MiB` */
export function progressSentence(progress: InstallerProgress, what: string, name: string): string {
  if (progress.doing === 'downloading')
    return `${name} pulls ${what}${progress.totalBytes === 0 ? '' : `: ${mib(progress.doneBytes)} of ${mib(progress.totalBytes)} MiB`}`
  return progress.doing === 'unpacking'
    ? `${name} unpacks ${what}`
    : `${name} writes ${what}${progress.said === '' ? '' : `: ${progress.said}`}`
}

/**
 * Writes what the machine does into the step: at once if it does something else, otherwise now and
 * then.
 */
export function showProgress(
  turn: ChangeTurn,
  key: string,
  what: string,
  name: string,
): OnProgress {
  const { job, operation, parts } = turn
  let last: { readonly doing: InstallerProgress['doing']; readonly at: number } | undefined
  return async (progress) => {
    if (last?.doing === progress.doing && job.now() - last.at < atMostEveryMs) return
    last = { doing: progress.doing, at: job.now() }
    await write(turn, (tx) =>
      parts.operations.step(tx, operation.id, key, {
        reason: progressSentence(progress, what, name),
      }),
    )
  }
}

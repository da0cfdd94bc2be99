/**
 * `apply --wait` runs without a person: what is refused only for now, such as by a server that is
 * silent for a moment, is tried again for a time. A rule's refusal still ends the run at once.
 */
import { waitLimits, waitLimitText } from '#contract/rule.ts'
import type { Context } from '../command.ts'
import { CliError } from '../exit.ts'
import { oneLine } from '../text.ts'

/** Pause between two attempts, in ms. */
const lookMs = 5_000

/**
 * Repeats what is refused for now, and says on standard error what it waits for. An attempt that is
 * refused must have changed nothing.
 * @throws CliError the last refusal once the limit is over; `interrupted` on Ctrl-C
 */
export async function patiently<T>(
  { terminal }: Pick<Context, 'terminal'>,
  attempt: () => Promise<T>,
): Promise<T> {
  const end = terminal.now() + waitLimits.apply
  let said = ''
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof CliError) || !error.isForNow) throw error
      const interrupted = terminal.interrupted()
      if (interrupted.aborted) throw new CliError('interrupted', 'Stopped')
      if (terminal.now() >= end)
        throw new CliError(
          error.exit,
          `${error.message}. Waited ${waitLimitText(waitLimits.apply)} for that`,
          { cause: error, ...(error.body && { body: error.body }) },
        )
      if (error.message !== said)
        terminal.err(
          `Waits, for at most ${waitLimitText(waitLimits.apply)}: ${oneLine(error.message)}\n`,
        )
      said = error.message
      await terminal.sleep(lookMs, interrupted)
      if (interrupted.aborted) throw new CliError('interrupted', 'Stopped')
    }
  }
}

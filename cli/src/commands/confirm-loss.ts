/** Changes after which Steelyard would no longer reach a server. */
import { lossPart, sentChangeSentence } from '#contract/network/sent-change.ts'
import { type LossConsent, undoRule, undoSeconds } from '#contract/servers/losses.ts'
import { beSure } from '../ask.ts'
import type { Context } from '../command.ts'
import { CliError } from '../exit.ts'
import { oneLine } from '../text.ts'

export const lossOption = {
  'confirm-loss': {
    kind: 'text',
    value: 'SERVER',
    many: true,
    help: 'A server that may be lost: the change is sent although Steelyard would not reach the server afterwards',
  },
  'undo-after': {
    kind: 'text',
    value: 'TIME',
    help: 'When Talos undoes the change, if Steelyard does not reach a server that may be lost: 1m to 60m, in a roll-out at most 5m; default 5m',
  },
  'for-good': {
    kind: 'flag',
    help: 'Nothing undoes the change of a server that may be lost, which is to be where Steelyard does not reach it',
  },
} as const

/** What the options of `lossOption` say. */
export interface LossOptions {
  readonly 'confirm-loss': readonly string[]
  readonly 'undo-after': string | undefined
  readonly 'for-good': boolean
}

/** What is sent: `LossConsent` with a time, or a bare name if no time was given. */
export interface Confirmed {
  confirmed_loss?: LossConsent[]
}

const secondsOf = { s: 1, m: 60, h: 3_600 }

/**
 * Seconds after which Talos undoes the change; null: never; undefined: nothing was said. @throws
 * CliError
 */
function undoOf({
  'undo-after': after,
  'for-good': forGood,
}: Omit<LossOptions, 'confirm-loss'>): number | null | undefined {
  if (after !== undefined && forGood)
    throw new CliError('usage', 'Give either --undo-after or --for-good')
  if (forGood) return null
  if (after === undefined) return undefined
  const [, number, unit] = /^(\d{1,4})([smh])$/.exec(after) ?? []
  const seconds = Number(number) * secondsOf[(unit ?? 's') as keyof typeof secondsOf]
  if (!(seconds >= undoSeconds.least && seconds <= undoSeconds.most))
    throw new CliError(
      'usage',
      `${undoRule.replace(', or null', '; --for-good is')}: --undo-after 5m`,
    )
  return seconds
}

/**
 * Calls the API. If it refuses because a server would be lost, says what undoes the change and asks
 * for the server's name. @throws CliError
 */
export async function withLosses<T>(
  { terminal }: Pick<Context, 'terminal'>,
  given: LossOptions,
  call: (confirmed: Confirmed) => Promise<T>,
): Promise<T> {
  const undo = undoOf(given)
  const names = [...given['confirm-loss']]
  for (;;) {
    try {
      return await call(
        names.length === 0
          ? {}
          : {
              confirmed_loss:
                undo === undefined
                  ? names
                  : names.map((name) => ({ name, undo_after_seconds: undo })),
            },
      )
    } catch (error) {
      if (!(error instanceof CliError) || error.body?.code !== 'loss_not_confirmed') throw error
      const { confirmed_loss: name, undo_after_seconds: choice } = error.body.fields ?? {}
      if (name === undefined || names.includes(name)) throw error
      const hint = `Confirm the loss: --confirm-loss ${oneLine(name)}${choice === undefined ? '' : ', with --undo-after 5m or --for-good'}`
      const chosen =
        choice === undefined || undo === undefined
          ? ''
          : ` ${sentChangeSentence({ name, reach: { tried: true }, undoAfterSeconds: undo })}.`
      const asked = chosen === '' ? error.message : lossPart(error.message)
      await beSure(terminal, `${oneLine(asked)}.${oneLine(chosen)}`, name, false).catch(
        (refusal: unknown) => {
          if (refusal instanceof CliError && refusal.exit === 'usage')
            throw new CliError(error.exit, error.message, {
              body: error.body!,
              hint,
              cause: refusal,
            })
          throw refusal
        },
      )
      names.push(name)
    }
  }
}

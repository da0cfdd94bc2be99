/** Changes after which Steelyard would no longer reach a server. */
import { beSure } from '../ask.ts'
import type { Context } from '../command.ts'
import { CliError } from '../exit.ts'
import { oneLine } from '../text.ts'

export const lossOption = {
  'confirm-loss': {
    kind: 'text',
    value: 'SERVER',
    many: true,
    help: 'A server that may be lost: the change is sent although Steelyard will not reach the server afterwards',
  },
} as const

/**
 * Calls the API. If it refuses because a server would be lost, asks for the server's name.
 * @throws CliError
 */
export async function withLosses<T>(
  { terminal }: Pick<Context, 'terminal'>,
  given: readonly string[],
  call: (confirmed: { confirmed_loss?: string[] }) => Promise<T>,
): Promise<T> {
  const names = [...given]
  for (;;) {
    try {
      return await call(names.length === 0 ? {} : { confirmed_loss: names })
    } catch (error) {
      if (!(error instanceof CliError) || error.body?.code !== 'loss_not_confirmed') throw error
      const name = error.body.fields?.['confirmed_loss']
      if (name === undefined || names.includes(name)) throw error
      const hint = `Confirm the loss: --confirm-loss ${oneLine(name)}`
      await beSure(terminal, `${oneLine(error.message)}.`, name, false).catch(
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

import { confirm } from '../../ui/actions.ts'
import { CallError } from '../client.ts'

/**
 * Calls the API. If it refuses a change because Steelyard would lose a server, asks for the
 * server's name, and calls again with the names that were typed. @throws the refusal if the user
 * cancels
 */
export async function withLosses<T>(
  send: (confirmed: { confirmed_loss?: string[] }) => Promise<T>,
): Promise<T> {
  const names: string[] = []
  for (;;) {
    try {
      return await send(names.length === 0 ? {} : { confirmed_loss: names })
    } catch (error) {
      const name =
        error instanceof CallError && error.code === 'loss_not_confirmed'
          ? error.fields['confirmed_loss']
          : undefined
      if (name === undefined || names.includes(name)) throw error
      const isMeant = await confirm({
        title: `Send it although ${name} would be lost?`,
        text: (error as CallError).message,
        label: 'Send it anyway',
        danger: true,
        typed: name,
      })
      if (!isMeant) throw error
      names.push(name)
    }
  }
}

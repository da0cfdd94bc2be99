import { type LossConsent, undoSeconds } from '#contract/servers/losses.ts'
import { confirm } from '../../ui/actions.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'
import { CallError } from '../client.ts'
import type { LossAsked } from './ConfirmLoss.tsx'

const ask = dialog<LossAsked, { undo_after_seconds: number | null }>(
  () => import('./ConfirmLoss.tsx'),
  0,
)

/** The longest time of a roll-out, in minutes: the other servers wait for it. */
export const rollOutMinutes = undoSeconds.mostInRollOut / 60

/**
 * Calls the API. If it refuses a change because Steelyard would lose a server, asks for the
 * server's name and for what undoes the change, and calls again with what was confirmed. @throws
 * the refusal if the user cancels
 */
export async function withLosses<T>(
  send: (confirmed: { confirmed_loss?: LossConsent[] }) => Promise<T>,
  mostMinutes = undoSeconds.most / 60,
): Promise<T> {
  const confirmed: Exclude<LossConsent, string>[] = []
  for (;;) {
    try {
      return await send(confirmed.length === 0 ? {} : { confirmed_loss: confirmed })
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== 'loss_not_confirmed') throw error
      const { confirmed_loss: name, undo_after_seconds: choice } = error.fields
      if (name === undefined || confirmed.some((one) => one.name === name)) throw error
      const answer =
        choice === undefined
          ? (await confirm({
              title: `Send it although ${name} would be lost?`,
              text: error.message,
              label: 'Send it anyway',
              danger: true,
              typed: name,
            })) && { undo_after_seconds: null }
          : await ask({ name, refusal: error.message, mostMinutes })
      if (!answer) throw error
      confirmed.push({ name, ...answer })
    }
  }
}

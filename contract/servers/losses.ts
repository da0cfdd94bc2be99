/**
 * Changes after which Steelyard would no longer reach a server. They are refused unless the loss is
 * confirmed by the server's name.
 */
import * as z from 'zod/mini'
import { no, type Verdict, yes } from '../rule.ts'

/**
 * `reason`: whole sentences, of which one says what undoes the change. `tried`: the change is sent
 * on trial, so that the user may choose after which time Talos undoes it.
 */
export const ServerLoss = z.object({
  node_id: z.uuid(),
  name: z.string(),
  reason: z.string(),
  tried: z.boolean(),
})
export type ServerLoss = z.infer<typeof ServerLoss>

/** Times in s after which Talos undoes a change whose loss was confirmed. `usual`: for a bare name. */
export const undoSeconds = { least: 60, most: 3_600, usual: 300, mostInRollOut: 300 } as const

const ServerName = z.string().check(z.maxLength(64))
const confirmedLoss = (least: number, most: number, sentence: string) =>
  z._default(
    z
      .array(
        z.union(
          [
            ServerName,
            z.strictObject({
              name: ServerName,
              undo_after_seconds: z.nullable(
                z.int().check(z.gte(least, sentence), z.lte(most, sentence)),
              ),
            }),
          ],
          'Give the name of a server, or {name, undo_after_seconds}',
        ),
      )
      .check(z.maxLength(500)),
    [],
  )

export const undoRule = `The time after which Talos undoes a change is ${undoSeconds.least} to ${undoSeconds.most} s, or null to send the change for good`
export const rollOutUndoRule = `In a roll-out, Talos undoes a change after ${undoSeconds.least} to ${undoSeconds.mostInRollOut} s; null sends it for good`

/** Servers that may be lost: names, or names with the time after which Talos undoes the change. */
export const ConfirmedLoss = confirmedLoss(undoSeconds.least, undoSeconds.most, undoRule)
/** The same in a roll-out, where the other servers wait. */
export const RollOutLoss = confirmedLoss(
  undoSeconds.least,
  undoSeconds.mostInRollOut,
  rollOutUndoRule,
)
/** The same as an operation keeps it, also if the bounds were others when it was asked for. */
export const KeptLoss = confirmedLoss(1, 86_400, undoRule)
export type LossConsent = z.infer<typeof ConfirmedLoss>[number]

/**
 * What was chosen for a server: seconds after which Talos undoes the change, null if the change is
 * sent for good. Undefined: nobody has confirmed the loss of the server.
 */
export function undoAfter(
  name: string,
  confirmed: readonly LossConsent[],
): number | null | undefined {
  const consent = confirmed.find((one) => (typeof one === 'string' ? one : one.name) === name)
  if (consent === undefined) return undefined
  return typeof consent === 'string' ? undoSeconds.usual : consent.undo_after_seconds
}

/** The same from the query of a call without a body. */
export const lossOfQuery = ({
  confirmed_loss: name,
  undo_after_seconds: seconds,
}: {
  readonly confirmed_loss?: string | undefined
  readonly undo_after_seconds?: string | undefined
}): LossConsent[] =>
  name === undefined
    ? []
    : seconds === undefined
      ? [name]
      : [{ name, undo_after_seconds: seconds === 'never' ? null : Number(seconds) }]

/** The query of such a call. */
export function queryOfLoss([consent]: readonly LossConsent[]): Parameters<typeof lossOfQuery>[0] {
  if (consent === undefined) return {}
  if (typeof consent === 'string') return { confirmed_loss: consent }
  const { name, undo_after_seconds: seconds } = consent
  return { confirmed_loss: name, undo_after_seconds: String(seconds ?? 'never') }
}

/** The longest time of the confirmed losses, in s; 0 without one. */
export const longestUndo = (confirmed: readonly LossConsent[]): number =>
  Math.max(
    0,
    ...confirmed.map((one) => (typeof one === 'string' ? 0 : (one.undo_after_seconds ?? 0))),
  )

/** Whether everybody who would be lost may be. */
export function canLose(
  losses: readonly Pick<ServerLoss, 'name' | 'reason'>[],
  confirmed: readonly LossConsent[],
): Verdict {
  const loss = losses.find(({ name }) => undoAfter(name, confirmed) === undefined)
  return loss === undefined
    ? yes
    : no(`${loss.reason}. To send it anyway, confirm the loss of ${loss.name} by its name`)
}

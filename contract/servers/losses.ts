/**
 * Changes after which Steelyard would no longer reach a server. They are refused unless the loss is
 * confirmed by the server's name.
 */
import * as z from 'zod/mini'
import { no, type Verdict, yes } from '../rule.ts'

/** `reason`: a whole sentence. */
export const ServerLoss = z.object({ node_id: z.uuid(), name: z.string(), reason: z.string() })
export type ServerLoss = z.infer<typeof ServerLoss>

/** Names of servers that may be lost. */
export const ConfirmedLoss = z._default(
  z.array(z.string().check(z.maxLength(64))).check(z.maxLength(500)),
  [],
)

/** Whether everybody who would be lost may be. */
export function canLose(
  losses: readonly Pick<ServerLoss, 'name' | 'reason'>[],
  confirmed: readonly string[],
): Verdict {
  const loss = losses.find(({ name }) => !confirmed.includes(name))
  return loss === undefined
    ? yes
    : no(`${loss.reason}. To send it anyway, confirm the loss of ${loss.name} by its name`)
}

/**
 * A server that falls silent soon after a change. Every sentence about its silence names the change
 * (`silenceReason`), because the change is its likely cause.
 */
import * as z from 'zod/mini'
import { time } from '../page.ts'

/** The last change that Steelyard has sent to the server. */
export const LastChange = z.object({
  at: time,
  /** "Change patches of web" */
  title: z.string(),
  /** Null: patches of the server alone. */
  operation_id: z.nullable(z.uuid()),
  /** How the change is taken back: `patches` by a change with `take_back`, `talos` by a rollback. */
  take_back: z.nullable(z.enum(['patches', 'talos'])),
})
export type LastChange = z.infer<typeof LastChange>

/** How soon after a change a server must fall silent so that the change is named, in ms. */
const silentWithinMs = 5 * 60_000

interface Silent {
  readonly reachable: boolean | null
  /** ISO 8601 */
  readonly unreachable_since: string | null
}

/** The change after which the server has fallen silent; null if it answers, or for another reason. */
export function silentAfter(
  { reachable, unreachable_since: since }: Silent,
  change: LastChange | null,
): LastChange | null {
  if (reachable !== false || since === null || change === null) return null
  const afterMs = Date.parse(since) - Date.parse(change.at)
  return afterMs >= 0 && afterMs <= silentWithinMs ? change : null
}

const offers = {
  patches: 'It can be taken back',
  talos: 'Talos can be rolled back on the server as soon as it answers',
} as const

/**
 * Why the server is silent: the reason of its last contact, with the change after which it fell
 * silent and what can be done.
 */
export function silenceReason(
  server: Silent & { readonly reason: string | null },
  change: LastChange | null,
): string | null {
  const after = silentAfter(server, change)
  if (after === null) return server.reason
  const afterS = Math.round((Date.parse(server.unreachable_since!) - Date.parse(after.at)) / 1000)
  const ago = afterS < 90 ? `${afterS} s` : `${Math.round(afterS / 60)} min`
  const offer = after.take_back === null ? '' : `. ${offers[after.take_back]}`
  const named = `It fell silent ${ago} after a change: ${after.title}${offer}`
  return server.reason === null ? named : `${server.reason.replace(/\.$/, '')}. ${named}`
}

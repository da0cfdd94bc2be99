/**
 * Whether a machine carries out an order that it has accepted. Talos answers a reboot or a reset
 * before it begins.
 */
import type { CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import { pastEvents } from './trouble.ts'

/** An accepted order. The machine's events about it have this actor id. */
export interface Order {
  readonly actorId: string
}

/**
 * An order waits this long, in ms, for a running sequence that it may not take over from, and is
 * dropped then (`v1alpha1_controller.go`, Run).
 */
const lockMs = 60_000
const tailEvents = 200

/**
 * `begun`: the machine has begun to carry the order out in this boot. `refused`: it has dropped it,
 * or hasn't begun within its own limit. `waiting`: it may still begin. `sinceMs`: time since the
 * order. @throws TalosError
 */
export async function orderState(
  client: TalosClient,
  { actorId }: Order,
  sinceMs: number,
  options: CallOptions = {},
): Promise<'begun' | 'refused' | 'waiting'> {
  const own = (await pastEvents(client, tailEvents, options)).filter(
    (event) => event.kind === 'sequence' && event.actorId === actorId,
  )
  if (own.some((event) => event.kind === 'sequence' && event.action === 'start')) return 'begun'
  return own.length > 0 || sinceMs > lockMs ? 'refused' : 'waiting'
}

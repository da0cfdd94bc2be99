/** What machines tell of themselves. Talos keeps its newest events in memory, until the next boot. */
import type { TalosClient } from '#talos/client/client.ts'
import type { TalosEvent } from '#talos/client/events.ts'
import { pastEvents } from '#talos/client/trouble.ts'

/** How many past events are asked for. */
const newest = 100

/** Takes events, also repeated ones. Contact doesn't depend on them, so it goes on without. */
export type OnEvent = (serverId: string, event: TalosEvent) => void

/** Follows the events of a machine until the connection ends; the next one begins again. */
export async function follow(id: string, client: TalosClient, onEvent: OnEvent): Promise<void> {
  try {
    for await (const event of client.events({ tail: newest })) onEvent(id, event)
  } catch {
    // The connection has ended, or the machine refuses its events.
  }
}

/**
 * Reads the past events of a machine over a connection that ends soon. In maintenance mode Talos
 * tells them since 1.13, whose `apid` serves readers then; before, a small server of its own answers
 * "not implemented" (`internal/app/maintenance/server.go`).
 */
export async function readPast(id: string, client: TalosClient, onEvent: OnEvent): Promise<void> {
  try {
    for (const event of await pastEvents(client, newest)) onEvent(id, event)
  } catch {
    // The machine doesn't serve its events.
  }
}

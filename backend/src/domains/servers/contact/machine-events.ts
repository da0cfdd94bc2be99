/**
 * Events that machines tell of themselves: in the words of Steelyard, and kept for when the machine
 * is off or has started anew. Talos keeps its events in memory.
 */
import { type Stage, stageSaid } from '#contract/servers/servers.ts'
import type { TalosEvent } from '#talos/client/events.ts'
import type { Platform } from '../../../platform.ts'
import { withoutTokens } from '../../../talos-fleet/without-tokens.ts'
import type { MachineEvent } from './repeated-events.ts'
import * as store from './store-events.ts'

/** How many events of a server are kept, and how many of them at least of those that matter. */
export const keptEvents = 500
export const keptThatMatter = 300
const dayMs = 24 * 3_600_000
/** How many events of a server may wait to be written; a machine that tells more is cut short. */
const mostWaiting = 100

/** Keeps the events that servers tell while they are watched. */
export function eventKeeper({ db, clock, config }: Pick<Platform, 'db' | 'clock' | 'config'>) {
  let waiting = new Map<string, MachineEvent[]>()
  return {
    take: (serverId: string, event: TalosEvent): void => {
      const shown = presentEvent(event)
      if (shown === undefined) return
      const before = waiting.get(serverId) ?? []
      waiting.set(serverId, [...before.slice(1 - mostWaiting), shown])
    },
    /** Events are kept as long as the history. */
    removeOld: async (): Promise<void> =>
      void (await store.removeOld(db, new Date(clock.now() - config.historyDays * dayMs))),
    /** Writes what waits. What can't be written is told again over the next connection. */
    async flush(): Promise<void> {
      if (waiting.size === 0) return
      const batch = waiting
      waiting = new Map()
      await store.keep(db, batch, { most: keptEvents, thatMatter: keptThatMatter })
    },
  }
}

const words = (text: string): string => text.replaceAll('_', ' ')

/** The event in words, without tokens; undefined if it says nothing to users. */
export function presentEvent(event: TalosEvent): MachineEvent | undefined {
  const said = saidOf(event)
  return said && { ...said, message: withoutTokens(said.message) }
}

function saidOf(event: TalosEvent): MachineEvent | undefined {
  const base = {
    id: `talos-${event.id}`,
    at: timeOf(event.id),
    source: 'talos' as const,
    by: null,
    operation_id: null,
    count: 1,
    first_at: null,
    matters: true,
  }
  switch (event.kind) {
    case 'machine_status':
      return {
        ...base,
        type: 'stage',
        message: stageSentence(event.stage, event.unmet),
        // A machine tells its stage anew whenever its readiness changes.
        matters: event.unmet.length === 0 && event.stage !== 'running',
      }
    case 'sequence':
      return {
        ...base,
        type: 'sequence',
        message: event.error
          ? `${event.sequence}: ${event.error}`
          : `${event.sequence}: ${event.action}`,
      }
    case 'phase':
      return { ...base, type: 'phase', message: `${event.phase}: ${event.action}` }
    case 'task':
      return { ...base, type: 'task', message: `${event.task}: ${event.action}` }
    case 'service':
      return {
        ...base,
        type: 'service',
        matters: event.action === 'failed',
        message: `${event.service} is ${words(event.action)}${event.message ? `: ${event.message}` : ''}`,
      }
    case 'config_error':
      return { ...base, type: 'configuration', message: event.error }
    case 'address':
      return {
        ...base,
        type: 'address',
        matters: false,
        message: `${event.hostname || 'The server'} has ${event.addresses.join(', ') || 'no address'}`,
      }
    default:
      return undefined
  }
}

const stageSentence = (stage: Stage, unmet: readonly { name: string; reason: string }[]): string =>
  `The server is ${stageSaid(stage)}${unmet.length > 0 ? `, not ready: ${unmet.map((u) => `${u.name} (${u.reason})`).join(', ')}` : ''}`

const base32 = '0123456789abcdefghijklmnopqrstuv'

/**
 * The time of an event by its id. Talos's event ids are xids: 20 characters of base32hex, whose
 * first 32 bits are a time in seconds. Null for other ids.
 */
function timeOf(xid: string): string | null {
  if (!/^[0-9a-v]{20}$/.test(xid)) return null
  const bits = Array.from(xid.slice(0, 7)).reduce(
    (value, c) => (value << 5n) | BigInt(base32.indexOf(c)),
    0n,
  )
  return new Date(Number(bits >> 3n) * 1000).toISOString()
}

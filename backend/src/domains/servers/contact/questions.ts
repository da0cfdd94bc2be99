/** Live queries of a machine: services, logs and its own events. */
import {
  onlyInCluster,
  type ServerEvent,
  type serverEvents,
  type serverLogs,
  type serverServices,
  type Stage,
  stageSaid,
} from '#contract/servers/servers.ts'
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import { TalosError } from '#talos/client/errors.ts'
import { messageOf, type TalosClient } from '#talos/client/client.ts'
import type { TalosEvent } from '#talos/client/events.ts'
import { pastEvents } from '#talos/client/trouble.ts'
import { has, since } from '#talos/versions.ts'
import type * as z from 'zod/mini'
import { streamWithoutTokens, withoutTokens } from '../../joining/api.ts'
import { OtherHardware } from '../../../talos-fleet/fleet.ts'
import type { CallParts } from '../parts.ts'
import * as store from '../store.ts'
import { alarming } from './observe.ts'

const answerWithinMs = 10_000
const credentialsLifetimeMs = 3_600_000
/** How many past events are requested from a machine. */
const eventsOfMachine = 100

type Event = z.output<typeof ServerEvent>

/** Features of an unknown version count as missing. */
const hasFeature = (
  row: Pick<store.ServerRow, 'talos_version'>,
  feature: 'maintenanceApi' | 'kernelLog',
): boolean => row.talos_version !== null && has(row.talos_version, feature)

export function questions({ db, clock, tell, audit, fleet, clusters }: CallParts) {
  const connect = alarming({ db, clock, tell, fleet })
  const known = async (id: string): Promise<store.ServerRow> =>
    store.existing(await store.byId(db, id), id)

  /**
   * Opens a client for reading in any mode of the machine. The caller closes the client, so a
   * stream may keep the connection open.
   */
  const open = async (row: store.ServerRow, signal: AbortSignal): Promise<TalosClient> => {
    if (row.status === 'deleted')
      throw new Problem('server_not_in_cluster', 'The server was removed')
    if (row.identity_state === 'changed')
      throw new Problem(
        'server_unreachable',
        `${row.name}: other hardware answered at its address, so no request is sent`,
      )
    const connection = connect(row)
    const options = { signal, deadlineMs: answerWithinMs }
    try {
      if (row.cluster_id && (await connection.presence(options)) === 'secured') {
        const keys = await clusters.talosCredentials(row.cluster_id, {
          role: 'os:reader',
          lifetimeMs: credentialsLifetimeMs,
        })
        if (!keys)
          throw new Problem(
            'server_unreachable',
            `${row.name} runs the configuration of an unknown cluster`,
          )
        return await connection.openSecure(keys, options)
      }
      if (!hasFeature(row, 'maintenanceApi'))
        throw new Problem(
          'server_not_in_cluster',
          `${onlyInCluster}, or runs Talos ${since.maintenanceApi} or newer`,
        )
      return await connection.openMaintenance(options)
    } catch (error) {
      throw asProblem(row, error)
    }
  }

  /** The machine's own events, newest first, or why the machine doesn't answer. */
  const ownEvents = async (
    row: store.ServerRow,
  ): Promise<{ items: Event[]; ok: boolean; reason: string | null }> => {
    try {
      const client = await open(row, AbortSignal.timeout(answerWithinMs))
      try {
        const shown = (await pastEvents(client, eventsOfMachine)).flatMap(
          (event) => presentEvent(event) ?? [],
        )
        return {
          items: shown.map((e) => ({ ...e, message: withoutTokens(e.message) })).toReversed(),
          ok: true,
          reason: null,
        }
      } finally {
        client.close()
      }
    } catch (error) {
      const problem = asProblem(row, error)
      if (!(problem instanceof Problem)) throw problem
      return { items: [], ok: false, reason: problem.message }
    }
  }

  return {
    async services(id: string): Promise<Answer<typeof serverServices>> {
      const row = await known(id)
      const client = await open(row, AbortSignal.timeout(answerWithinMs))
      try {
        const items = await client.services()
        return {
          items: items.map((s) => ({
            id: s.id,
            state: s.state,
            healthy: s.healthy ?? null,
            message: messageOf(s),
          })),
        }
      } catch (error) {
        throw asProblem(row, error)
      } finally {
        client.close()
      }
    },

    async *logs(
      id: string,
      { service, follow, tail }: Input<typeof serverLogs>['query'],
      signal: AbortSignal,
    ): AsyncGenerator<Uint8Array, void, undefined> {
      const row = await known(id)
      const client = await open(row, signal)
      try {
        const isFollowed = follow === 'true'
        // Older Talos versions have no kernel log service; their `dmesg` returns all kernel
        // messages.
        const isOnlyDmesg = service === 'kernel' && !hasFeature(row, 'kernelLog')
        const log = isOnlyDmesg
          ? client.dmesg({ follow: isFollowed }, { signal })
          : client.logs({ service, follow: isFollowed, tail }, { signal })
        yield* streamWithoutTokens(isOnlyDmesg && !isFollowed ? lastLines(log, tail) : log)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof TalosError && error.kind === 'not_found')
          throw new Problem(
            'not_found',
            `${row.name} has no log of "${service}": nothing of that name has run since it started`,
          )
        throw asProblem(row, error)
      } finally {
        client.close()
      }
    },

    /** Steelyard's events about the server and the machine's own events, newest first. */
    async events(id: string): Promise<Answer<typeof serverEvents>> {
      const row = await known(id)
      const [ours, { items, ok, reason }] = await Promise.all([
        audit.events({ kind: 'server', id }, 100),
        row.status === 'deleted'
          ? { items: [], ok: false, reason: 'The server was removed' }
          : ownEvents(row),
      ])
      const all = [...ours.map((e) => ({ ...e, source: 'steelyard' as const })), ...items]
      return {
        items: all.toSorted((a, b) => (b.at ?? '').localeCompare(a.at ?? '')),
        talos: { ok, reason },
      }
    },
  }
}

/** The last `most` lines of a finite stream. */
async function* lastLines(
  text: AsyncIterable<Uint8Array>,
  most: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const whole = Buffer.concat(await Array.fromAsync(text))
  let before = whole.length
  // The last line may end with a line break.
  for (let left = whole.at(-1) === 10 ? most + 1 : most; left > 0 && before >= 0; left--)
    before = before === 0 ? -1 : whole.lastIndexOf(10, before - 1)
  yield whole.subarray(before + 1)
}

/** Converts a machine's failure to a sentence for the caller. */
function asProblem(row: store.ServerRow, error: unknown): unknown {
  if (error instanceof OtherHardware) return new Problem('server_unreachable', error.message)
  if (!(error instanceof TalosError)) return error
  if (error.kind === 'not_found' || error.kind === 'invalid_argument')
    return new Problem('not_found', `${row.name}: ${error.message}`)
  if (error.kind === 'unimplemented' || error.kind === 'permission_denied')
    return new Problem('server_not_in_cluster', onlyInCluster)
  return new Problem('server_unreachable', `${row.name} does not answer: ${error.message}`)
}

const words = (text: string): string => text.replaceAll('_', ' ')

function presentEvent(event: TalosEvent): Event | undefined {
  const base = {
    id: `talos-${event.id}`,
    at: timeOf(event.id),
    source: 'talos' as const,
    by: null,
    operation_id: null,
  }
  switch (event.kind) {
    case 'machine_status':
      return { ...base, type: 'stage', message: stageSentence(event.stage, event.unmet) }
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
        message: `${event.service} is ${words(event.action)}${event.message ? `: ${event.message}` : ''}`,
      }
    case 'config_error':
      return { ...base, type: 'configuration', message: event.error }
    case 'address':
      return {
        ...base,
        type: 'address',
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

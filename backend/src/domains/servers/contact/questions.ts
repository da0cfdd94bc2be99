/** Live queries of a machine: services, logs and its own events. */
import {
  onlyInCluster,
  type ServerEvent,
  type serverEvents,
  type serverLogs,
  type serverServices,
} from '#contract/servers/servers.ts'
import type * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import { TalosError } from '#talos/client/errors.ts'
import { messageOf, type TalosClient } from '#talos/client/client.ts'
import { pastEvents } from '#talos/client/trouble.ts'
import { has, since } from '#talos/versions.ts'
import { streamWithoutTokens } from '../../../talos-fleet/without-tokens.ts'
import { OtherHardware } from '../../../talos-fleet/fleet.ts'
import type { CallParts } from '../parts.ts'
import * as store from '../store.ts'
import { keptEvents, presentEvent } from './machine-events.ts'
import { counted, type MachineEvent } from './repeated-events.ts'
import { alarming } from './observe.ts'
import * as kept from './store-events.ts'
import { timeLimit } from '../../../time-limit.ts'

const answerWithinMs = 10_000
const credentialsLifetimeMs = 3_600_000
/** How many past events are requested from a machine. */
const eventsOfMachine = 100

/** Features of an unknown version count as missing. */
const hasFeature = (
  row: Pick<store.ServerRow, 'talos_version'>,
  feature: 'maintenanceApi' | 'kernelLog',
): boolean => row.talos_version !== null && has(row.talos_version, feature)

/** The event as callers see it. */
const shownEvent = ({
  id,
  at,
  count,
  first_at,
  source,
  type,
  message,
  by,
  operation_id,
}: MachineEvent): z.output<typeof ServerEvent> => ({
  id,
  at,
  count,
  first_at,
  source,
  type,
  message,
  by,
  operation_id,
})

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
  ): Promise<{ items: MachineEvent[]; ok: boolean; reason: string | null }> => {
    try {
      const client = await open(row, timeLimit(answerWithinMs))
      try {
        const shown = (await pastEvents(client, eventsOfMachine)).flatMap(
          (event) => presentEvent(event) ?? [],
        )
        return {
          items: shown,
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
      const client = await open(row, timeLimit(answerWithinMs))
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

    /**
     * Steelyard's events about the server and the machine's own events, newest first: those that it
     * tells now, and those that were kept.
     */
    async events(id: string): Promise<Answer<typeof serverEvents>> {
      const row = await known(id)
      const [ours, before, { items, ok, reason }] = await Promise.all([
        audit.events({ kind: 'server', id }, 100),
        kept.ofServer(db, id, keptEvents),
        row.status === 'deleted'
          ? { items: [], ok: false, reason: 'The server was removed' }
          : ownEvents(row),
      ])
      // Ids grow with time, also within a second.
      const told = counted(before, items).rows.toSorted((a, b) => (a.id < b.id ? 1 : -1))
      const all = [
        ...ours.map((e) => ({ ...e, source: 'steelyard' as const, count: 1, first_at: null })),
        ...told.map(shownEvent),
      ]
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

/**
 * Keeps contact with every server. An idle server is contacted every two minutes with jitter; a
 * failure is retried after 20 s and 40 s, and three failures in a row make the server unreachable.
 * Servers in a cluster or with an operation are watched: their connection stays open, and a loss is
 * noticed within 15 s. Contacts are not engine jobs: a lost contact does no harm, because the next
 * one reports everything again.
 */
import { lateBy, OutOfTime } from '#contract/connections/causes.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { type Identity, type MachineStatus, readStage } from '#talos/client/inventory.ts'
import type { Usage } from '#talos/client/usage.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import type { Clock } from '../clock.ts'
import type { Lane } from './budget.ts'
import {
  type ConnectOptions,
  type Fleet,
  type KnownServer,
  OtherHardware,
  type Pin,
  readDeadlineMs,
} from './fleet.ts'
import { type PackedReading, readEverything, type Reading } from './reading.ts'
import { follow, type OnEvent, readPast } from './told-events.ts'
import { inGroups, missesToUnreachable, schedule, upcoming } from './schedule.ts'

export interface Watched extends KnownServer {
  readonly clusterId: string | null
  /**
   * The server runs its cluster's configuration. What a machine in maintenance mode says at its
   * address is not believed then.
   */
  readonly isMember: boolean
  /** The server is in a cluster, or an operation works on it. */
  readonly live: boolean
  readonly reachable: boolean | null
  /** Milliseconds since 1970; null: never. */
  readonly lastContactAt: number | null
  readonly fingerprint: string | null
  readonly hasHardware: boolean
  /** The stage stored at the last reading. */
  readonly stage: string
}

export type Observation = {
  readonly serverId: string
  /** Time of the request, and time of the response or failure, in milliseconds since 1970. */
  readonly askedAt: number
  readonly at: number
  /** The dialled address: a response from a former address is ignored. */
  readonly address: string
  /**
   * The server's cluster at the time of the request: the observation is ignored if the server has
   * left the cluster since.
   */
  readonly clusterId: string | null
  /** The expected hardware: the observation is ignored if the machine was replaced since. */
  readonly uuid: string | null
  readonly serial: string | null
} & (
  | {
      readonly kind: 'seen'
      readonly status: MachineStatus
      readonly fingerprint: string | null
      readonly reading: PackedReading | null
      /** Read once a minute over mutual TLS, because machines in maintenance refuse it. */
      readonly usage: Usage | null
    }
  /** `unreachable`: this was the third failure in a row. */
  | { readonly kind: 'missed'; readonly reason: string; readonly unreachable: boolean }
  /** `fingerprint` is null if the hardware has a certificate of the server's cluster. */
  | {
      readonly kind: 'other'
      readonly found: Identity
      readonly fingerprint: string | null
      readonly unreachable: boolean
    }
)

/** Why a member of a cluster counts as silent while a machine in maintenance mode answers. */
export const unproven =
  'a machine in maintenance mode answers at its address: another machine, or it has lost its configuration'

const liveDeadlineMs = 3_500
/** Interval in which servers that become due are looked for. */
const tickMs = 500
/** Minimum time between two reads of the roster, so that every second look reads it. */
const rosterMs = 800
const batchMs = 1_000
const usageEveryMs = 60_000
/**
 * How many contacts of a lane may wait for a place. Further due servers wait without a contact,
 * which would take 3 kB of memory each.
 */
const mostWaiting = 64

export interface ContactParts {
  readonly fleet: Fleet
  readonly clock: Clock
  readonly random: () => number
  /**
   * The servers with which this process currently keeps contact: the same array if nothing has
   * changed.
   */
  readonly roster: () => Promise<readonly Watched[]>
  /** Credentials for a cluster's servers; null while the cluster has none yet. */
  readonly credentials: (clusterId: string) => Promise<Credentials | null>
  /**
   * Called if a server has refused the credentials or shown a certificate of another authority,
   * because the cluster's credentials may have changed.
   */
  readonly onRefused?: (clusterId: string) => void
  /** Makes a reading small, because it may wait for a second until it is stored. */
  readonly pack: (reading: Reading) => PackedReading
  /**
   * Stores the observations, or keeps them for a later call: it is called every second, even
   * without observations, and with `isLast` before the end. Returns the ids of servers that must be
   * read again.
   */
  readonly sink: (
    observations: readonly Observation[],
    isLast: boolean,
  ) => Promise<readonly string[]>
  /**
   * Called with each event that a server tells of itself, also with repeated ones: a watched server
   * at once, one in maintenance when everything is read.
   */
  readonly onEvent?: OnEvent
  readonly onError: (error: unknown) => void
  /** Factor for all intervals: 1 in production; a test runs faster with 0.05. */
  readonly pace?: number
}

interface State {
  server: Watched
  /**
   * Monotonic time, like `everythingAt`, so that setting back the wall clock doesn't delay the next
   * contact.
   */
  nextAt: number
  misses: number
  isBusy: boolean
  everythingAt: number
  /** Monotonic time of the next reading of the usage. */
  usageAt: number
  client: TalosClient | null
}

/**
 * The server's state at the time of the request. The roster may have changed before the response.
 */
interface Asked {
  readonly server: Watched
  readonly at: number
}

export function contacts({
  fleet,
  clock,
  random,
  roster,
  credentials,
  onRefused,
  pack,
  sink,
  onEvent,
  onError,
  pace = 1,
}: ContactParts) {
  const states = new Map<string, State>()
  let observed: Observation[] = []
  let taken: readonly Watched[] | undefined
  let takenAt = -Infinity
  /**
   * Each contact has a signal of its own: adding a listener to an AbortSignal takes longer the more
   * listeners it has.
   */
  const open = new Set<AbortController>()

  const { firstAt, nextMs, firstReadingAt, nextReadingMs } = schedule({ clock, random, pace })
  const soon = upcoming(states, pace)
  const about = ({ server: { id, address, clusterId, uuid, serial }, at }: Asked) => ({
    serverId: id,
    askedAt: at,
    address,
    clusterId,
    uuid,
    serial,
  })
  /**
   * Whether earlier observations of a server still apply after a change of its row. They don't if
   * its address, cluster or hardware has changed, or if `reachable` was cleared, as when a user
   * confirms the hardware after an alarm.
   */
  const stillApplies = (before: Watched, after: Watched) =>
    before.address === after.address &&
    before.clusterId === after.clusterId &&
    before.uuid === after.uuid &&
    before.serial === after.serial &&
    (before.reachable === null || after.reachable !== null)
  const drop = (state: State) => {
    state.client?.close()
    state.client = null
  }

  /** Discards everything seen so far, and contacts the server at once. */
  const restart = (state: State, now: number) => {
    drop(state)
    state.misses = 0
    state.everythingAt = 0
    state.nextAt = Math.min(state.nextAt, now)
    soon.changed(state)
  }

  const takeRoster = async (): Promise<void> => {
    const now = clock.monotonic()
    if (now - takenAt < rosterMs * pace) return
    const servers = await roster()
    takenAt = now
    if (servers === taken) return
    taken = servers
    const gone = new Set(states.keys())
    for (const server of servers) {
      gone.delete(server.id)
      const state = states.get(server.id)
      if (!state) {
        const added: State = {
          server,
          nextAt: firstAt(server, now, servers.length),
          misses: server.reachable === false ? missesToUnreachable : 0,
          isBusy: false,
          everythingAt: firstReadingAt(server, now),
          usageAt: 0,
          client: null,
        }
        states.set(server.id, added)
        soon.changed(added)
        continue
      }
      if (state.server === server) continue
      if (!stillApplies(state.server, server)) restart(state, now)
      else if (server.live && !state.server.live) {
        state.nextAt = Math.min(state.nextAt, now)
        soon.changed(state)
      }
      state.server = server
    }
    for (const id of gone) {
      const state = states.get(id)!
      drop(state)
      states.delete(id)
      soon.changed(state)
    }
  }

  /** Null if the machine refuses: a server that answers is not silent because it isn't measured. */
  const usageOf = (state: State, client: TalosClient, now: number): Promise<Usage | null> => {
    state.usageAt = now + usageEveryMs * pace
    return client.usage().catch((error: unknown) => {
      if (error instanceof TalosError && error.kind !== 'cancelled') return null
      throw error
    })
  }

  /**
   * Reads the stage, and everything if that is due or may have changed. @param pin the certificate
   * of a machine in maintenance
   */
  const read = async (
    state: State,
    asked: Asked,
    client: TalosClient,
    pin: Pin | null,
  ): Promise<Extract<Observation, { kind: 'seen' }>> => {
    const { server } = asked
    const fingerprint = pin?.fingerprint ?? null
    const now = clock.monotonic()
    const status = await readStage(client)
    // Compares with the stored values, not with the last observation, which may never have been
    // stored.
    const isUnknown =
      !server.hasHardware ||
      state.everythingAt === 0 ||
      (fingerprint !== null && fingerprint !== server.fingerprint) ||
      status.stage !== server.stage
    let reading: PackedReading | null = null
    if (isUnknown || now >= state.everythingAt) {
      reading = pack(await readEverything(client, status))
      // The connection to a machine in maintenance ends with the contact. A new server is shown first.
      if (pin !== null && onEvent && server.hasHardware) await readPast(server.id, client, onEvent)
      state.everythingAt = now + nextReadingMs()
    }
    const usage = pin === null && now >= state.usageAt ? await usageOf(state, client, now) : null
    return { ...about(asked), kind: 'seen', at: clock.now(), status, fingerprint, reading, usage }
  }

  /** Reads only the identity of a machine in maintenance, because other hardware raises an alarm. */
  const disbelieve = async ({ server }: Asked, options: ConnectOptions): Promise<never> => {
    await fleet.connection(server).maintenance(() => Promise.resolve(), options)
    throw new TalosError('permission_denied', unproven)
  }

  /**
   * Uses mutual TLS on a connection that stays open. The machine may still, or again, be in
   * maintenance mode.
   */
  const watch = async (state: State, asked: Asked, options: ConnectOptions, keys: Credentials) => {
    const connection = fleet.connection(asked.server)
    if (!state.client) {
      if ((await connection.presence(options)) === 'maintenance') {
        if (!asked.server.isMember)
          return connection.maintenance((client, pin) => read(state, asked, client, pin), options)
        return disbelieve(asked, options)
      }
      // The signal isn't passed, because its abort would close the connection, which stays open
      // after this contact.
      state.client = await connection.openSecure(keys, { ...options, signal: undefined })
      if (onEvent) void follow(asked.server.id, state.client, onEvent)
    }
    return read(state, asked, state.client, null)
  }

  const ask = async (state: State, asked: Asked, options: ConnectOptions): Promise<Observation> => {
    const { server } = asked
    const keys = server.clusterId === null ? null : await credentials(server.clusterId)
    if (keys) return watch(state, asked, options, keys)
    drop(state)
    if (server.isMember) return disbelieve(asked, options)
    return fleet
      .connection(server)
      .maintenance((client, pin) => read(state, asked, client, pin), options)
  }

  const missed = (
    state: State,
    asked: Asked,
    error: unknown,
    isLate: boolean,
    deadlineMs: number,
  ): Observation => {
    drop(state)
    const base = { ...about(asked), at: clock.now() }
    state.misses += 1
    const unreachable = state.misses >= missesToUnreachable
    if (error instanceof OtherHardware) {
      const { found, fingerprint } = error
      return { ...base, kind: 'other', found, fingerprint, unreachable }
    }
    const isRefused =
      error instanceof TalosError && (error.kind === 'refused' || error.kind === 'certificate')
    if (isRefused && asked.server.clusterId !== null) onRefused?.(asked.server.clusterId)
    const reason = isLate
      ? lateBy(deadlineMs)
      : error instanceof Error
        ? error.message
        : String(error)
    return { ...base, kind: 'missed', reason, unreachable }
  }

  /**
   * Whether a server has never answered or didn't answer the last time. Contacts with such servers
   * may take long, so they use a separate lane.
   */
  const isDoubtful = ({ misses, server }: State): boolean =>
    misses > 0 || server.lastContactAt === null

  const laneOf = (state: State): Lane => (isDoubtful(state) ? 'suspect' : 'contact')

  const contact = async (state: State, stop: AbortSignal): Promise<void> => {
    const deadlineMs = state.server.live ? liveDeadlineMs : readDeadlineMs
    const own = new AbortController()
    const end = () => own.abort(new OutOfTime(deadlineMs))
    let timer: NodeJS.Timeout | undefined
    let asked: Asked = { server: state.server, at: clock.now() }
    const begin = () => {
      // The time of the request is set again, because the contact may have waited for a free place.
      asked = { server: state.server, at: clock.now() }
      // The deadline starts here, not when the contact was due, and covers the whole contact, so
      // that a slow server blocks a place no longer than a silent one.
      timer = setTimeout(end, deadlineMs)
      return ask(state, asked, { signal: own.signal, deadlineMs, lane: 'held' })
    }
    state.isBusy = true
    open.add(own)
    try {
      const seen = await (state.client
        ? begin()
        : fleet.budget.run(laneOf(state), begin, own.signal))
      // Pushed in a separate statement after the wait, because `observed` may have been replaced
      // meanwhile.
      observed.push(seen)
      state.misses = 0
    } catch (error) {
      if (!stop.aborted) observed.push(missed(state, asked, error, own.signal.aborted, deadlineMs))
    } finally {
      clearTimeout(timer)
      open.delete(own)
      state.isBusy = false
      state.nextAt = clock.monotonic() + nextMs(state.server, state.misses)
      soon.changed(state)
      // If the server changed or was removed during this contact, the open connection may lead to
      // the wrong machine.
      if (states.get(state.server.id) !== state || !stillApplies(asked.server, state.server))
        restart(state, clock.monotonic())
    }
  }

  const flush = async (isLast = false): Promise<void> => {
    const batch = observed
    observed = []
    const readAgain = (id: string) => {
      const state = states.get(id)
      if (state) state.everythingAt = 0
    }
    try {
      for (const id of await sink(batch, isLast)) readAgain(id)
    } catch (error) {
      // The observations are lost, but the next contacts report the state again. Full readings are
      // rare, so a new one is due at once.
      for (const one of batch)
        if (one.kind === 'seen' && one.reading !== null) readAgain(one.serverId)
      onError(error)
    }
  }

  /** Runs `act` every `ms`, or later if it takes longer. */
  const every = async (
    ms: number,
    signal: AbortSignal,
    act: () => Promise<void>,
  ): Promise<void> => {
    while (!signal.aborted) {
      const began = clock.monotonic()
      try {
        await act()
      } catch (error) {
        onError(error)
      }
      await clock.sleep(Math.max(0, began + ms - clock.monotonic()), signal).catch(() => undefined)
    }
  }

  return {
    async run(signal: AbortSignal): Promise<void> {
      const running = new Set<Promise<void>>()
      const everyTickMs = Math.max(20, tickMs * pace)
      signal.addEventListener('abort', () => open.forEach((one) => one.abort(signal.reason)), {
        once: true,
      })
      const begin = (state: State): void => {
        if (!state.client && fleet.budget.waiting(laneOf(state)) >= mostWaiting) return
        const one = contact(state, signal).finally(() => running.delete(one))
        running.add(one)
      }
      const tick = async () => {
        await takeRoster()
        const now = clock.monotonic()
        for (const group of inGroups(soon.at(now, everyTickMs), {
          now,
          untilMs: everyTickMs,
          pace,
        })) {
          const inMs = group[0]!.nextAt - clock.monotonic()
          if (inMs > 1) await clock.sleep(inMs, signal).catch(() => undefined)
          if (signal.aborted) return
          for (const state of group) begin(state)
        }
      }
      await Promise.all([
        every(everyTickMs, signal, tick),
        every(Math.max(50, batchMs * pace), signal, () => flush()),
      ])
      await Promise.all(running)
      await flush(true)
      for (const state of states.values()) drop(state)
      states.clear()
    },
  }
}

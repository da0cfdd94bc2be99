/**
 * Dials announced machines. A machine opens its API some seconds after it gets its document, so the
 * machine is dialled repeatedly, at short intervals first. It is dialled at the address that
 * announced it, and is registered after its API has reported the announced identity and the host
 * name assigned to that address.
 */
import { type ErrorCode, Problem } from '#contract/errors.ts'
import { isSharedSerial } from '#contract/servers/identity.ts'
import { earlyText } from '#talos/schematic/early.ts'
import { TalosError } from '#talos/client/errors.ts'
import { isDatabaseAway } from '../../causes/causes.ts'
import { type Tx } from '../../db/db.ts'
import { type Fence, FenceLost, type Job, oneByOne, type Outcome } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { Fleet, Found } from '../../talos-fleet/fleet.ts'
import type { Registering } from '../servers/api.ts'
import type { KeepDocuments } from './api.ts'
import * as store from './store.ts'

/**
 * Maximum number of concurrent dials in one shard. All shards together may use at most half of the
 * limit for all dials.
 */
const atOnce = 4
/**
 * How many of these dials may go to machines that didn't answer last time, so that such machines
 * don't delay new ones.
 */
const silentAtOnce = 2
/** Time limit for connecting, and for each response. */
const dialDeadlineMs = 5_000
/**
 * Time limit of a look (all calls to one machine), because a machine may answer every call slowly.
 */
const lookDeadlineMs = 15_000
/**
 * How long to wait for a machine after its announcement. A machine that announces itself runs Talos
 * already; only its API isn't open yet.
 */
export const patienceMs = 300_000
/**
 * How long a machine may report another host name than the assigned one: Talos applies the document
 * at about the same time as it opens its API.
 */
export const wrongNameMs = 60_000
/**
 * A run ends after this time even if there is more to do, so that it stays well below the engine's
 * deadline.
 */
const longestRunMs = 60_000
/** Interval at which a run reads new arrivals. */
const lookMs = 250
/**
 * The interval while more machines wait for their first look than can be dialled at once: new
 * arrivals have to wait anyway.
 */
const crowdedLookMs = 2_000

/**
 * Milliseconds until the next try, by the time since the announcement. A machine should be seen
 * within 10 s; later, seconds don't matter.
 */
const delayMs = (age: number): number => (age < 15_000 ? 500 : age < 60_000 ? 2_000 : 10_000)

const revoked = 'The join token was revoked before the machine answered'

/** Tries of this process to reach a machine. A machine without tries is dialled at once. */
interface Try {
  readonly hostName: string | null
  dueAt: number
  tries: number
  /** The machine didn't answer at all last time, so the next dial may take its whole time limit. */
  isSilent: boolean
  wrongNameSince: number | undefined
}

/** How the answering machine contradicts the announcement. */
function contradictionOf(
  { uuid, serial, mac, address }: store.Waiting,
  { identity, reading }: Found,
): string | undefined {
  // Talos announces no serial number in place of some makers' defaults.
  const isSerialSame =
    identity.serial === serial || (serial === '' && isSharedSerial(identity.serial))
  if (identity.uuid !== uuid || !isSerialSame) {
    const [said, announced] = [identity, { uuid, serial }].map(
      (i) => `UUID ${i.uuid}, serial ${i.serial || 'unknown'}`,
    )
    return `The machine that answers at ${address} is not the one that announced itself from this address: it has ${said}; the announcement had ${announced}`
  }
  if (mac === null || reading.inventory.interfaces.some((i) => i.hardware_addr === mac))
    return undefined
  return `The announced MAC address ${mac} is on no interface of the machine that answers at ${address}`
}

interface ArrivingParts extends Platform {
  readonly fleet: Fleet
  readonly servers: Registering
  readonly keepDocuments: KeepDocuments
}

export function arriving(parts: ArrivingParts): (job: Job) => Promise<Outcome> {
  const { db, clock, random, log, record, tell, fleet, servers, keepDocuments } = parts
  const tried = new Map<string, Try>()
  const tryOf = ({ id, host_name }: store.Waiting): Try => {
    const known = tried.get(id)
    if (known && known.hostName === host_name) return known
    const fresh = {
      hostName: host_name,
      dueAt: 0,
      tries: 0,
      isSilent: false,
      wrongNameSince: undefined,
    }
    tried.set(id, fresh)
    return fresh
  }

  /**
   * Writes the audit entry of an arrival that ended without a server. A refusal is counted like
   * those in `refusals.ts`.
   */
  const recordEnd = async (
    tx: Tx,
    { token_id, token_name, uuid, serial, mac, address }: store.Waiting,
    action: 'join.failed' | 'join.refused',
    result: ErrorCode,
    reason: string,
  ): Promise<store.End> => {
    const after = {
      reason,
      address,
      ...(action === 'join.refused' && { count: 1 }),
      uuid,
      serial,
      mac,
    }
    await record(tx, system, {
      action,
      target: { kind: 'join_token', id: token_id, name: token_name },
      result,
      after,
    })
    return { result: action === 'join.refused' ? 'refused' : 'failed', reason }
  }

  /**
   * Ends the wait for a machine, unless the machine was assigned another host name meanwhile. `act`
   * returns the wait's result, or null to continue waiting.
   */
  const settle = (
    write: Fence['write'],
    arrival: store.Waiting,
    act: (tx: Tx, arrival: store.Waiting) => Promise<store.End | null>,
  ) =>
    write(async (tx) => {
      const current = await store.lockWaiting(tx, arrival)
      if (!current) return
      const how =
        current.token_revoked_at !== null
          ? await recordEnd(tx, current, 'join.refused', 'forbidden', revoked)
          : await act(tx, current)
      if (!how) return
      await store.settle(tx, current.id, how)
      await tell(tx, system, {
        name: 'join_token.updated',
        object: { kind: 'join_token', id: current.token_id },
      })
    })

  const fail = (write: Fence['write'], arrival: store.Waiting, reason: string, code: ErrorCode) =>
    settle(write, arrival, (tx, current) => recordEnd(tx, current, 'join.failed', code, reason))

  const register = async (
    { signal }: Job,
    write: Fence['write'],
    arrival: store.Waiting,
    found: Found,
  ): Promise<void> => {
    const candidate = await servers.candidate(arrival.address, found, signal)
    await settle(write, arrival, async (tx, current) => {
      const joined = await servers.register(tx, system, candidate, {
        datacenterId: current.datacenter_id,
        token: current.token_name,
        labels: current.labels,
      })
      // Null: another address of the hardware was recorded a moment ago. The next try is due at
      // once and probes the recorded address too.
      if (!joined) return null
      if (joined.kind !== 'alarm') {
        const { kind, server, sentence, doubt = null } = joined
        if (kind === 'new' && current.documents !== null) {
          const macs = found.reading.inventory.interfaces.flatMap((i) => i.hardware_addr ?? [])
          const own = earlyText(current.documents, macs)
          // Empty if the image has nothing but addresses of other machines.
          if (own !== '') await keepDocuments(tx, server.id, own)
        }
        return {
          result: 'joined',
          reason: kind === 'new' ? doubt : sentence,
          server_id: server.id,
        }
      }
      const { server, sentence } = joined
      return {
        ...(await recordEnd(tx, current, 'join.failed', 'identity_changed', sentence)),
        ...(server && { server_id: server.id }),
      }
    })
  }

  /**
   * After no usable answer: schedules the machine's next try, or fails the arrival if the machine's
   * time limit is over.
   */
  const wait = async (
    write: Fence['write'],
    arrival: store.Waiting,
    state: Try,
    why: string,
    code: ErrorCode,
  ): Promise<void> => {
    const now = clock.now()
    const age = now - arrival.at.getTime()
    if (state.wrongNameSince !== undefined && now - state.wrongNameSince >= wrongNameMs)
      return fail(write, arrival, why, 'identity_changed')
    if (age >= patienceMs)
      return fail(
        write,
        arrival,
        `Waited ${patienceMs / 60_000} minutes for its API at ${arrival.address}: ${why}`,
        code,
      )
    state.tries += 1
    state.dueAt = now + delayMs(age) * (0.75 + 0.5 * random())
  }

  const look = async (job: Job, write: Fence['write'], arrival: store.Waiting): Promise<void> => {
    const { address, uuid, host_name } = arrival
    const state = tryOf(arrival)
    const late = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const begin = () => {
      // The time limit starts here, so that waiting in the queue for dials doesn't count.
      timer = setTimeout(() => late.abort(new Error('late')), lookDeadlineMs)
      return fleet.probe(address, {
        signal: AbortSignal.any([job.signal, late.signal]),
        deadlineMs: dialDeadlineMs,
        lane: 'held',
      })
    }
    let found: Found
    try {
      found = await fleet.budget.run(state.isSilent ? 'suspect' : 'contact', begin, job.signal)
    } catch (error) {
      if (job.signal.aborted) throw error
      if (error instanceof Problem) return fail(write, arrival, error.message, 'dial_refused')
      state.isSilent =
        late.signal.aborted || (error instanceof TalosError && error.kind === 'timeout')
      if (late.signal.aborted)
        return wait(
          write,
          arrival,
          state,
          `did not answer within ${lookDeadlineMs / 1000} s`,
          'server_unreachable',
        )
      if (!(error instanceof TalosError)) throw error
      // The machine is configured, so it can be identified only with its cluster's credentials.
      // Here only its announcement is recorded.
      const member =
        error.kind === 'permission_denied' ? await servers.memberAt(db, uuid, address) : null
      if (member)
        return settle(write, arrival, async () => ({
          result: 'joined',
          reason: `Recognised as ${member.name}, which is in the cluster ${member.cluster_name}`,
          server_id: member.id,
        }))
      return wait(write, arrival, state, error.message, 'server_unreachable')
    } finally {
      clearTimeout(timer)
    }
    state.isSilent = false
    const contradiction = contradictionOf(arrival, found)
    if (contradiction !== undefined) return fail(write, arrival, contradiction, 'identity_changed')
    const shown = found.reading.status.hostname
    if (shown === host_name) return register(job, write, arrival, found)
    state.wrongNameSince ??= clock.now()
    const why = `The machine at ${address} shows the host name ${shown || '(none)'}, not the assigned one: it is another machine, or a proxy answers for it`
    return wait(write, arrival, state, why, 'identity_changed')
  }

  /** An error with one machine must not hold up the others. */
  const stumble = async (
    job: Job,
    write: Fence['write'],
    arrival: store.Waiting,
    error: unknown,
  ): Promise<void> => {
    if (job.signal.aborted || error instanceof FenceLost || isDatabaseAway(error)) throw error
    log.error('join.stumbled', { ip: arrival.address, error })
    await wait(
      write,
      arrival,
      tryOf(arrival),
      'Steelyard could not register the machine; see the log of Steelyard for the reason',
      'internal',
    )
  }

  return async (job) => {
    const shard = Number(job.key)
    const write = oneByOne(job.fence)
    const began = clock.now()
    const inFlight = new Map<string, { readonly isSilent: boolean; readonly done: Promise<void> }>()
    /** Machines whose dial ended after `waiting` was read; their rows in `waiting` are outdated. */
    const ended = new Set<string>()
    const failures: unknown[] = []
    let waiting: store.Waiting[] = []
    let readAt = Number.NEGATIVE_INFINITY
    let isCrowded = false
    for (;;) {
      // Doesn't read the list after every look, because it may have thousands of rows.
      if (
        inFlight.size === 0 ||
        clock.monotonic() - readAt >= (isCrowded ? crowdedLookMs : lookMs)
      ) {
        const told = [...ended]
        readAt = clock.monotonic()
        waiting = await store.waitingIn(db, shard)
        for (const id of told) ended.delete(id)
      }
      const now = clock.now()
      const isEnding = job.signal.aborted || failures.length > 0 || now - began >= longestRunMs
      // Machines with the fewest tries go first, so that machines that never answer don't delay new
      // ones.
      const due = isEnding
        ? []
        : waiting
            .filter((a) => !inFlight.has(a.id) && !ended.has(a.id) && tryOf(a).dueAt <= now)
            .toSorted((a, b) => tryOf(a).tries - tryOf(b).tries)
      for (const arrival of due) {
        const { isSilent } = tryOf(arrival)
        const silent = [...inFlight.values()].filter((f) => f.isSilent).length
        if (inFlight.size >= atOnce || (isSilent && silent >= silentAtOnce)) continue
        const done = look(job, write, arrival)
          .catch((error: unknown) => stumble(job, write, arrival, error))
          .catch((error: unknown) => void failures.push(error))
          .finally(() => {
            inFlight.delete(arrival.id)
            ended.add(arrival.id)
          })
        inFlight.set(arrival.id, { isSilent, done })
      }
      if (inFlight.size === 0) break
      isCrowded = due.some((a) => !inFlight.has(a.id) && tryOf(a).tries === 0)
      const woken = new AbortController()
      await Promise.race([
        ...[...inFlight.values()].map((f) => f.done),
        clock.sleep(lookMs, woken.signal).catch(() => undefined),
      ])
      woken.abort(new Error('Looked'))
    }
    if (failures.length > 0) throw failures[0]
    const ids = new Set(waiting.map((a) => a.id))
    for (const id of tried.keys()) if (store.shardOf(id) === shard && !ids.has(id)) tried.delete(id)
    if (waiting.length === 0) return undefined
    return { againMs: Math.max(0, Math.min(...waiting.map((a) => tryOf(a).dueAt)) - clock.now()) }
  }
}

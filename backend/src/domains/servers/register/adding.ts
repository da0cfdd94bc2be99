/**
 * Adds servers by address: one operation with a step per address. Each address is probed, and
 * machines in maintenance mode are registered for confirmation. After a crash the remaining steps
 * continue.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { counted } from '#contract/words.ts'
import { type ArgumentsOf, type Operation, operationTable } from '#contract/operations.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { type Fence, FenceLost, type Job, oneByOne, type Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import type { Fleet, Found } from '../../../talos-fleet/fleet.ts'
import type { Datacenters } from '../../datacenters/api.ts'
import type { Operations } from '../../operations/api.ts'
import type { ListedRow } from '../store.ts'
import type { Registered, Registering, Registration } from '../registering.ts'
import { probeDeadlineMs } from './register.ts'

export const addingQueue = 'server-add'
/**
 * Number of addresses that are probed, or wait to be dialled or written, at once. The budget limits
 * how many of them are dialled.
 */
const atOnce = 128
/**
 * After this time a run begins no more probes, and the next run goes on, so that a cancel takes
 * effect.
 */
const runMs = 10_000
/**
 * An operation with at most this many steps shows which of them have begun, and each result at
 * once.
 */
const shortSteps = 64
/**
 * A longer operation writes its results at most this often. A write has some thirty statements with
 * those of its events, however many results it has. Ten results at a time made 27,000 statements
 * for ten thousand servers.
 */
const writeEveryMs = 500

interface AddingParts {
  readonly db: Db
  readonly fleet: Fleet
  readonly operations: Operations
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly registration: Registering
  /** The known server with an address. */
  readonly atAddress: (address: string) => Promise<ListedRow | undefined>
}

export const stepOf = (address: string) => ({
  key: `probe/${address}`,
  title: operationTable.serverAdd.steps.probe({ address }),
})
const addressOf = (key: string): string => key.slice('probe/'.length)
const isOpen = (step: Operation['steps'][number]): boolean =>
  step.status === 'todo' || step.status === 'running' || step.status === 'waiting'

/** The result of a probe: a machine, or how the step ends without one. */
interface Probed {
  readonly key: string
  readonly machine?: Found & { readonly address: string }
  readonly known?: {
    readonly status: 'skipped' | 'failed'
    readonly reason: string
    readonly node_id?: string
  }
}
/** The machines that were registered together, by address. */
type Ended = ReadonlyMap<string, Registered>

/**
 * Returns a function that collects values while `act` runs and passes all of them to its next call.
 * Under load, calls get larger instead of more frequent. `everyMs`: how much later than the
 * previous call a call begins at the earliest. An abort of the signal ends this wait.
 */
function gathered<T, R>(
  act: (all: readonly T[]) => Promise<R>,
  { everyMs, signal }: { everyMs: number; signal: AbortSignal },
): (one: T) => Promise<R> {
  let waiting: T[] = []
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<R> | undefined
  let begun = -Infinity
  return (one) => {
    waiting.push(one)
    next ??= last
      .catch(() => undefined)
      .then(() => {
        const leftMs = begun + everyMs - performance.now()
        return leftMs > 0 ? pause(leftMs, undefined, { signal }).catch(() => undefined) : undefined
      })
      .then(() => {
        const all = waiting
        waiting = []
        next = undefined
        begun = performance.now()
        return act(all)
      })
    last = next
    return next
  }
}

/** The operation's id and arguments. */
type Addition = { readonly id: string } & ArgumentsOf<'serverAdd'>

export function adding({
  db,
  fleet,
  operations,
  datacenters,
  registration,
  atAddress,
}: AddingParts) {
  /**
   * A configured machine reveals nothing without its cluster's credentials. If the address is that
   * of a reachable server in a cluster, the machine must be that server, so the step is skipped and
   * not failed.
   */
  const listedAlready = async (address: string) => {
    const server = await atAddress(address)
    if (!server?.cluster_id || server.reachable !== true) return null
    return {
      status: 'skipped',
      reason: `Listed already as ${server.name}, in the cluster ${server.cluster_name}`,
      node_id: server.id,
    } as const
  }

  /**
   * The id of the requested datacenter; null if none was requested or the datacenter was removed
   * before a retry.
   */
  const datacenterIn = async (tx: Tx, { datacenter_id }: Addition) => ({
    datacenterId:
      datacenter_id === null ? null : ((await datacenters.find(tx, datacenter_id))?.id ?? null),
  })

  const resultOf = ({ kind, server, sentence }: Registration) =>
    ({
      status: kind === 'alarm' ? 'failed' : 'done',
      reason: sentence,
      ...(server && { node_id: server.id }),
    }) as const

  /**
   * Probes the address and writes the result. `end` writes the results of several probes together,
   * and answers which machines it has registered.
   */
  const probe = async (
    { signal }: Job,
    key: string,
    addition: Addition,
    write: Fence['write'],
    end: (result: Probed) => Promise<Ended>,
  ): Promise<void> => {
    const { id, scan } = addition
    const address = addressOf(key)
    let found: Found
    try {
      found = await fleet.probe(address, { signal, deadlineMs: probeDeadlineMs })
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof TalosError && error.kind === 'permission_denied') {
        const known = await listedAlready(address)
        if (known) return void (await end({ key, known }))
      }
      const isSilent =
        error instanceof TalosError && (error.kind === 'unreachable' || error.kind === 'timeout')
      const reason = error instanceof Error ? error.message : String(error)
      await end({
        key,
        known: {
          status: isSilent && scan ? 'skipped' : 'failed',
          reason: `${isSilent ? 'No answer: ' : ''}${reason}`,
        },
      })
      return
    }
    const made = (await end({ key, machine: { ...found, address } })).get(address)
    if (made) return fleet.remember(made.server, found.pin)
    for (let isDone = false; !isDone;) {
      const candidate = await registration.candidate(address, found, signal)
      isDone = await write(async (tx) => {
        const registered = await registration.register(
          tx,
          system,
          candidate,
          await datacenterIn(tx, addition),
        )
        if (registered) await operations.step(tx, id, key, resultOf(registered))
        return registered !== null
      })
    }
  }

  /** Writes the results of probes: registers the new machines and ends their steps. */
  const writeAll = (
    probed: readonly Probed[],
    addition: Addition,
    write: Fence['write'],
  ): Promise<Ended> =>
    write(async (tx) => {
      const machines = probed.flatMap(({ machine }) => machine ?? [])
      const made = await registration.registerNew(
        tx,
        system,
        machines,
        await datacenterIn(tx, addition),
      )
      const changes = probed.flatMap(({ key, known }) => {
        const registered = made.get(addressOf(key))
        return known ? { key, ...known } : registered ? { key, ...resultOf(registered) } : []
      })
      await operations.steps(tx, addition.id, changes)
      return made
    })

  /** Probes addresses for `runMs`, and waits for the begun probes. */
  const probeAll = async (
    job: Job,
    keys: readonly string[],
    addition: Addition,
    isShort: boolean,
  ): Promise<void> => {
    const write = oneByOne(job.fence)
    // In long lists only the results of steps are written, not their starts.
    if (isShort) {
      await write(async (tx) => {
        const changes = keys.map((key) => ({ key, status: 'running' as const }))
        await operations.steps(tx, addition.id, changes)
      })
    }
    const options = { everyMs: isShort ? 0 : writeEveryMs, signal: job.signal }
    const end = gathered((probed: readonly Probed[]) => writeAll(probed, addition, write), options)
    const left = keys.values()
    const until = job.now() + runMs
    const probeNext = async (): Promise<void> => {
      for (const key of left) {
        await probe(job, key, addition, write, end)
        if (job.now() >= until) return
      }
    }
    const results = await Promise.allSettled(Array.from({ length: atOnce }, probeNext))
    const failures = results.filter((r) => r.status === 'rejected').map((r): unknown => r.reason)
    if (failures.length > 0) throw failures.find((f) => f instanceof FenceLost) ?? failures[0]
  }

  const end = async (job: Job, operationId: string, isCancelled: boolean): Promise<void> => {
    const { steps } = (await operations.read(db, operationId))!
    const number = (status: string) => steps.filter((s) => s.status === status).length
    const listed = steps.filter((s) => s.status === 'skipped' && s.node_id !== null).length
    const [found, silent, failed] = [number('done'), number('skipped') - listed, number('failed')]
    const known = listed > 0 && `${listed} listed already`
    const summary = [
      `${counted(found, 'server')} found`,
      known,
      silent > 0 && `no answer from ${silent}`,
      failed > 0 && `${failed} failed`,
    ]
      .filter(Boolean)
      .join(', ')
    await job.fence.write(async (tx) => {
      const open = isCancelled ? steps.filter(isOpen) : []
      await operations.steps(
        tx,
        operationId,
        open.map(({ key }) => ({ key, status: 'skipped', reason: 'Cancelled' })),
      )
      await operations.set(tx, operationId, {
        status: isCancelled ? 'cancelled' : failed > 0 ? 'failed' : 'done',
        reason: summary,
      })
    })
  }

  return async (job: Job): Promise<Outcome> => {
    const work = await operations.carriedBy(db, job)
    if (!work) return undefined
    const { operation, isCancelled } = work
    const { id } = operation
    const keys = operation.steps.filter(isOpen).map((s) => s.key)
    if (isCancelled || keys.length === 0) return end(job, id, isCancelled)
    await job.fence.write((tx) => operations.set(tx, id, { status: 'running' }))
    const addition = { id, ...(await operations.argumentsOf(db, id, 'serverAdd')) }
    await probeAll(job, keys, addition, operation.steps.length <= shortSteps)
    return { againMs: 0 }
  }
}

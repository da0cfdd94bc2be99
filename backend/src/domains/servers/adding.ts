/**
 * Servers added by address: one operation, one step per address. Each address is asked who it is, and what answers in maintenance mode is
 * registered for a person to confirm. Levels, not messages: whatever was done before a crash is in the steps, and the rest is done again.
 */
import { addressesAtOnce } from '#contract/servers.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Clock } from '../../clock.ts'
import type { Db } from '../../db/db.ts'
import { FenceLost, type Job, type Outcome } from '../../engine/engine.ts'
import type { OperationSteps } from '../../engine/operations.ts'
import { type Caller, system } from '../../http/caller.ts'
import { type Fleet, type Found, OtherHardware } from '../../talos-fleet/fleet.ts'
import { readEverything, type Reading } from '../../talos-fleet/reading.ts'
import type { registering } from './register.ts'
import * as store from './store.ts'

export const addingQueue = 'server-add'
/** Addresses asked at once by one operation; the budget for all of them is smaller still where machines hang. */
const atOnce = 64
/** An address that nobody uses answers nothing at all: this is what a scan waits for. */
const probeDeadlineMs = 5_000

export interface AddingParts {
  readonly db: Db
  readonly clock: Clock
  readonly fleet: Fleet
  readonly operations: OperationSteps
  readonly register: ReturnType<typeof registering>
}

export const stepOf = (address: string) => ({ key: `probe/${address}`, title: `Ask ${address}` })
const addressOf = (key: string): string => key.slice('probe/'.length)

type Answer = { readonly found: Found; readonly reading: Reading } | { readonly error: unknown }

export function adding({ db, fleet, operations, register }: AddingParts) {
  /** What answers, asked outside of any transaction. */
  const ask = async (address: string, signal: AbortSignal): Promise<Answer> => {
    try {
      return await fleet.probe(address, async (client, found) => ({ found, reading: await readEverything(client) }), { signal, deadlineMs: probeDeadlineMs })
    } catch (error) {
      return { error }
    }
  }

  /** Whether the known server with this UUID still answers where it is known, by another key than the one that was just seen. */
  const isTwice = async (address: string, found: Found, signal: AbortSignal): Promise<boolean> => {
    const known = await store.liveByUuid(db, found.identity.uuid)
    if (!known || known.address === address || known.serial !== found.identity.serial) return false
    try {
      return await fleet.connection(known).maintenance((_, pin) => Promise.resolve(pin.fingerprint !== found.pin.fingerprint), { signal, deadlineMs: probeDeadlineMs, lane: 'probe' })
    } catch (error) {
      // Silent there, or something else answers there: either way it isn't the same hardware at both.
      if (error instanceof TalosError || error instanceof OtherHardware) return false
      throw error
    }
  }

  const probe = async (job: Job, operationId: string, key: string, addition: store.Addition, caller: Caller): Promise<void> => {
    const address = addressOf(key)
    await job.fence.write((tx) => operations.step(tx, operationId, key, { status: 'running', reason: null }))
    const answer = await ask(address, job.signal)
    if (job.signal.aborted) throw job.signal.reason
    if ('error' in answer) {
      const silent = answer.error instanceof TalosError && ['unreachable', 'timeout'].includes(answer.error.kind)
      const reason = answer.error instanceof Error ? answer.error.message : String(answer.error)
      await job.fence.write((tx) => operations.step(tx, operationId, key, { status: silent && addition.scan ? 'skipped' : 'failed', reason }))
      return
    }
    const { found, reading } = answer
    const candidate = { address, identity: found.identity, fingerprint: found.pin.fingerprint, addresses: reading.inventory.node_addresses, isTwice: await isTwice(address, found, job.signal) }
    await job.fence.write(async (tx) => {
      const { kind, server, sentence } = await register(tx, caller, candidate, reading, addition.datacenter_id)
      await operations.step(tx, operationId, key, { status: kind === 'alarm' ? 'failed' : 'done', reason: sentence, node_id: server.id })
    })
  }

  return async (job: Job): Promise<Outcome> => {
    const operationId = job.key
    const [operation, addition] = await Promise.all([operations.read(db, operationId), store.additionOf(db, operationId)])
    if (!operation || !addition || operation.ended_at !== null) return undefined
    const isCancelled = () => operations.read(db, operationId).then((o) => o?.status === 'cancelling')
    const todo = operation.steps.filter((s) => s.status === 'todo' || s.status === 'running' || s.status === 'waiting').map((s) => s.key)
    const caller = operations.callerOf(operation)
    const queue = [...todo]
    const worker = async (): Promise<void> => {
      for (let key = queue.shift(); key !== undefined; key = queue.shift()) await probe(job, operationId, key, addition, caller)
    }
    const failures: unknown[] = []
    // A part at a time, so that a cancel is seen between two.
    for (let from = 0; from < todo.length && queue.length > 0; from += atOnce) {
      if (await isCancelled()) break
      const part = queue.splice(0, atOnce)
      const rest = queue.splice(0)
      queue.push(...part)
      await Promise.all(Array.from({ length: part.length }, () => worker().catch((error: unknown) => failures.push(error))))
      queue.push(...rest)
      if (failures.length > 0) throw failures.find((f) => f instanceof FenceLost) ?? failures[0]
    }
    return undefined
  }
}

export { addressesAtOnce, system }

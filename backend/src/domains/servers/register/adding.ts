/**
 * Adds servers by address: one operation with a step per address. Each address is probed, and machines in maintenance mode are
 * registered for confirmation. After a crash the remaining steps continue.
 */
import { counted } from '#contract/words.ts'
import { type ArgumentsOf, type Operation, operationTable } from '#contract/operations.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Db } from '../../../db/db.ts'
import { type Fence, FenceLost, type Job, oneByOne, type Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import type { Fleet, Found } from '../../../talos-fleet/fleet.ts'
import type { Datacenters } from '../../datacenters/datacenters.ts'
import type { Operations } from '../../operations/operations.ts'
import type { ServerRow } from '../store.ts'
import { probeDeadlineMs, type Registering } from './register.ts'

export const addingQueue = 'server-add'
/** Concurrent probes of one operation. The budget shared by all operations may limit it further. */
const atOnce = 64

interface AddingParts {
  readonly db: Db
  readonly fleet: Fleet
  readonly operations: Operations
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly registration: Registering
  /** The known server with an address. */
  readonly atAddress: (address: string) => Promise<ServerRow | undefined>
}

export const stepOf = (address: string) => ({ key: `probe/${address}`, title: operationTable.serverAdd.steps.probe({ address }) })
const addressOf = (key: string): string => key.slice('probe/'.length)
const isOpen = (step: Operation['steps'][number]): boolean => step.status === 'todo' || step.status === 'running' || step.status === 'waiting'

/** The operation's id and arguments. */
type Addition = { readonly id: string } & ArgumentsOf<'serverAdd'>

export function adding({ db, fleet, operations, datacenters, registration, atAddress }: AddingParts) {
  /**
   * A configured machine reveals nothing without its cluster's credentials. If the address is that of a reachable server in a cluster, the machine
   * must be that server, so the step is skipped and not failed.
   */
  const listedAlready = async (address: string) => {
    const server = await atAddress(address)
    if (!server?.cluster_id || server.reachable !== true) return null
    return { status: 'skipped', reason: `Listed already as ${server.name}, in the cluster ${server.cluster_name}`, node_id: server.id } as const
  }

  const probe = async ({ signal }: Job, key: string, { id, scan, datacenter_id }: Addition, write: Fence['write']): Promise<void> => {
    const address = addressOf(key)
    let found: Found
    try {
      found = await fleet.probe(address, { signal, deadlineMs: probeDeadlineMs })
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof TalosError && error.kind === 'permission_denied') {
        const known = await listedAlready(address)
        if (known) return write((tx) => operations.step(tx, id, key, known))
      }
      const isSilent = error instanceof TalosError && (error.kind === 'unreachable' || error.kind === 'timeout')
      const reason = error instanceof Error ? error.message : String(error)
      return write((tx) =>
        operations.step(tx, id, key, { status: isSilent && scan ? 'skipped' : 'failed', reason: `${isSilent ? 'No answer: ' : ''}${reason}` }),
      )
    }
    for (let isDone = false; !isDone;) {
      const candidate = await registration.candidate(address, found, signal)
      isDone = await write(async (tx) => {
        // The datacenter may have been removed before a retry.
        const datacenterId = datacenter_id === null ? null : ((await datacenters.find(tx, datacenter_id))?.id ?? null)
        const registered = await registration.register(tx, system, candidate, { datacenterId })
        if (!registered) return false
        const { kind, server, sentence } = registered
        await operations.step(tx, id, key, { status: kind === 'alarm' ? 'failed' : 'done', reason: sentence, node_id: server.id })
        return true
      })
    }
  }

  /** Probes a batch concurrently and waits for all probes. */
  const probeAll = async (job: Job, keys: readonly string[], addition: Addition, isShort: boolean): Promise<void> => {
    const write = oneByOne(job.fence)
    // In long lists only the results of steps are written, not their starts.
    if (isShort) {
      await write(async (tx) => {
        for (const key of keys) await operations.step(tx, addition.id, key, { status: 'running' })
      })
    }
    const results = await Promise.allSettled(keys.map((key) => probe(job, key, addition, write)))
    const failures = results.filter((r) => r.status === 'rejected').map((r): unknown => r.reason)
    if (failures.length > 0) throw failures.find((f) => f instanceof FenceLost) ?? failures[0]
  }

  const end = async (job: Job, operationId: string, isCancelled: boolean): Promise<void> => {
    const { steps } = (await operations.read(db, operationId))!
    const number = (status: string) => steps.filter((s) => s.status === status).length
    const listed = steps.filter((s) => s.status === 'skipped' && s.node_id !== null).length
    const [found, silent, failed] = [number('done'), number('skipped') - listed, number('failed')]
    const known = listed > 0 && `${listed} listed already`
    const summary = [`${counted(found, 'server')} found`, known, silent > 0 && `no answer from ${silent}`, failed > 0 && `${failed} failed`]
      .filter(Boolean)
      .join(', ')
    await job.fence.write(async (tx) => {
      if (isCancelled) for (const step of steps.filter(isOpen)) await operations.step(tx, operationId, step.key, { status: 'skipped', reason: 'Cancelled' })
      await operations.set(tx, operationId, { status: isCancelled ? 'cancelled' : failed > 0 ? 'failed' : 'done', reason: summary })
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
    await probeAll(job, keys.slice(0, atOnce), addition, operation.steps.length <= atOnce)
    // The next batch gets its own run, so that a cancel takes effect in between.
    return { againMs: 0 }
  }
}

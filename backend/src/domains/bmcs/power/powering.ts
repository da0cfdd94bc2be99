/**
 * Carries out an order to switch a server. Each run reads the power first and acts only if it is not
 * as wanted yet, so a run after a kill goes on where the machine is. The first act is done only if
 * the power is as the person saw it, and, for an act that switches off, only if etcd of the cluster
 * keeps its majority without this server and without all others that are being switched off.
 */
import { Problem } from '#contract/errors.ts'
import type { Operation } from '#contract/operations.ts'
import { isLit, powerStateOf } from '#redfish/acts/power.ts'
import { RedfishError } from '#redfish/errors.ts'
import { factsOf } from '#redfish/vendors/vendors.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import type { Asking } from '../contact/asking.ts'
import type { BmcWorld } from '../parts.ts'
import type { BmcRow } from '../store.ts'
import * as store from '../store.ts'
import { acting, Failed, lookAgainMs, type Seen } from './acting.ts'
import { demandReady } from './requesting.ts'

/** A BMC that doesn't answer is waited for so long, in ms. */
const silentMs = 5 * 60_000

/** The server again, for a retry by a user. False: another operation has it. */
const holdAgain = (
  { servers }: Pick<BmcWorld, 'servers'>,
  job: Job,
  operation: Operation,
): Promise<boolean> =>
  job.fence.write(async (tx) => {
    const { operation_id } = await servers.locked(tx, job.key)
    if (operation_id !== null && operation_id !== operation.id) return false
    await servers.hold(tx, job.key, operation.id)
    return true
  })

export function powering(world: BmcWorld, { notePower }: Asking) {
  const { db, clock, servers, operations, clients } = world
  const { act, follow, move } = acting(world)

  const look = async (row: BmcRow, signal: AbortSignal): Promise<Seen> => {
    const client = await clients.of(row)
    const root = await client.root(signal)
    const { document } = await client.get('system', row.system_path!, signal)
    const facts = factsOf({ root, system: document })
    return { client, system: document, facts, power: powerStateOf(document.PowerState, facts) }
  }
  const keep = (job: Job, row: BmcRow, { power, system: document }: Seen): Promise<void> =>
    job.fence.write(async (tx) => {
      const now = await store.lock(tx, row.id)
      if (now) await notePower(tx, now, power, { lit: isLit(document) })
    })

  const end = (
    job: Job,
    operation: Operation,
    row: BmcRow | undefined,
    status: 'done' | 'failed' | 'cancelled',
    reason: string | null,
  ): Promise<void> =>
    job.fence.write(async (tx) => {
      if (row) {
        const before = await store.lock(tx, row.id)
        if (before?.power_wanted)
          await store.update(
            tx,
            row.id,
            { power_wanted: null, power_wanted_at: null },
            new Date(clock.now()),
          )
        await store.updateContact(tx, row.id, { due_at: new Date(clock.now()) })
      }
      const server = await servers.locked(tx, job.key).catch((error: unknown) => {
        if (error instanceof Problem && error.code === 'not_found') return undefined
        throw error
      })
      if (server?.operation_id === operation.id) await servers.hold(tx, job.key, null)
      await operations.set(tx, operation.id, { status, reason })
    })

  return async (job: Job): Promise<Outcome> => {
    const work = await operations.carriedBy(db, job)
    if (!work) return undefined
    const { operation, isCancelled } = work
    const row = await store.ofServer(db, job.key)
    const step = operation.steps.find((s) => s.status !== 'done' && s.status !== 'skipped')
    if (step === undefined) return end(job, operation, row, 'done', null)
    const isActing = step.key === 'is_off' || step.key === 'is_on'
    if (isCancelled && !isActing)
      return end(
        job,
        operation,
        row,
        'cancelled',
        step.key === 'on' && operation.steps.some((s) => s.key === 'is_off')
          ? 'Cancelled: the server is off'
          : 'Cancelled',
      )
    try {
      const [server] = await servers.several([job.key])
      if (!server || server.status === 'deleted') throw new Failed('The server was removed')
      if (!(await holdAgain(world, job, operation)))
        throw new Failed('Another operation has the server now')
      const bmc = demandReady(row, server.name)
      const order = await operations.argumentsOf(db, operation.id, 'serverPower')
      const seen = await look(bmc, job.signal)
      await keep(job, bmc, seen)
      return await (isActing
        ? follow({ job, operation, step, order, seen })
        : act({ job, operation, step, order, seen }, bmc, server.cluster?.id ?? null))
    } catch (error) {
      if (job.signal.aborted) throw error
      // The answer to a reset may be lost: what counts is what the power is.
      const isSilent = error instanceof RedfishError && error.kind === 'unreachable'
      const since = step.started_at === null ? job.now() : Date.parse(step.started_at)
      if (isSilent && job.elapsedMs(since) < silentMs) {
        await move(job, operation, step.key, 'waiting', error.message)
        return { againMs: lookAgainMs }
      }
      if (
        !(
          error instanceof Failed ||
          error instanceof RedfishError ||
          (error instanceof Problem && error.code === 'bmc_not_ready')
        )
      )
        throw error
      await move(job, operation, step.key, 'failed', error.message)
      return end(job, operation, row, 'failed', error.message)
    }
  }
}

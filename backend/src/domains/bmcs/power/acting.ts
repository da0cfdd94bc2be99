/** One step of an order: sending a reset, or waiting until the power is as wanted. */
import type { PowerOrder } from '#contract/bmcs/order.ts'
import type { Operation, Step } from '#contract/operations.ts'
import type { PowerState } from '#contract/bmcs/state.ts'
import { sendReset } from '#redfish/acts/power.ts'
import type { RedfishClient } from '#redfish/client/client.ts'
import { RedfishError } from '#redfish/errors.ts'
import type { Read } from '#redfish/readers/readers.ts'
import type { Facts } from '#redfish/vendors/vendors.ts'
import { lock as lockName } from '../../../db/db.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import { system } from '../../../http/caller.ts'
import type { BmcWorld } from '../parts.ts'
import type { BmcRow } from '../store.ts'
import * as store from '../store.ts'
import { powerWords } from './requesting.ts'

/** Pause between two looks at the power, in ms. */
export const lookAgainMs = 2_000
/** So long the power may take to change, in ms. */
const limits = { graceful: 10 * 60_000, hard: 2 * 60_000, on: 2 * 60_000 } as const

export interface Seen {
  readonly client: RedfishClient
  readonly system: Read<'system'>
  readonly facts: Facts
  readonly power: PowerState
}

/** Ends the operation with this sentence. */
export class Failed extends Error {}

/** What a step is carried out with. */
export interface Carried {
  readonly job: Job
  readonly operation: Operation
  readonly step: Step
  readonly order: PowerOrder
  readonly seen: Seen
}

export interface Acting {
  /** Sends the reset of a step, unless the power is as wanted already. @throws Failed */
  readonly act: (carried: Carried, row: BmcRow, clusterId: string | null) => Promise<Outcome>
  /** @throws Failed after the time limit */
  readonly follow: (carried: Carried) => Promise<Outcome>
  readonly move: (
    job: Job,
    operation: Operation,
    key: string,
    status: Step['status'],
    reason?: string | null,
  ) => Promise<void>
}

/**
 * Announces that the server goes off, then asks whether it may. Of two that go off at once, the one
 * that announced it later counts the earlier one too, so both never pass on the other's account.
 */
async function demandMayGo(
  { clock, clusters }: Pick<BmcWorld, 'clock' | 'clusters'>,
  job: Job,
  row: BmcRow,
  clusterId: string | null,
  { override }: PowerOrder,
): Promise<void> {
  const others = await job.fence.write(async (tx) => {
    if (clusterId !== null) await lockName(tx, `power of ${clusterId}`)
    const now = (await store.lock(tx, row.id))!
    const at = now.power_wanted === 'off' ? now.power_wanted_at! : new Date(clock.now())
    if (now.power_wanted !== 'off')
      await store.update(tx, row.id, { power_wanted: 'off', power_wanted_at: at }, at)
    return clusterId === null ? [] : store.goingOff(tx, clusterId, row.id)
  })
  if (clusterId === null || override !== null) return
  const refusal = await clusters.machines.whyNotPowerOff(
    clusterId,
    [job.key, ...others],
    job.signal,
  )
  if (refusal) throw new Failed(refusal.reason)
}

export function acting({
  clock,
  record,
  operations,
  clusters,
}: Pick<BmcWorld, 'clock' | 'record' | 'operations' | 'clusters'>): Acting {
  const move = (
    job: Job,
    operation: Operation,
    key: string,
    status: Step['status'],
    reason: string | null = null,
  ): Promise<void> =>
    job.fence.write((tx) => operations.step(tx, operation.id, key, { status, reason }))

  /** Sends the reset of a step, unless the power is as wanted already. */
  const act: Acting['act'] = async ({ job, operation, step, order, seen }, row, clusterId) => {
    const to = step.key as 'on' | 'off'
    const isFirst = operation.steps.every((s) => s.status !== 'done')
    if (seen.power === to) {
      await move(job, operation, step.key, 'done', `It is ${to} already`)
      return { againMs: 0 }
    }
    if (isFirst && step.attempt <= 1 && seen.power !== order.seen)
      throw new Failed(
        `Its power is ${powerWords[seen.power]} now, not ${powerWords[order.seen]} as it was seen: nothing was done`,
      )
    if (to === 'off') await demandMayGo({ clock, clusters }, job, row, clusterId, order)
    else
      await job.fence.write((tx) =>
        store.update(
          tx,
          row.id,
          { power_wanted: 'on', power_wanted_at: new Date(clock.now()) },
          new Date(clock.now()),
        ),
      )
    await move(job, operation, step.key, 'running')
    const since = step.started_at === null ? job.now() : Date.parse(step.started_at)
    let answer: string | null = null
    try {
      await job.effect(`${to}/${operation.id}`, async () => {
        const kind = to === 'on' ? 'graceful' : order.kind
        const done = await sendReset(seen.client, seen.system, { to, kind }, job.signal)
        answer = done.message ?? String(done.status)
      })
    } catch (error) {
      if (!(error instanceof RedfishError) || error.kind !== 'busy') throw error
      if (job.elapsedMs(since) > seen.facts.readyWithinMs) throw error
      await move(job, operation, step.key, 'waiting', `${error.message}. It is tried again`)
      return { againMs: lookAgainMs }
    }
    await job.fence.write(async (tx) => {
      await operations.step(tx, operation.id, step.key, { status: 'done', reason: null })
      await record(tx, system, {
        action: 'server.power_changed',
        target: { kind: 'server', id: job.key, name: operation.target.name },
        after: { power: to, kind: order.kind, answer },
      })
    })
    return { againMs: 0 }
  }

  const follow: Acting['follow'] = async ({ job, operation, step, order, seen }) => {
    const to = step.key === 'is_on' ? 'on' : 'off'
    if (seen.power === to) {
      await move(job, operation, step.key, 'done')
      return { againMs: to === 'off' ? seen.facts.betweenActsMs : 0 }
    }
    const since = step.started_at === null ? job.now() : Date.parse(step.started_at)
    const limitMs = to === 'on' ? limits.on : limits[order.kind]
    if (job.elapsedMs(since) > limitMs)
      throw new Failed(
        to === 'off' && order.kind === 'graceful'
          ? `The server was asked to shut down, and its power is still ${powerWords[seen.power]} after ${limitMs / 60_000} minutes: switch it off hard if nothing is lost by that`
          : `The BMC accepted the order, and the power is still ${powerWords[seen.power]} after ${limitMs / 60_000} minutes`,
      )
    await move(job, operation, step.key, 'waiting', `Its power is ${powerWords[seen.power]}`)
    return { againMs: lookAgainMs }
  }

  return { act, follow, move }
}

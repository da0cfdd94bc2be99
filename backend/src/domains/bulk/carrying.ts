/**
 * Carries out an act on many servers. Each server gets the operation of the act on one server, which
 * has its own checks and waits; the servers of a cluster follow each other, and several clusters
 * work at once. The operation on a server is recorded in the transaction that begins it, so a run
 * can end anywhere, and no server gets the act twice. A commitment, which asks no machine, is made in
 * that transaction and has no operation of its own. Clusters carry out an upgrade themselves
 * (`upgrading.ts`).
 */
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import { hasEnded, type Step } from '#contract/operations.ts'
import { BulkAct, bulkActs, bulkKindOf, bulkServerName, bulkStep } from '#contract/servers/bulk.ts'
import { counted } from '#contract/words.ts'
import { TalosError } from '#talos/client/errors.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import type { Outcome, Reconciler } from '../../engine/engine.ts'
import { beginning } from '../../http/caller.ts'
import type { StatusChange, StepChange } from '../operations/api.ts'
import type { Also } from '../servers/api.ts'
import type { BulkParts } from './parts.ts'
import * as store from './store.ts'
import { inTurn, isDelayed } from './delaying.ts'
import { clustersAtOnce, type Item, lanesNow, NotNow, type Turn } from './turn.ts'
import { upgrading } from './upgrading.ts'

export const bulkQueue = 'server-bulk'

/** Pause between two looks at the operations on servers, in ms. */
const lookMs = 1_000
/** The same while clusters wait for their maintenance windows. */
const sleepMs = 15_000
/** The same while servers are waited for that are refused only for now. */
const delayedMs = 5_000
/** Number of servers that a run begins in one cluster, or outside of clusters, before it ends. */
const mostPerRun = 50

const isOver = ({ status }: Pick<Step, 'status'>): boolean =>
  status === 'done' || status === 'failed' || status === 'skipped'

/**
 * `half`: it was left half way, so the other servers of its cluster aren't touched. `delayed`: it is
 * refused only for now, and is looked at again; meanwhile the others are begun.
 */
type Result = 'begun' | 'waits' | 'over' | 'half' | 'delayed'

export function bulkReconciler(parts: BulkParts): Reconciler {
  const { db, operations, acts, clusters, ccs } = parts
  const upgrade = upgrading(parts)

  const setStep = (
    { job, operation, act }: Turn,
    { server_id }: Pick<Item, 'server_id'>,
    change: StepChange,
  ): Promise<void> =>
    job.fence.write((tx) =>
      operations.step(tx, operation.id, bulkStep(act.kind, server_id), change),
    )

  /** `over`: the act has ended with the transaction that began it. */
  const beginAct = async (turn: Turn, item: Item): Promise<'begun' | 'over'> => {
    const { act, operation, caller, job } = turn
    const key = bulkStep(act.kind, item.server_id)
    /** @throws NotNow */
    const noteBegun = async (tx: Tx, id: string) => {
      const asked = await operations.state(tx, operation.id)
      if (
        asked?.cancel_requested_at != null ||
        !(await store.noteBegun(tx, operation.id, item.server_id, id))
      )
        throw new NotNow()
    }
    const also: Also = async (tx, begun) => {
      await noteBegun(tx, begun.id)
      await operations.step(tx, operation.id, key, { status: 'running' })
    }
    const ifMatch = [item.version]
    switch (act.kind) {
      case 'reboot':
        await acts.command(caller, item.server_id, 'serverReboot', also)
        return 'begun'
      case 'restart_kubelet':
        await acts.command(caller, item.server_id, 'serverRestartKubelet', also)
        return 'begun'
      case 'reset':
        await clusters.reset(caller, item.server_id, {
          keepWorkloadDisks: act.keep_workload_disks,
          ifMatch,
          signal: job.signal,
          also,
        })
        return 'begun'
      case 'remove':
        await acts.remove(caller, item.server_id, { ifMatch, also })
        return 'begun'
      case 'commit':
        await inTransaction(db, async (tx) => {
          await noteBegun(tx, operation.id)
          await ccs.commit(tx, caller, item.server_id, {
            terms: act.terms ?? {},
            version: item.version,
            draftVersion: item.commitment_version,
          })
          await operations.step(tx, operation.id, key, { status: 'done' })
        })
        return 'over'
      default:
        throw new Error('Servers are upgraded with their cluster')
    }
  }

  const tryBegin = async (turn: Turn, item: Item): Promise<Result> => {
    if (turn.isCancelled) {
      await setStep(turn, item, { status: 'skipped', reason: 'Cancelled' })
      return 'over'
    }
    try {
      const result = await beginAct(turn, item)
      turn.job.passed('bulk-begun')
      return result
    } catch (error) {
      if (turn.job.signal.aborted) throw error
      if (error instanceof NotNow) return 'waits'
      if (!(error instanceof Problem || error instanceof TalosError)) throw error
      return (await isDelayed(parts, turn, [item], error)) ? 'delayed' : 'over'
    }
  }

  /** Copies what the operation on the server has reached. */
  const follow = async (turn: Turn, item: Item, begunId: string): Promise<Result> => {
    const begun = await operations.read(db, begunId)
    if (!begun) {
      await setStep(turn, item, { status: 'failed', reason: 'Its operation is gone' })
      return 'over'
    }
    if (!hasEnded(begun)) {
      const waits = begun.steps.find((s) => s.status === 'waiting')
      await turn.job.fence.write(async (tx) => {
        if (turn.isCancelled) await operations.cancelIn(tx, begun.id)
        await operations.step(
          tx,
          turn.operation.id,
          bulkStep(turn.act.kind, item.server_id),
          waits
            ? { status: 'waiting', reason: waits.reason ?? begun.reason }
            : { status: 'running', reason: null },
        )
      })
      return 'waits'
    }
    const { status, reason } = begun
    if (status === 'done') {
      await setStep(turn, item, { status: 'done', reason })
      return 'over'
    }
    await setStep(turn, item, {
      status: status === 'failed' ? 'failed' : 'skipped',
      reason: reason ?? 'Cancelled',
    })
    return begun.steps.some((s) => s.status === 'done') ? 'half' : 'over'
  }

  /** The servers of one cluster, or those without one, in their order. */
  const advance = async (
    turn: Turn,
    lane: readonly Item[],
  ): Promise<'over' | 'again' | 'waits' | 'delayed'> => {
    const { job, operation } = turn
    let isAnyDelayed = false
    for (const [i, item] of inTurn(turn, lane).slice(0, mostPerRun).entries()) {
      let result =
        item.begun_id === null
          ? await tryBegin(turn, item)
          : await follow(turn, item, item.begun_id)
      if (result === 'begun') {
        const begun = (await store.itemsOf(db, operation.id)).find(
          (one) => one.server_id === item.server_id,
        )?.begun_id
        result = await follow(turn, item, begun!)
      }
      if (result === 'waits') return 'waits'
      isAnyDelayed ||= result === 'delayed'
      // After a cancel the others are not begun because of the cancel, whatever the first reached.
      if (result === 'half' && item.cluster_id !== null && !turn.isCancelled) {
        const reason = `Not begun, because the cluster has to recover first: ${item.name} was left half way`
        const others = inTurn(turn, lane)
          .slice(i + 1)
          .filter((one) => one.begun_id === null)
        await job.fence.write((tx) =>
          operations.steps(
            tx,
            operation.id,
            others.map((one) => ({
              key: bulkStep(turn.act.kind, one.server_id),
              status: 'skipped',
              reason,
            })),
          ),
        )
        return 'again'
      }
    }
    if (isAnyDelayed) return 'delayed'
    return lane.length > mostPerRun ? 'again' : 'over'
  }

  const finish = async ({ job, operation, act, isCancelled }: Turn): Promise<void> => {
    const { steps } = (await operations.read(db, operation.id))!
    const left = steps.filter((s) => s.status !== 'done')
    const done = steps.length - left.length
    const first = left.find((s) => s.status === 'failed') ?? left[0]
    const { done: word } = bulkActs[act.kind]
    const of = counted(steps.length, 'server')
    const end: StatusChange =
      left.length === 0
        ? { status: 'done' }
        : isCancelled
          ? { status: 'cancelled', reason: `Cancelled after ${done} of ${of}` }
          : {
              status: 'failed',
              reason: `${left.length} of ${of} ${left.length === 1 ? 'was' : 'were'} not ${word}. ${first!.title}: ${first!.reason}`,
            }
    await job.fence.write((tx) => operations.set(tx, operation.id, end))
  }

  return {
    queue: bulkQueue,
    // A reset asks the control planes of the cluster before it begins.
    deadlineMs: 10 * 60_000,
    async reconcile(job): Promise<Outcome> {
      const carried = await operations.carriedBy(db, job)
      if (!carried) return undefined
      const { operation, isCancelled } = carried
      const { applied_set: set, ...given } = await operations.argumentsOf(
        db,
        operation.id,
        'serverBulk',
      )
      const act = z.parse(BulkAct, { kind: bulkKindOf(operation), ...given })
      const caller = beginning(carried.caller, set)
      const turn: Turn = { job, operation, caller, isCancelled, act }
      const steps = new Map(operation.steps.map((s) => [s.key, s]))
      const open = (await store.itemsOf(db, operation.id)).flatMap((item): Item[] => {
        const step = steps.get(bulkStep(turn.act.kind, item.server_id))
        return step === undefined || isOver(step)
          ? []
          : [{ ...item, name: bulkServerName(step, act.kind) }]
      })
      const lanes = [...Map.groupBy(open, (item) => item.cluster_id).values()]
      const results = await Promise.all(
        lanesNow(lanes, act).map((lane) =>
          act.kind === 'upgrade' ? upgrade(turn, lane) : advance(turn, lane),
        ),
      )
      if (results.includes('again')) return { againMs: 0 }
      if (results.includes('waits')) return { againMs: lookMs }
      if (results.includes('delayed')) return { againMs: delayedMs }
      if (results.includes('sleeps')) return { againMs: sleepMs }
      if (lanes.length > clustersAtOnce) return { againMs: 0 }
      await finish(turn)
      return undefined
    },
  }
}

/**
 * Writes what was found in a cluster, in one transaction: states, addresses in use, audit entries,
 * events, and the operation's steps.
 */
import { hasEnded } from '#contract/operations.ts'
import type { Tx } from '../../db/db.ts'
import type { Job } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import type { KubernetesError } from '../../kubernetes/answers.ts'
import {
  driftMark,
  type Finding,
  type Held,
  type Look,
  type PoolParts,
  type State,
} from './state.ts'
import {
  done,
  endOf,
  failed,
  running,
  show,
  type Shown,
  skipped,
  stepKey,
  todo,
  waiting,
} from './steps.ts'
import { noProvider } from './preview.ts'
import * as store from './store.ts'

/**
 * Addresses in use become unknown only after two failures in a row, so one lost packet has no
 * effect.
 */
const missesUntilUnknown = 2

export function writing({ clusters, subnets, operations, record }: PoolParts) {
  const lockAll = async (tx: Tx, clusterId: string) => {
    const cluster = await clusters.lock(tx, clusterId)
    if (!cluster) return undefined
    const pool = await store.lockPool(tx, clusterId)
    return {
      cluster,
      pool,
      rows: new Map((await store.lockAssignments(tx, clusterId)).map((r) => [r.subnet_id, r])),
    }
  }

  const finish = async (
    tx: Tx,
    operationId: string | null,
    steps: ReadonlyMap<string, Shown>,
  ): Promise<void> => {
    if (operationId === null) return
    await show(operations, tx, operationId, steps)
    const operation = await operations.read(tx, operationId)
    if (!operation || hasEnded(operation)) return
    const end = endOf(operation)
    const waits = operation.steps.find((s) => s.status === 'waiting')
    await operations.set(
      tx,
      operationId,
      end ?? { status: waits ? 'waiting' : 'running', reason: waits?.reason ?? null },
    )
  }

  /** Whether the row is unchanged since the cluster was read. */
  const isCurrent = (now: store.AssignmentRow | undefined, { row }: Held) =>
    now !== undefined && now.state === row.state && now.forced === row.forced

  const audit = async (
    tx: Tx,
    state: State,
    f: Finding,
    before: store.AssignmentRow,
  ): Promise<void> => {
    const { id, name, cidr } = f.held.subnet
    const target = { kind: 'subnet', id, name }
    if (f.verdict.is === 'gone')
      await record(tx, system, {
        action: 'subnet.unassigned',
        target,
        before: { cluster: state.cluster.name, forced: before.forced },
        after: { cluster: null },
      })
    else if (f.verdict.is === 'active' && before.applied?.startsWith(driftMark))
      await record(tx, system, {
        action: 'subnet.drift_corrected',
        target,
        after: { cluster: state.cluster.name, cidr, found: f.found },
      })
  }

  /**
   * Records findings. Returns false if the wanted state has changed, so that the cluster must be
   * read again.
   */
  const found = (job: Job, state: State, look: Look): Promise<boolean> =>
    job.fence.write(async (tx) => {
      const locked = await lockAll(tx, state.cluster.id)
      if (!locked) return true
      const ids = look.findings.map((f) => f.held.subnet.id)
      const versions = new Map((await subnets.find(tx, ids)).map((s) => [s.id, s.version]))
      const now = new Date(job.now())
      const current = look.findings.filter((f) => {
        const { id, version } = f.held.subnet
        return isCurrent(locked.rows.get(id), f.held) && versions.get(id) === version
      })
      const told: string[] = []
      for (const f of current) {
        const { id } = f.held.subnet
        const before = locked.rows.get(id)!
        await audit(tx, state, f, before)
        if (f.verdict.is === 'gone') {
          await store.removeAssignments(tx, state.cluster.id, [id])
          told.push(id)
          continue
        }
        const reason = f.verdict.is === 'active' ? null : f.verdict.reason
        const change = {
          state: f.verdict.is,
          reason,
          used: f.used,
          observed_at: now,
          ...(f.verdict.is === 'active' && { applied: f.verdict.hash }),
        }
        await store.putUses(tx, state.cluster.id, id, f.uses)
        await store.updateAssignment(tx, state.cluster.id, id, change)
        if (before.state !== f.verdict.is || before.reason !== reason || before.used !== f.used)
          told.push(id)
      }
      if (look.announcementsFound)
        await record(tx, system, {
          action: 'cluster.announcements_corrected',
          target: { kind: 'cluster', id: state.cluster.id, name: state.cluster.name },
          after: { found: look.announcementsFound },
        })
      await store.updatePool(tx, state.cluster.id, {
        provider: look.provider,
        announced: look.announced,
        checked_at: now,
        misses: 0,
      })
      await finish(tx, locked.pool.operation_id, new Map(current.flatMap(stepsOf)))
      if (current.some((f) => f.verdict.is === 'gone'))
        await clusters.touch(tx, system, state.cluster.id)
      await subnets.tellChanged(tx, system, told)
      return current.length === look.findings.length
    })

  /**
   * Records that the cluster doesn't answer, also at waiting steps, and marks addresses in use as
   * unknown. Returns the number of failures in a row.
   */
  const unanswered = (
    job: Job,
    state: State,
    { message, status }: KubernetesError,
  ): Promise<number> =>
    job.fence.write(async (tx) => {
      const locked = await lockAll(tx, state.cluster.id)
      if (!locked) return 0
      const misses = locked.pool.misses + 1
      const reason = `The Kubernetes API ${status === undefined ? 'does not answer' : 'fails'}: ${message}`
      const told: string[] = []
      for (const { row } of state.held) {
        const before = locked.rows.get(row.subnet_id)
        if (!before || (before.state === 'active' && misses < missesUntilUnknown)) continue
        const used = misses < missesUntilUnknown ? before.used : null
        if (before.reason === reason && before.used === used) continue
        await store.updateAssignment(tx, state.cluster.id, row.subnet_id, { reason, used })
        told.push(row.subnet_id)
      }
      await store.updatePool(tx, state.cluster.id, { misses })
      const steps = state.held.flatMap(({ row }): [string, Shown][] => {
        const sent = row.sent_at === null ? todo : waiting(reason)
        if (row.state === 'draining') return [[stepKey('drain', row.subnet_id), waiting(reason)]]
        return row.state === 'applying'
          ? [
              [stepKey('apply', row.subnet_id), waiting(reason)],
              [stepKey('read-back', row.subnet_id), sent],
            ]
          : []
      })
      await finish(tx, locked.pool.operation_id, new Map(steps))
      await subnets.tellChanged(tx, system, told)
      return misses
    })

  /** For a cluster without pools, which isn't queried: only ends the operation. */
  const nothing = (job: Job, state: State): Promise<void> =>
    job.fence.write(async (tx) => {
      const locked = await lockAll(tx, state.cluster.id)
      if (locked && [...locked.rows.values()].every((r) => r.purpose !== 'workload'))
        await finish(tx, locked.pool.operation_id, new Map())
    })

  return { found, unanswered, nothing, lockAll }
}

function stepsOf({ held: { row, subnet }, verdict }: Finding): [string, Shown][] {
  const [one, two] =
    row.state === 'draining' ? (['drain', 'remove'] as const) : (['apply', 'read-back'] as const)
  const steps = (first: Shown, second: Shown): [string, Shown][] => [
    [stepKey(one, subnet.id), first],
    [stepKey(two, subnet.id), second],
  ]
  switch (verdict.is) {
    case 'active':
      return steps(done, done)
    case 'gone':
      return steps(row.forced ? skipped('By force') : done, done)
    case 'draining':
      return row.forced
        ? steps(skipped('By force'), waiting(verdict.reason))
        : steps(waiting(verdict.reason), todo)
    case 'error':
      return verdict.held
        ? steps(done, failed(verdict.reason))
        : steps(failed(verdict.reason), skipped('It could not be applied'))
    default:
      return verdict.reason === noProvider
        ? steps(skipped(noProvider), skipped(noProvider))
        : steps(row.sent_at === null ? running : done, waiting(verdict.reason))
  }
}

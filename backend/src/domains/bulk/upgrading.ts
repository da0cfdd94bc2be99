/**
 * The upgrade of Talos on many servers: each cluster of the selection has its own upgrade, with its
 * checks, its snapshot and its order. A cluster is upgraded as a whole or not at all, so that no
 * server restarts that nobody chose.
 */
import type { Cluster } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { hasEnded, type Operation, operationTitle, type Step } from '#contract/operations.ts'
import {
  all,
  firstFailed,
  forNow,
  no,
  type Refusal,
  refusalBy,
  type Verdict,
  yes,
} from '#contract/rule.ts'
import { type BulkAct, bulkStep } from '#contract/servers/bulk.ts'
import type { Server } from '#contract/servers/servers.ts'
import { someOf } from '#contract/words.ts'
import type { StepChange } from '../operations/api.ts'
import type { Also } from '../servers/api.ts'
import { isDelayed } from './delaying.ts'
import { type Item, NotNow, type Turn } from './turn.ts'
import type { BulkParts } from './parts.ts'
import * as store from './store.ts'

/** Number of clusters that one upgrade takes: the plan asks every machine of each. */
const mostClusters = 20
/** Number of clusters that are asked at once. */
const asksAtOnce = 4

/** What a cluster's own upgrade would do. */
export interface Outlook {
  /** Why the cluster refuses; null if it doesn't. */
  readonly refusal: Refusal | null
  /** The servers that are upgraded, names by id. Empty if the cluster refuses. */
  readonly upgraded: ReadonlyMap<string, string>
  readonly warnings: readonly string[]
}

const withV = (version: string): string => (version.startsWith('v') ? version : `v${version}`)
const versionOf = ({ talos_version: version }: BulkAct): string => withV(version!)

const changeOf = (act: BulkAct) => ({
  kind: 'upgradeTalos' as const,
  version: versionOf(act),
  stage: false,
  snapshot: true,
})

/**
 * Asks the machines of each cluster, as the plan of its upgrade does.
 * @throws Problem invalid, unavailable
 */
export async function outlooks(
  parts: Pick<BulkParts, 'db' | 'clusters' | 'operations'>,
  act: BulkAct,
  around: ReadonlyMap<string, Cluster>,
  signal: AbortSignal,
): Promise<Map<string, Outlook>> {
  if (around.size > mostClusters)
    throw new Problem(
      'invalid',
      `An upgrade takes the servers of at most ${mostClusters} clusters at once, not of ${around.size}: narrow the selection`,
    )
  const found = new Map<string, Outlook>()
  const waiting = around.values()
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const work = async (): Promise<void> => {
    for (const cluster of waiting) {
      either.throwIfAborted()
      found.set(cluster.id, await outlookOf(parts, act, cluster, either))
    }
  }
  try {
    await Promise.all(Array.from({ length: asksAtOnce }, work))
  } catch (error) {
    // Nobody waits for the others any more.
    failed.abort(error)
    throw error
  }
  return found
}

async function outlookOf(
  { db, clusters, operations }: Pick<BulkParts, 'db' | 'clusters' | 'operations'>,
  act: BulkAct,
  { id, name, maintenance_window: window = null, operation_id }: Cluster,
  signal: AbortSignal,
): Promise<Outlook> {
  const refused = (refusal: Refusal): Outlook => ({ refusal, upgraded: new Map(), warnings: [] })
  if (act.in_window && window === null)
    return refused(no(`${name} has no maintenance window: set one first`))
  try {
    const busy = operation_id === null ? undefined : await operations.read(db, operation_id)
    if (busy && !hasEnded(busy) && !act.in_window)
      return refused(forNow(`${operationTitle(busy)} has not ended: wait until it has`))
    const { checks, groups, warnings } = await clusters.plan(id, changeOf(act), signal)
    const failed = firstFailed(checks)
    if (failed) return refused(refusalBy(failed))
    return {
      refusal: null,
      upgraded: new Map(
        groups.flatMap(({ node_id, name: of }) =>
          node_id === null ? [] : [[node_id, of ?? node_id]],
        ),
      ),
      warnings: warnings.map((one) => `${name}: ${one}`),
    }
  } catch (error) {
    // What is to be tried again, such as a plan that had no turn, is no refusal of the cluster.
    if (error instanceof Problem && error.retryAfterSeconds === undefined)
      return refused({ ok: false, reason: error.message, kind: error.kind })
    throw error
  }
}

/** Whether the selection upgrades this server. Pure. */
export function canUpgrade(
  server: Pick<Server, 'id' | 'status' | 'cluster'>,
  act: BulkAct,
  outlook: Outlook | undefined,
  chosen: ReadonlySet<string>,
): Verdict {
  const { cluster } = server
  if (server.status === 'deleted') return no('The server was removed')
  if (cluster === null || outlook === undefined)
    return no('It is in no cluster: a server gets the Talos version of the cluster that it joins')
  if (outlook.refusal !== null) return outlook.refusal
  const missing = [...outlook.upgraded].flatMap(([id, name]) => (chosen.has(id) ? [] : [name]))
  return all(
    outlook.upgraded.has(server.id)
      ? yes
      : no(`It runs Talos ${versionOf(act)} already: nothing to do`),
    missing.length === 0
      ? yes
      : no(
          `The servers of ${cluster.name} are upgraded together: choose ${someOf(missing)} as well`,
        ),
  )
}

/** Whether a step of the upgrade restarts a server. */
const restarts = ({ key }: Pick<Step, 'key'>): boolean => key.startsWith('upgrade/')

/** What the servers of an upgrade have reached that has no steps yet. Pure. */
function unplanned(upgrade: Operation): StepChange | null {
  const { reason } = upgrade
  if (!hasEnded(upgrade)) return reason === null ? null : { status: 'waiting', reason }
  return {
    status: 'skipped',
    reason:
      upgrade.status === 'failed'
        ? `The upgrade of its cluster stopped: ${reason}`
        : (reason ?? 'Cancelled'),
  }
}

/** What a server of the act has reached in the upgrade of its cluster. Pure. */
export function reached(upgrade: Operation, serverId: string): StepChange | null {
  // One that has not begun has no steps yet if its plan could not be made.
  if (upgrade.steps.length === 0 && upgrade.status !== 'done') return unplanned(upgrade)
  const own = upgrade.steps.filter((s) => s.node_id === serverId)
  const open = own.some((s) => ['todo', 'running', 'waiting'].includes(s.status))
  const failed = own.find((s) => s.status === 'failed')
  if (!failed && !open && own.filter(restarts).every((s) => s.status === 'done'))
    return { status: 'done', reason: own.length === 0 ? 'Nothing to do' : null }
  if (hasEnded(upgrade)) {
    if (failed) return { status: 'failed', reason: failed.reason ?? upgrade.reason }
    const why = upgrade.reason ?? 'Cancelled'
    return {
      status: 'skipped',
      reason: upgrade.status === 'failed' ? `The upgrade of its cluster stopped: ${why}` : why,
    }
  }
  const waits = own.find((s) => s.status === 'waiting')
  if (waits) return { status: 'waiting', reason: waits.reason ?? upgrade.reason }
  if (own.some((s) => s.status !== 'todo')) return { status: 'running', reason: null }
  const isBegun = upgrade.steps.some((s) => s.status !== 'todo')
  return isBegun || upgrade.reason === null ? null : { status: 'waiting', reason: upgrade.reason }
}

/**
 * Begins the upgrade of a cluster, and copies what its servers have reached. `sleeps`: it says that
 * it waits for a maintenance window.
 */
export function upgrading(parts: BulkParts) {
  const { db, operations, clusters } = parts
  /** The same for every server. */
  const setAll = (
    { job, operation, act }: Turn,
    lane: readonly Item[],
    change: StepChange,
  ): Promise<void> =>
    job.fence.write((tx) =>
      operations.steps(
        tx,
        operation.id,
        lane.map((one) => ({ key: bulkStep(act.kind, one.server_id), ...change })),
      ),
    )

  /** The upgrade's id. */
  const begin = async (
    turn: Turn,
    lane: readonly Item[],
  ): Promise<{ id: string } | 'over' | 'waits' | 'delayed'> => {
    const { job, operation, caller, act } = turn
    if (turn.isCancelled) {
      await setAll(turn, lane, { status: 'skipped', reason: 'Cancelled' })
      return 'over'
    }
    const chosen = lane.map((one) => one.server_id)
    const also: Also = async (tx, begun) => {
      const asked = await operations.state(tx, operation.id)
      if (asked?.cancel_requested_at != null) throw new NotNow()
      for (const { server_id } of lane)
        if (!(await store.noteBegun(tx, operation.id, server_id, begun.id))) throw new NotNow()
    }
    try {
      const begun = await clusters.request(
        caller,
        lane[0]!.cluster_id!,
        {
          change: changeOf(act),
          start: { in_window: act.in_window },
          confirmed_disks: [],
          confirmed_loss: [],
        },
        job.signal,
        { also, chosen },
      )
      turn.job.passed('bulk-begun')
      return begun.operation
    } catch (error) {
      if (job.signal.aborted) throw error
      if (error instanceof NotNow) return 'waits'
      if (!(error instanceof Problem)) throw error
      // Too many plans at once: it is planned again with the next look.
      if (error.retryAfterSeconds !== undefined) return 'waits'
      return (await isDelayed(parts, turn, lane, error)) ? 'delayed' : 'over'
    }
  }

  return async (
    turn: Turn,
    lane: readonly Item[],
  ): Promise<'over' | 'waits' | 'sleeps' | 'delayed'> => {
    const { job, operation, act } = turn
    const known = lane.find((one) => one.begun_id !== null)?.begun_id
    const begun = known == null ? await begin(turn, lane) : { id: known }
    if (typeof begun === 'string') return begun
    const upgrade = await operations.read(db, begun.id)
    if (!upgrade) {
      await setAll(turn, lane, { status: 'failed', reason: 'Its operation is gone' })
      return 'over'
    }
    const steps = new Map(operation.steps.map((s) => [s.key, s]))
    const changes = lane.flatMap((one) => {
      const key = bulkStep(act.kind, one.server_id)
      const change = reached(upgrade, one.server_id)
      const before = steps.get(key)
      return change === null ||
        (before?.status === change.status && before?.reason === change.reason)
        ? []
        : [{ key, ...change }]
    })
    await job.fence.write(async (tx) => {
      if (turn.isCancelled && !hasEnded(upgrade)) await operations.cancelIn(tx, upgrade.id)
      await operations.steps(tx, operation.id, changes)
    })
    if (hasEnded(upgrade)) return 'over'
    const isAsleep = upgrade.reason !== null && upgrade.steps.every((s) => s.status === 'todo')
    return act.in_window && isAsleep && !turn.isCancelled ? 'sleeps' : 'waits'
  }
}

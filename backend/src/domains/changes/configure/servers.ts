/**
 * Steps that several changes of configurations share. Servers are changed one after another: dry
 * run, drain if the server restarts, send, wait until it runs.
 */
import type { Check } from '#contract/clusters/clusters.ts'
import { sendingSteps as titles } from '#contract/clusters/changes/table.ts'
import { undoAfter } from '#contract/servers/losses.ts'
import type { Tx } from '../../../db/db.ts'
import type { Delivery, LayerSet } from '../../configurations/api.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { joined } from '../../../sentences.ts'
import type { MemberRow } from '../../clusters/api.ts'
import { check, forNowIf, isWanted } from '../../control-planes/api.ts'
import {
  type ChangeTurn,
  keyOf,
  memberOf,
  type PlannedGroup,
  type StepAt,
  type StepResult,
  type Waiting,
  write,
} from '../frame.ts'
import { etcdHealthy } from '../shared/etcd-healthy.ts'
import { drain, nodeReady, uncordon } from '../shared/drain.ts'

/**
 * Servers that belong to the cluster, workers first, so that a wrong configuration breaks a worker
 * before a member of etcd.
 */
export const workersFirst = (members: readonly MemberRow[]): MemberRow[] => {
  const here = members.filter(isWanted)
  return [
    ...here.filter((m) => m.role === 'worker'),
    ...here.filter((m) => m.role === 'control_plane'),
  ]
}

/** Check: all servers of the change have joined and answer. */
export function checkReachable(
  members: readonly MemberRow[],
  facts: ReadonlyMap<string, ServerFacts>,
): Check {
  const ill = members.flatMap(({ node_id, name }) => {
    const server = facts.get(node_id)
    if (server?.status !== 'ready') return [`${name} has not joined yet`]
    return server.reachable === false
      ? [`${name} does not answer${server.reason === null ? '' : `: ${server.reason}`}`]
      : []
  })
  return forNowIf(
    true,
    check(
      'reachable',
      ill.length === 0,
      ill.length === 0 ? 'All servers of the change answer' : joined(ill),
    ),
  )
}

/**
 * The steps of one server. `mends`: names of control planes that the change is to mend. The change
 * then doesn't wait for all members of etcd, and a server that is not well isn't drained: its pods
 * might never end.
 */
export function serverGroup(
  m: Pick<MemberRow, 'node_id' | 'name' | 'role'>,
  reboots: PlannedGroup['reboots'],
  mends: readonly string[] = [],
): PlannedGroup {
  const isControlPlane = m.role === 'control_plane' && mends.length === 0
  const drains = reboots !== 'no' && !mends.includes(m.name)
  const prefixes = [
    ...(isControlPlane ? (['etcd-healthy'] as const) : []),
    'try' as const,
    ...(drains ? (['drain'] as const) : []),
    'configure' as const,
    'answers' as const,
    ...(isControlPlane ? (['etcd-back'] as const) : []),
    'node-ready' as const,
    ...(drains ? (['uncordon'] as const) : []),
  ]
  const steps = prefixes.map((prefix) => ({
    key: keyOf(prefix, m.node_id),
    title: titles[prefix](m),
  }))
  return { node_id: m.node_id, name: m.name, drains, ...(reboots && { reboots }), steps }
}

export interface Sending<C> {
  /** What changes in the server's patches. */
  readonly set?: (turn: ChangeTurn<C>, nodeId: string) => Promise<LayerSet>
  /** Names of control planes that the change is to mend. */
  readonly mends?: (change: C) => readonly string[]
  /** Runs in the transaction that prepares the configuration, before it is rendered. */
  readonly before?: (tx: Tx, turn: ChangeTurn<C>, nodeId: string) => Promise<void>
  /** The reverse of `before`, in the transaction that makes the former configuration the wanted one. */
  readonly takeBack?: (tx: Tx, turn: ChangeTurn<C>, nodeId: string) => Promise<void>
}

/** Whether the plan says that the server restarts, so that it was drained. */
const drains = ({ operation }: ChangeTurn, nodeId: string): boolean =>
  operation.steps.some((s) => s.key === keyOf('drain', nodeId))

/** Pause between two looks at a server whose change is on trial, in ms. */
const tryingMs = 500

/** What tells a retry of an operation apart from its first run. */
export const attemptOf = async ({ parts, operation }: ChangeTurn): Promise<string> =>
  `${operation.id}/${(await parts.operations.state(parts.db, operation.id))?.round ?? 1}`

/** The result of a step that sends a configuration; null if the machine has the configuration. */
export function notHeld(
  sent: Delivery,
  name: string,
): Waiting | { readonly failed: string } | null {
  switch (sent.kind) {
    case 'held':
    case 'sent':
      return null
    case 'restarting':
      return { waiting: `${name} is restarting` }
    case 'silent':
      return { waiting: sent.reason }
    case 'due':
      // Nothing else would order the restart after a cancel.
      return { waiting: sent.reason, againMs: 1_000 }
    case 'trying':
      return { waiting: sent.reason, againMs: sent.againMs ?? tryingMs, isUnsent: true }
    case 'forbidden':
      return { waiting: sent.reason, againMs: 1_000, isSafe: true, isUnsent: true }
    default:
      return { failed: sent.reason }
  }
}

/** Makes the previous patches the wanted ones again. `revert`: see `Sending`. */
export const takingBack =
  <C>(revert?: Sending<C>['takeBack']) =>
  (turn: ChangeTurn<C>, nodeId: string): Promise<void> =>
    write(turn, async (tx) => {
      await revert?.(tx, turn, nodeId)
      await turn.parts.configurations.prepare(tx, turn.state.row.id, nodeId)
    })

/** The steps of `serverGroup` for a kind that changes configurations. */
export function sendingSteps<C>({ set, mends = () => [], before, takeBack: revert }: Sending<C>) {
  const takeBack = takingBack(revert)
  const mayReboot = (turn: ChangeTurn<C>, nodeId: string): boolean =>
    drains(turn, nodeId) || mends(turn.change).includes(memberOf(turn, nodeId).name)

  const prepare = async (turn: ChangeTurn<C>, nodeId: string): Promise<unknown> => {
    const patches = await set?.(turn, nodeId)
    return write(turn, async (tx) => {
      await before?.(tx, turn, nodeId)
      await turn.parts.configurations.prepare(tx, turn.state.row.id, nodeId, patches)
    })
  }

  return {
    'etcd-healthy': etcdHealthy,
    'etcd-back': etcdHealthy,
    drain,
    'node-ready': nodeReady,
    uncordon,

    async try(turn: ChangeTurn<C>, { nodeId }: StepAt): Promise<StepResult> {
      const { name } = memberOf(turn, nodeId!)
      await prepare(turn, nodeId!)
      const tried = await turn.parts.configurations.tryNewest(nodeId!, turn.job.signal)
      if (tried.kind === 'silent') return { waiting: tried.reason, isSafe: true }
      if (tried.kind === 'ready' && tried.reboots && !mayReboot(turn, nodeId!)) {
        await takeBack(turn, nodeId!)
        return {
          failed: `${name} would have to restart, which the plan did not say: make a new plan`,
        }
      }
      if (tried.kind === 'refused' || tried.kind === 'changed' || tried.kind === 'needs_reboot') {
        await takeBack(turn, nodeId!)
        return { failed: tried.reason }
      }
      return 'done'
    },

    async configure(turn: ChangeTurn<C>, { nodeId }: StepAt): Promise<StepResult> {
      const { configurations, patches } = turn.parts
      const { name } = memberOf(turn, nodeId!)
      await prepare(turn, nodeId!)
      const changed = await set?.(turn, nodeId!)
      const saved = changed && { set: changed, links: await patches.linksOf(changed) }
      const sent = await configurations.deliver(turn.job, nodeId!, {
        mayReboot: mayReboot(turn, nodeId!),
        attempt: await attemptOf(turn),
        consent: undoAfter(name, turn.confirmedLoss),
        mends: mends(turn.change),
        ...(saved && {
          also: (tx) =>
            patches.save(tx, nodeId!, saved.set, {
              by: turn.operation.created_by,
              appliedSet: turn.appliedSet,
              links: saved.links,
            }),
        }),
      })
      const result = sent.kind === 'restarting' ? null : notHeld(sent, name)
      if (result === null) return 'done'
      if ('failed' in result) await takeBack(turn, nodeId!)
      return result
    },

    async answers(turn: ChangeTurn<C>, { nodeId }: StepAt): Promise<StepResult> {
      const { node_id } = memberOf(turn, nodeId!)
      const why = await turn.parts.configurations.whyNotRunning(node_id, turn.job.signal)
      return why === null ? 'done' : { waiting: why, againMs: 500 }
    },
  } as const
}

/** The snapshot that an upgrade takes before it changes a machine. */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { lastUseFailed, unsaved } from '#contract/clusters/changes/snapshot-first.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import {
  type ChangeTurn,
  type ChangeView,
  keyOf,
  type Planned,
  type StepAt,
  type StepResult,
} from '../frame.ts'
import { check } from '../../control-planes/api.ts'
import { takeOrFollow } from './follow.ts'

type Upgrade = ChangeOf<'upgradeTalos'> | ChangeOf<'upgradeKubernetes'>
type FirstPart = Required<Pick<Planned, 'checks' | 'warnings' | 'groups'>>

const { snapshot: titleOf } = changeTable.clusterUpgradeTalos.steps
const nothing: FirstPart = { checks: [], warnings: [], groups: [] }

/** Longer than the limit of one attempt, in ms. */
export const patienceMs = 8 * 3_600_000

/**
 * The part of an upgrade's plan that takes the snapshot. Without a store the upgrade is warned of,
 * not refused. The key of the step names the store.
 */
export async function planSnapshot(
  { parts, state }: ChangeView,
  { snapshot, store_id: given }: Pick<Upgrade, 'snapshot' | 'store_id'>,
): Promise<FirstPart> {
  if (!snapshot) return nothing
  const chosen = await parts.snapshots.storeFor(parts.db, state.row.id, given)
  if (!chosen.ok)
    return given === undefined
      ? { ...nothing, warnings: [unsaved(chosen.reason)] }
      : { ...nothing, checks: [check('snapshot', false, chosen.reason)] }
  const { store } = chosen
  return {
    checks: [check('snapshot', true, `A snapshot of etcd is taken into ${store.name} first`)],
    warnings: store.problem === null ? [] : [lastUseFailed(store.name, store.problem)],
    groups: [
      {
        node_id: null,
        name: null,
        steps: [{ key: keyOf('snapshot', store.id), title: titleOf(store) }],
      },
    ],
  }
}

const purposeOf = (change: Upgrade): string =>
  change.kind === 'upgradeTalos'
    ? `Before the upgrade to Talos v${change.version.replace(/^v/, '')}`
    : `Before the upgrade to Kubernetes ${change.version.replace(/^v/, '')}`

/** Step `snapshot/<store id>`. */
export async function snapshotFirst(
  turn: ChangeTurn<Upgrade>,
  { key, step }: StepAt,
): Promise<StepResult> {
  const result = await takeOrFollow(turn, step, {
    storeOf: async () => ({
      ok: true,
      store: { id: key.slice(keyOf('snapshot', '').length) },
    }),
    purpose: purposeOf(turn.change),
  })
  return typeof result === 'object' && 'failed' in result
    ? {
        failed: `${result.failed.replace(/\.$/, '')}. Nothing was upgraded. Solve this problem and retry, or request the upgrade again, with or without a snapshot`,
      }
    : result
}

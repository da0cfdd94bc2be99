/**
 * A restore on other servers, or on servers of the cluster that have lost everything: all former
 * members are dropped from the cluster, and the listed servers join.
 */
import { canHaveControlPlanes, endpointHost } from '#contract/clusters/clusters.ts'
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { parseAddress } from '#contract/network/addresses.ts'
import type { ConfirmedDisk } from '#contract/disks/disks.ts'
import { counted } from '#contract/words.ts'
import type { Tx } from '../../../db/db.ts'
import { type Caller, system } from '../../../http/caller.ts'
import { clusterQueue, clusterRows, lookAt, type ServerImages } from '../../clusters/api.ts'
import { listed } from '../../../sentences.ts'
import { type ChangeView, keyOf, type Planned, type PlannedGroup, prefixOf } from '../frame.ts'
import { check } from '../../control-planes/api.ts'
import { joiningGroups, judgeJoining, reserve } from '../members/candidates.ts'
import { snapshotChecks } from './checks.ts'
import { keysOfSnapshot } from './keys.ts'

const titles = changeTable.clusterRestore.steps
type Change = ChangeOf<'restore'>

const present = ({ state }: Pick<ChangeView, 'state'>) =>
  state.members.filter((m) => m.released_at === null)
/** The listed servers that already belong to the cluster. */
const returningOf = (view: Pick<ChangeView, 'state'>, { servers }: Change): ReadonlySet<string> =>
  new Set(
    present(view).flatMap((m) => (servers.some((s) => s.node_id === m.node_id) ? [m.node_id] : [])),
  )

export async function planNew(view: ChangeView, change: Change): Promise<Planned> {
  const { row } = view.state
  const returning = returningOf(view, change)
  const seen = await Promise.all(
    present(view).map(async (m) => ({ m, seen: await lookAt(view.parts, m, view.signal) })),
  )
  const alive = seen.filter((s) => s.seen.kind === 'secured')
  const notEmpty = seen.filter((s) => returning.has(s.m.node_id) && s.seen.kind !== 'maintenance')
  const [snapshot, joiners] = await Promise.all([
    snapshotChecks(view, change),
    judgeJoining(view, change.servers, { nodes: 'lost' }, returning),
  ])
  const count = canHaveControlPlanes(
    change.servers.filter((s) => s.role === 'control_plane').length,
  )
  const lost = seen.filter((s) => !returning.has(s.m.node_id)).map((s) => s.m.name)
  const host = parseAddress(endpointHost(row.endpoint))
  const hasEndpoint =
    row.virtual_ip ||
    host === null ||
    joiners.chosen.some(
      (s) => s.role === 'control_plane' && s.candidate.address === endpointHost(row.endpoint),
    )
  return {
    checks: [
      ...snapshot.checks,
      check(
        'reset',
        change.reset.length === 0,
        change.reset.length === 0
          ? 'No data of etcd is wiped'
          : 'Other servers have no etcd to wipe: name either control planes to wipe, or new servers',
      ),
      check(
        'lost',
        alive.length === 0 && notEmpty.length === 0,
        alive.length > 0
          ? `${listed(alive.map((s) => s.m.name))} still ${alive.length === 1 ? 'runs' : 'run'} ${row.name}: restore on ${alive.length === 1 ? 'it' : 'them'}, or switch ${alive.length === 1 ? 'it' : 'them'} off first`
          : notEmpty.length > 0
            ? `${listed(notEmpty.map((s) => s.m.name))} ${notEmpty.length === 1 ? 'is' : 'are'} not in maintenance`
            : `No server of ${row.name} runs`,
      ),
      check(
        'control_planes',
        count.ok,
        count.ok
          ? counted(
              change.servers.filter((s) => s.role === 'control_plane').length,
              'control plane',
            )
          : count.reason,
      ),
      ...joiners.checks,
    ],
    warnings: [
      ...snapshot.warnings,
      ...joiners.warnings,
      ...(lost.length > 0
        ? [
            `${listed(lost, 20)} are removed from ${row.name} without a reset. Wipe them before they are switched on again: they still have the old configuration and data.`,
          ]
        : []),
      ...(hasEndpoint
        ? []
        : [
            `The API endpoint ${row.endpoint} leads to none of the new control planes: give the cluster another endpoint afterwards.`,
          ]),
      'The new servers do not get the patches of the lost servers.',
    ],
    groups: groupsOf(joiningGroups(joiners.chosen)),
    images: joiners.images,
    losses: joiners.losses,
    disks: joiners.disks,
  }
}

/**
 * The first control plane starts etcd from the snapshot as soon as it answers. Its last steps and
 * the other servers need etcd.
 */
function groupsOf([first, ...others]: readonly PlannedGroup[]): PlannedGroup[] {
  if (!first || first.node_id === null || first.name === null) return []
  const server = { name: first.name }
  const isAfter = ({ key }: PlannedGroup['steps'][number]) =>
    prefixOf(key) === 'etcd' || prefixOf(key) === 'join'
  return [
    { node_id: null, name: null, steps: [{ key: 'read', title: titles.read() }] },
    {
      ...first,
      steps: [
        ...first.steps.filter((step) => !isAfter(step)),
        { key: keyOf('upload', first.node_id), title: titles.upload(server) },
        { key: keyOf('recover', first.node_id), title: titles.recover(server) },
        ...first.steps.filter(isAfter),
      ],
    },
    {
      node_id: null,
      name: null,
      steps: [
        { key: 'objects', title: titles.objects() },
        { key: 'stale', title: titles.stale() },
      ],
    },
    ...others,
    { node_id: null, name: null, steps: [{ key: 'members', title: titles.members() }] },
  ]
}

/** Drops the former members and reserves the new servers, in one transaction. @throws Problem */
export async function beginNew(
  tx: Tx,
  begun: {
    readonly view: ChangeView
    readonly caller: Caller
    readonly change: Change
    readonly confirmed: readonly ConfirmedDisk[]
    readonly images?: ServerImages | undefined
    readonly operationId: string
  },
): Promise<void> {
  const { view, change } = begun
  const { parts, state } = view
  const at = new Date(parts.clock.now())
  const returning = returningOf(view, change)
  for (const m of present(view)) {
    const isBack = returning.has(m.node_id)
    if (isBack) await clusterRows.dropMember(tx, m.cluster_id, m.node_id)
    else
      await clusterRows.updateMember(tx, m.cluster_id, m.node_id, {
        wanted: 'released',
        at: 'done',
        at_since: at,
        released_at: at,
        operation_id: null,
        waits: false,
        failed_at: null,
        failure: null,
      })
    await parts.servers.release(tx, system, m.node_id, {
      why: `The cluster ${state.row.name} was restored on other servers; this server was not reset and may still have its configuration`,
      ...(isBack && { wiped: true, isKnown: true }),
    })
  }
  await useKeysOfSnapshot(tx, view, change)
  await reserve(tx, begun, change.servers, returning)
}

/**
 * The new servers get the keys with which the Secrets in the snapshot are encrypted. The current
 * secrets become former ones.
 */
async function useKeysOfSnapshot(
  tx: Tx,
  { parts, state }: ChangeView,
  change: Change,
): Promise<void> {
  const { id } = state.row
  const snapshot = (await parts.snapshots.find(tx, change.snapshot_id))!
  const keys = await keysOfSnapshot(parts.secrets, tx, id, snapshot)
  if (keys.kind !== 'former') return
  await parts.secrets.importBundle(tx, id, keys.bundle)
  // Makes the reconciler write the escrow file again.
  await clusterRows.update(tx, id, { escrowed_at: null, updated_at: new Date(parts.clock.now()) })
  await parts.engine.wake(tx, clusterQueue, id)
}

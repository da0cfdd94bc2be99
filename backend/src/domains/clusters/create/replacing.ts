/** Replaces a server that failed during the creation. The creation continues in a new operation. */
import { noDefaultDisk } from '#contract/disks/choice.ts'
import { canWipe } from '#contract/disks/wipe.ts'
import type { ServerLoss } from '#contract/servers/losses.ts'
import type { clusterServerReplace } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { hasEnded, type Operation, type Step } from '#contract/operations.ts'
import { forNow } from '#contract/rule.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import type { NewStep } from '../../operations/api.ts'
import { defaultInstallDisk } from './check.ts'
import { agreedOf, diskColumns } from '../disks.ts'
import { demandUnheld } from '../held/held.ts'
import { judgePatches } from './configurations.ts'
import { demandSameImages, imagesOf, noImages, type ServerImages, withImages } from './image.ts'
import { reachedAfter } from './losses.ts'
import {
  clusterQueue,
  type ClusterParts,
  lockCluster,
  memberKey,
  memberQueue,
  updateCluster,
  wakeMembers,
} from '../parts.ts'
import { replacementSteps } from '../plan.ts'
import { imageOfChosen } from '../blueprint.ts'
import * as store from '../store.ts'
import { leftTraces } from '../whole/watch.ts'
import { demandNoLoss } from '../../../http/errors.ts'

/**
 * Returns the new operation's steps with the progress of the creation. The steps of the replaced
 * and of the new server start over; other failed servers stay failed.
 */
function doneBefore(
  steps: readonly NewStep[],
  earlier: Operation | undefined,
  changing: ReadonlySet<string>,
): NewStep[] {
  const isOver = ({ status, node_id }: Step) =>
    status === 'done' || status === 'skipped' || (status === 'failed' && node_id !== null)
  const over = new Map((earlier?.steps ?? []).filter(isOver).map((s) => [s.key, s]))
  return steps.map((step) => {
    const before = step.node_id && changing.has(step.node_id) ? undefined : over.get(step.key)
    return before ? { ...step, before } : step
  })
}

/**
 * @throws Problem not_found; server_taken; not_eligible; disk_not_confirmed; loss_not_confirmed;
 * transition_refused; held_by_files
 */
export async function replaceServer(
  parts: ClusterParts,
  caller: Caller,
  id: string,
  nodeId: string,
  asked: Input<typeof clusterServerReplace>['body'],
): Promise<{ operation: Operation }> {
  const row = await store.find(parts.db, id)
  if (row) demandUnheld(caller, row)
  const { losses, refused, images } = await judgeNew(parts, id, nodeId, asked.node_id)
  if (refused !== undefined) throw new Problem('not_eligible', refused)
  demandNoLoss(losses, asked.confirmed_loss)
  for (const schematic of images.unknown) await parts.installers.register(schematic)
  return replaceIn(parts, caller, id, { nodeId, images, ...asked })
}

/** The new server if its patches cut it off, and what can't work in them. */
async function judgeNew(
  parts: ClusterParts,
  id: string,
  nodeId: string,
  by: string,
): Promise<{
  readonly losses: readonly ServerLoss[]
  readonly refused: string | undefined
  readonly images: ServerImages
}> {
  const none = { losses: [], refused: undefined, images: noImages }
  const state = await store.load(parts.db, id)
  const old = state?.members.find((m) => m.node_id === nodeId)
  if (!state || !old) return none
  const staying = state.members.filter((m) => store.isWanted(m) && m.node_id !== nodeId)
  const facts = await parts.servers.forPlan(parts.db, [by, ...staying.map((m) => m.node_id)])
  const candidate = facts[0]!
  const disk = defaultInstallDisk(candidate, [])
  if (disk === null) return none
  const { role } = old
  const chosen = {
    node_id: by,
    name: candidate.name,
    role,
    interface: candidate.link,
    install_disk: disk,
    workload_disks: [],
    candidate,
  }
  const { losses } = await reachedAfter(parts, {
    name: state.row.name,
    settings: state.row,
    chosen: [chosen],
    patchOf: () => undefined,
    there: staying.map((m, i) => ({
      address: facts[i + 1]!.address,
      isControlPlane: m.role === 'control_plane',
    })),
  })
  const { findings } = await judgePatches(parts, parts.db, {
    name: state.row.name,
    resolved: { ...state.row, servers: [chosen] },
    servers: [{ node_id: by, role, workload_disks: [] }],
  })
  const { wanted_image: wish, talos_version: version } = state.row
  const images = await imagesOf(parts.installers, wish, version, [chosen])
  return { losses, refused: findings[0]?.message, images }
}

const replaceIn = (
  parts: ClusterParts,
  caller: Caller,
  id: string,
  {
    nodeId,
    images,
    node_id: by,
    confirmed_disks: confirmed,
  }: Input<typeof clusterServerReplace>['body'] & {
    readonly nodeId: string
    readonly images: ServerImages
  },
): Promise<{ operation: Operation }> =>
  inTransaction(parts.db, async (tx) => {
    const { servers, operations, engine } = parts
    const row = await lockCluster(tx, id)
    demandUnheld(caller, row)
    const members = await store.members(tx, id)
    const old = members.find(
      (m) => m.node_id === nodeId && m.released_at === null && m.wanted === 'joined',
    )
    if (!old) throw new Problem('not_found', 'There is no such server in this cluster')
    if (row.wanted === 'ready' && row.ready_at !== null)
      throw new Problem(
        'transition_refused',
        `${row.name} is ready: replace ${old.name} with a change of the cluster (kind: replace), which drains it first`,
      )
    if (row.wanted !== 'ready' || old.failed_at === null)
      throw new Problem(
        'transition_refused',
        `${old.name} can be replaced only after it has failed during the creation`,
      )
    const bootstrap = await store.bootstrap(tx, id)
    if (bootstrap && bootstrap.confirmed_at === null && bootstrap.node_id === nodeId)
      throw Problem.of(
        'transition_refused',
        forNow(
          `etcd may have been started on ${old.name}, which does not answer: retry when it answers, or delete the cluster and create it again`,
        ),
      )
    const before = members.find((m) => m.node_id === by)
    if (before && before.released_at === null)
      throw new Problem('server_taken', `${before.name} is already a server of ${row.name}`)
    if (before && leftTraces(before))
      throw Problem.of(
        'not_eligible',
        forNow(
          `${before.name} was in ${row.name} before, and has not been removed from etcd and Kubernetes yet: try again later`,
        ),
      )
    await servers.lockAll(tx, [by])
    const [facts] = await servers.forPlan(tx, [by])
    const disk = defaultInstallDisk(facts!, [])
    if (facts!.datacenter_id !== row.datacenter_id)
      throw new Problem('not_eligible', `${facts!.name} is in another datacenter than the cluster`)
    if (disk === null)
      throw new Problem(
        'not_eligible',
        `${facts!.name} has no disk to install Talos on: ${noDefaultDisk(facts!.disks)}`,
      )
    const wipe = canWipe(
      [{ server: facts!.name, disks: facts!.disks, devices: [disk], kept: facts!.system_disk }],
      confirmed,
    )
    if (!wipe.ok) throw new Problem('disk_not_confirmed', wipe.reason)
    const earlier =
      row.operation_id === null ? undefined : await operations.read(tx, row.operation_id)
    if (earlier && !hasEnded(earlier)) {
      const reason = `${old.name} was replaced by ${facts!.name}: the creation continues in a separate operation`
      await operations.set(tx, earlier.id, { status: 'failed', reason, forGood: true })
      // Checked with the row locked, so that no cancel can intervene.
      if ((await operations.state(tx, earlier.id))?.cancel_requested_at)
        throw new Problem('transition_refused', 'The creation is being cancelled')
    }
    const [chosen] = withImages([{ node_id: by, name: facts!.name, candidate: facts! }], images)
    demandSameImages([chosen!], images)
    const now = new Date(parts.clock.now())
    const fresh = {
      cluster_id: id,
      node_id: by,
      role: old.role,
      position: Math.max(...members.map((m) => m.position)) + 1,
      name: facts!.name,
      interface: facts!.link,
      ...diskColumns(facts!.disks, disk),
      install_image: imageOfChosen(chosen!, row.talos_version, parts.config),
      is_moved: row.is_moved,
      agreed_disks: JSON.stringify(agreedOf(facts!.disks, [disk])),
      at_since: now,
    }
    const here = members.filter((m) => m.released_at === null)
    const staying = here.filter((m) => m.wanted === 'joined' && m.node_id !== nodeId)
    const leavers = here.filter((m) => !staying.includes(m))
    const steps = replacementSteps(leavers, [...staying, fresh])
    const operation = await operations.create(tx, caller, {
      kind: 'clusterServerReplace',
      target: { id, name: row.name },
      steps: doneBefore(steps, earlier, new Set([nodeId, by])),
      queue: clusterQueue,
      audit: { after: { replaced: old.name, by: facts!.name } },
    })
    await servers.reserve(tx, caller, {
      cluster: { id, name: row.name, talosVersion: row.talos_version },
      operationId: operation.id,
      servers: [{ node_id: by, role: old.role, installDisk: disk }],
    })
    // If the new server was in this cluster before, its old row is deleted: the server no longer
    // has the configuration from that time.
    if (before) await store.dropMember(tx, id, by)
    await store.insertMembers(tx, [fresh])
    await store.updateMember(tx, id, nodeId, {
      wanted: 'released',
      failed_at: null,
      failure: null,
      at: 'reset',
      at_since: now,
    })
    await updateCluster(parts, tx, caller, id, { operation_id: operation.id, operation_round: 1 })
    await wakeMembers(engine, tx, here)
    await engine.wake(tx, memberQueue, memberKey(id, by))
    return { operation }
  })

/**
 * Gives servers of a cluster the other role. Talos can't change the type of a machine in place, so
 * the server leaves, is reset and joins again.
 */
import { leastMemoryBytes } from '#contract/clusters/rules.ts'
import { canHaveControlPlanes, type Check } from '#contract/clusters/clusters.ts'
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { Problem } from '#contract/errors.ts'
import type { ServerLoss } from '#contract/servers/losses.ts'
import { counted } from '#contract/words.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readDisks } from '#talos/client/inventory.ts'
import type { AgreedDisks } from '../../../db/columns.ts'
import { system } from '../../../http/caller.ts'
import {
  agreedOf,
  type ChosenServer,
  clusterRows,
  joiningStepsOf,
  judgePatches,
  type MemberRow,
  reachedAfter,
} from '../../clusters/api.ts'
import { checkAlarms, factsOf, isWanted, namesLeaving, touching } from '../../control-planes/api.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  type ChangeView,
  type PlannedGroup,
  type StepAt,
  type StepResult,
  viewOf,
  write,
} from '../frame.ts'
import { joiningPatienceMs } from './candidates.ts'
import { departingGroup, departingSteps, endDeparting } from './departing.ts'
import { followed, joining, joinWith, rowOf, wakeMember } from './joining.ts'
import { answerCheck, controlPlaneCheck, endpointCheck, leaversOf } from './leavers.ts'
import { checked, etcdCheck, kubernetesCheck, outlookOf } from './outlook.ts'

const roleOf = ({ servers }: ChangeOf<'role'>, nodeId: string) =>
  servers.find((s) => s.node_id === nodeId)?.role

/**
 * Confirms the current content of the kept workload disks on the user's behalf, because the server
 * already had it in the cluster.
 */
async function rejoin(
  turn: ChangeTurn<ChangeOf<'role'>>,
  at: StepAt,
  m: MemberRow,
): Promise<StepResult> {
  const { parts, job, state, change, operation } = turn
  const role = roleOf(change, m.node_id)!
  let agreed: AgreedDisks
  try {
    const connection = await parts.servers.connection(m.node_id)
    const disks = await connection.maintenance((client) => readDisks(client), {
      signal: job.signal,
    })
    agreed = agreedOf(
      disks.map(({ content, ...disk }) => ({ ...disk, content: content || null })),
      [m.install_disk, ...m.workload_disks],
    )
  } catch (error) {
    if (job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
      throw error
    return { waiting: `The disks of ${m.name} can't be read: ${error.message}`, againMs: 1_000 }
  }
  const join = () =>
    write(turn, async (tx) => {
      const members = await clusterRows.members(tx, m.cluster_id)
      const now = members.find((one) => one.node_id === m.node_id)
      if (now?.wanted !== 'released' || now.wiped_at === null || now.released_at !== null) return
      await clusterRows.dropMember(tx, m.cluster_id, m.node_id)
      await clusterRows.insertMembers(tx, [
        {
          cluster_id: m.cluster_id,
          node_id: m.node_id,
          role,
          position: Math.max(...members.map((one) => one.position)) + 1,
          name: m.name,
          interface: m.interface,
          install_disk: m.install_disk,
          install_wwid: m.install_wwid,
          install_image: m.install_image,
          is_moved: m.is_moved,
          workload_disks: m.workload_disks,
          disk_wwids: JSON.stringify(m.disk_wwids),
          agreed_disks: JSON.stringify(agreed),
          at_since: new Date(job.now()),
        },
      ])
      await parts.servers.reserve(tx, system, {
        cluster: { id: state.row.id, name: state.row.name, talosVersion: state.row.talos_version },
        operationId: operation.id,
        servers: [{ node_id: m.node_id, role }],
      })
      await wakeMember(turn, tx, m)
    })
  const mends = namesLeaving(turn.operation, state.members)
  const touched = await touching(viewOf(turn), { ...m, role }, join, { mends, isComing: true })
  if ('forbidden' in touched) return { waiting: touched.forbidden, againMs: 1_000, isUnsent: true }
  return followed(at, `${m.name} joins again`)
}

const step: ChangeKind<ChangeOf<'role'>>['steps'][string] = (turn, at) => {
  const m = rowOf(turn, at.nodeId!)
  if (m?.wanted === 'released' && m.wiped_at !== null && m.released_at === null)
    return rejoin(turn, at, m)
  return joining(turn, at, { together: [], isTakenBack: false })
}

/**
 * The configurations that the servers get when they join again with their patches, which were
 * checked for the former role.
 */
async function judgeRejoining(
  { parts, state: { row, members }, facts }: ChangeView,
  rows: readonly MemberRow[],
  change: ChangeOf<'role'>,
): Promise<{ checks: Check[]; warnings: string[]; losses: readonly ServerLoss[] }> {
  const chosen = rows.flatMap((m): ChosenServer[] => {
    const candidate = facts.get(m.node_id)
    return candidate ? [{ ...m, role: roleOf(change, m.node_id)!, candidate }] : []
  })
  const { findings, warnings } = await judgePatches(parts, parts.db, {
    name: row.name,
    resolved: { ...row, servers: chosen },
    servers: chosen.map(({ node_id, role: becomes }) => ({
      node_id,
      role: becomes,
      workload_disks: [],
    })),
  })
  const { losses, sentences } = await reachedAfter(parts, {
    name: row.name,
    settings: row,
    chosen,
    patchOf: () => undefined,
    there: members.flatMap((m) => {
      const server = facts.get(m.node_id)
      return server && isWanted(m) && !rows.includes(m)
        ? [{ address: server.address, isControlPlane: m.role === 'control_plane' }]
        : []
    }),
  })
  return {
    checks: findings.map(({ check: name, ok, message }) => ({ check: name, ok, message })),
    warnings: [...warnings, ...sentences.values()],
    losses,
  }
}

export const role: ChangeKind<ChangeOf<'role'>> = {
  patienceMs: joiningPatienceMs,
  touches: ['join'],
  async plan(view, change) {
    const { state } = view
    const { row } = state
    const [outlook, { leavers, check: known }] = await Promise.all([
      outlookOf(view),
      leaversOf(
        view,
        change.servers.map((s) => s.node_id),
      ),
    ])
    const rows = leavers.map((l) => l.m)
    const same = rows.find((m) => m.role === roleOf(change, m.node_id))
    const unjoined = rows.find((m) => m.node_ready_at === null || !isWanted(m))
    const promoted = rows.filter((m) => m.role === 'worker')
    const demoted = rows.filter((m) => m.role === 'control_plane')
    const now = state.members.filter((m) => m.role === 'control_plane' && isWanted(m)).length
    const count = canHaveControlPlanes(now + promoted.length - demoted.length)
    const facts = await factsOf(view.parts, view.parts.db, promoted)
    const small = facts.find(
      (f) => f.memory_bytes !== null && f.memory_bytes < leastMemoryBytes.control_plane,
    )
    const { checks, warnings } = controlPlaneCheck(state, demoted, outlook)
    const rejoining = await judgeRejoining(view, rows, change)
    return {
      checks: [
        known,
        checked(
          'role',
          same
            ? `${same.name} is a ${same.role === 'worker' ? 'worker' : 'control plane'} already`
            : unjoined
              ? `${unjoined.name} has not joined ${row.name}`
              : small
                ? `${small.name} has too little memory for a control plane`
                : null,
          'Each server gets the other role',
        ),
        answerCheck(leavers, () => false),
        await endpointCheck(view, demoted),
        ...(promoted.length > demoted.length
          ? [
              checked(
                'control_planes',
                count.ok ? null : count.reason,
                counted(now + promoted.length - demoted.length, 'control plane'),
              ),
            ]
          : []),
        promoted.length > 0 ? etcdCheck(outlook, row.name) : checkAlarms(outlook.reports),
        ...checks,
        kubernetesCheck(outlook),
        ...rejoining.checks,
      ],
      losses: rejoining.losses,
      warnings: [
        ...warnings,
        ...rejoining.warnings,
        ...(row.taken_over_at === null
          ? []
          : [
              'The cluster was created without Steelyard: the server gets the configuration that Steelyard generates, with its patches',
            ]),
      ],
      // Servers that become control planes come first, so that etcd has more voters before others
      // leave.
      groups: [...promoted, ...demoted].map((m): PlannedGroup => {
        const leaves = departingGroup(m, true)
        const joins = joiningStepsOf({ ...m, role: roleOf(change, m.node_id)! }).map(
          ({ key, title }) => ({ key, title }),
        )
        return {
          ...leaves,
          becomes: roleOf(change, m.node_id)!,
          steps: [...leaves.steps, ...joins],
        }
      }),
    }
  },
  steps: {
    ...departingSteps(() => ({ keepsDisks: true, staysReserved: true })),
    ...joinWith(step),
  },
  end: (tx, turn) => endDeparting(tx, turn),
}

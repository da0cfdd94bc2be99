/**
 * Changes the workload disks of a server. An added disk is only recorded, as in the creation of a
 * cluster. A removed disk is wiped only on request.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { isBlank } from '#contract/disks/choice.ts'
import {
  type ConfirmedDisk,
  devicePath,
  type DiskFacts,
  isSameDisk,
} from '#contract/disks/disks.ts'
import { canWipe } from '#contract/disks/wipe.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readDisks } from '#talos/client/inventory.ts'
import { resources } from '#talos/client/resources.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { check, isWanted, touching } from '../../control-planes/api.ts'
import { agreedOf, clusterRows, found, type MemberRow, wwidsOf } from '../../clusters/api.ts'
import { listed } from '../../../sentences.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  keyOf,
  memberOf,
  type StepResult,
  talos,
  viewOf,
  write,
} from '../frame.ts'
import { checkReachable } from './servers.ts'

type Change = ChangeOf<'disks'>
const titles = changeTable.clusterDisks.steps

/** Why the named disks can't be added or removed, or null. */
function problemOf(
  m: MemberRow,
  server: Pick<ServerFacts, 'name' | 'disks' | 'system_disk'>,
  { add, remove, wipe }: Change,
): string | null {
  const known = server.disks.map((d) => d.device)
  if (add.length + remove.length === 0) return 'Name a disk to add or to remove'
  const twice = [...add, ...remove].find((disk, i, all) => all.indexOf(disk) !== i)
  if (twice !== undefined) return `The disk ${twice} is named twice`
  const missing = add.find((disk) => !known.includes(disk))
  if (missing !== undefined)
    return `${server.name} has no disk ${missing}. It has ${listed(known, 8)}`
  const system = add.find((disk) => disk === server.system_disk || disk === m.install_disk)
  if (system !== undefined)
    return `Talos is installed on ${system} of ${server.name}, so the disk can't be a workload disk`
  const already = add.find((disk) => m.workload_disks.includes(disk))
  if (already !== undefined) return `${already} of ${server.name} is a workload disk already`
  const strange = remove.find((disk) => !m.workload_disks.includes(disk))
  if (strange !== undefined) return `${strange} is no workload disk of ${server.name}`
  const used = [m.install_disk, ...(server.system_disk === null ? [] : [server.system_disk])]
  const staying = m.workload_disks.filter((disk) => !remove.includes(disk))
  return (
    pathProblem(server, add, [...used, ...staying]) ??
    (wipe ? pathProblem(server, remove, [...used, ...staying]) : null)
  )
}

/** Why these disks can't be added or wiped: one is another path to a disk that is in use. */
function pathProblem(
  { name, disks }: Pick<ServerFacts, 'name' | 'disks'>,
  chosen: readonly string[],
  used: readonly string[],
): string | null {
  const of = (device: string) => disks.find((d) => d.device === device)
  for (const [at, device] of chosen.entries()) {
    const disk = of(device)
    const twin = [...used, ...chosen.slice(0, at)].find((other) => {
      const one = of(other)
      return other !== device && disk !== undefined && one !== undefined && isSameDisk(disk, one)
    })
    if (twin !== undefined)
      return `${device} of ${name} is another path to the disk ${twin}, which is in use`
  }
  return null
}

/** The confirmations of these disks. */
const confirmationsOf = (
  { confirmed }: ChangeTurn<Change>,
  disks: readonly DiskFacts[],
): ConfirmedDisk[] =>
  confirmed.filter((c) =>
    disks.some((d) => (c.wwid === undefined ? c.serial === d.serial : c.wwid === d.wwid)),
  )

/** Wipes a removed disk if its content is the confirmed one. Returns why not, or null. */
async function wipe(
  turn: ChangeTurn<Change>,
  m: MemberRow,
  device: string,
): Promise<string | null> {
  return talos(
    turn,
    m.node_id,
    async (client) => {
      const disks: DiskFacts[] = (await readDisks(client)).map(({ content, ...d }) => ({
        ...d,
        content: content || null,
      }))
      const system = (await client.get(resources.systemDisk, 'system-disk'))?.spec.devPath
      const disk = found(m, device, disks)
      if (!disk) return `${m.name} no longer has ${device}. Nothing was wiped`
      const now = devicePath(disk.id)
      const systemDisk = disks.find((d) => devicePath(d.id) === system)
      if (now === system || (systemDisk !== undefined && isSameDisk(disk, systemDisk)))
        return `Talos is installed on ${now} of ${m.name}. Nothing was wiped`
      // The disk is also empty after an earlier attempt whose answer was lost.
      if (isBlank(disk)) return null
      const allowed = canWipe(
        [{ server: m.name, disks, devices: [now], kept: system ?? null }],
        confirmationsOf(turn, [disk]),
      )
      if (!allowed.ok) return allowed.reason
      await turn.job.effect(`wipe/${m.node_id}${device}`, () => client.wipeDisk(disk.id))
      return null
    },
    60_000,
  )
}

export const disks: ChangeKind<Change> = {
  plan({ state, facts }, change) {
    const m = state.members.find((one) => one.node_id === change.node_id && isWanted(one))
    const server = facts.get(change.node_id)
    if (!m || !server)
      return Promise.resolve({
        checks: [
          check('chosen', false, 'The server does not belong to the cluster, or is leaving it'),
        ],
        groups: [],
      })
    const problem = problemOf(m, server, change)
    const reachable = checkReachable([m], facts)
    const gone = change.wipe
      ? change.remove.filter((device) => !found(m, device, server.disks))
      : []
    const isPresent = gone.length === 0
    const wiped = change.wipe
      ? change.remove.flatMap((device) => found(m, device, server.disks)?.device ?? [])
      : []
    const prefixes = [
      ...(change.wipe && change.remove.length > 0 ? (['wipe'] as const) : []),
      'disks' as const,
    ]
    const about = { name: m.name, disks: change.remove }
    return Promise.resolve({
      checks: [
        check('disks', problem === null, problem ?? 'The disks can be changed'),
        reachable,
        check(
          'present',
          isPresent,
          isPresent
            ? 'The disks are present'
            : `${listed(gone)} of ${m.name} can't be wiped: the disk is gone. Remove it without a wipe`,
        ),
      ],
      warnings:
        change.add.length > 0
          ? [`${listed(change.add)} will be wiped when ${m.name} leaves the cluster`]
          : [],
      groups: [
        {
          node_id: m.node_id,
          name: m.name,
          steps: prefixes.map((prefix) => ({
            key: keyOf(prefix, m.node_id),
            title: titles[prefix](about),
          })),
        },
      ],
      disks: [
        {
          server: m.name,
          disks: server.disks,
          devices: [...change.add, ...wiped],
          kept: server.system_disk,
        },
      ],
    })
  },

  touches: ['wipe'],
  steps: {
    async wipe(turn, { nodeId }): Promise<StepResult> {
      const m = memberOf(turn, nodeId!)
      for (const device of turn.change.remove) {
        try {
          const touched = await touching(viewOf(turn), m, () => wipe(turn, m, device))
          if ('forbidden' in touched)
            return { waiting: touched.forbidden, againMs: 1_000, isSafe: true, isUnsent: true }
          if (touched.sent !== null) return { failed: touched.sent }
        } catch (error) {
          if (!(error instanceof TalosError && error.kind === 'failed_precondition')) throw error
          return {
            failed: `${m.name} does not wipe ${device}, because it is in use: ${error.message}. Remove the volume or the pods that use it first`,
          }
        }
      }
      return 'done'
    },

    async disks(turn, { nodeId }): Promise<StepResult> {
      const { add, remove } = turn.change
      const m = memberOf(turn, nodeId!)
      const [server] = await turn.parts.servers.forPlan(turn.parts.db, [nodeId!])
      const added = server!.disks.filter((d) => add.includes(d.device))
      // The recorded confirmation is of the content that the user saw.
      const allowed = canWipe(
        [{ server: m.name, disks: server!.disks, devices: add, kept: server!.system_disk }],
        confirmationsOf(turn, added),
      )
      if (!allowed.ok) return { failed: allowed.reason }
      await write(turn, async (tx) => {
        const kept = m.workload_disks.filter(
          (device) => !remove.includes(device) && !add.includes(device),
        )
        const without = <T>(all: Readonly<Record<string, T>>): Record<string, T> =>
          Object.fromEntries(Object.entries(all).filter(([device]) => !remove.includes(device)))
        await clusterRows.updateMember(tx, m.cluster_id, m.node_id, {
          workload_disks: [...kept, ...add],
          disk_wwids: JSON.stringify({ ...without(m.disk_wwids), ...wwidsOf(server!.disks, add) }),
          agreed_disks: JSON.stringify({
            ...without(m.agreed_disks),
            ...agreedOf(server!.disks, add),
          }),
        })
      })
      return 'done'
    },
  },
}

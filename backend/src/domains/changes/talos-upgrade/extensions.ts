/**
 * Changes the extensions and kernel arguments of servers by an upgrade to another image of the same
 * version.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { type Schematic, schematicId } from '#talos/schematic/schematic.ts'
import { isDeepStrictEqual } from 'node:util'
import { type Chosen, chosenIn, withChosen } from '../../images/api.ts'
import { listed } from '../../../sentences.ts'
import { type ChangeKind, type ChangeView } from '../frame.ts'
import { check, checkEtcd, etcdReports } from '../../control-planes/api.ts'
import { drain, nodeReady, uncordon } from '../shared/drain.ts'
import { etcdHealthy } from '../shared/etcd-healthy.ts'
import {
  checkDrift,
  checkImages,
  checkNodes,
  checkServers,
  checkSpace,
  inOrder,
  type Looked,
  lookAtAll,
} from './checks.ts'
import { follow } from './follow.ts'
import { groupOf, warningsOf } from './groups.ts'
import { restart, upgradeCommand, writeStep } from './restart.ts'
import { decideTargets } from './targets.ts'

type Change = ChangeOf<'extensions'>

const { steps: titles } = changeTable.clusterExtensions

/** The schematic that a server gets. Fields that the change leaves out keep their current value. */
const wantedFrom = (present: Schematic, { extensions, kernel_args }: Change): Schematic => {
  const now = chosenIn(present)
  return withChosen(present, {
    extensions: extensions ?? now.extensions,
    kernel_args: kernel_args ?? now.kernel_args,
  })
}

/** A server that gets another image. `change` says how it differs. */
interface Planned extends Looked {
  readonly change: string
}

/** `adds siderolabs/gvisor; removes …; kernel arguments: panic=10` */
function differenceOf(before: Chosen, after: Chosen): string {
  const added = after.extensions.filter((e) => !before.extensions.includes(e))
  const removed = before.extensions.filter((e) => !after.extensions.includes(e))
  return [
    ...(added.length > 0 ? [`adds ${listed(added, 12)}`] : []),
    ...(removed.length > 0 ? [`removes ${listed(removed, 12)}`] : []),
    ...(isDeepStrictEqual(before.kernel_args, after.kernel_args)
      ? []
      : [`kernel arguments: ${after.kernel_args.join(' ') || 'none'}`]),
  ].join('; ')
}

/**
 * The servers that change, and how. @throws Problem for a schematic or an extension that the
 * factory doesn't have
 */
async function changedOf(
  { parts }: ChangeView,
  looked: readonly Looked[],
  change: Change,
): Promise<Planned[]> {
  const schematics = new Map<string, Schematic>()
  const changed: Planned[] = []
  for (const one of looked) {
    if (one.seen === null) continue
    const { schematic: id, version } = one.seen
    const present = schematics.get(id) ?? (await parts.installers.schematic(id))
    schematics.set(id, present)
    const wanted = wantedFrom(present, change)
    if (schematicId(wanted) === id) continue
    await parts.installers.demandBuildable(version, wanted)
    changed.push({ ...one, change: differenceOf(chosenIn(present), chosenIn(wanted)) })
  }
  return changed
}

export const extensions: ChangeKind<Change> = {
  async plan(view, change) {
    const [all, reports] = await Promise.all([lookAtAll(view), etcdReports(view)])
    const strangers = change.node_ids?.filter((id) => !all.some(({ m }) => m.node_id === id)) ?? []
    const chosen =
      change.node_ids === undefined
        ? all
        : all.filter(({ m }) => change.node_ids!.includes(m.node_id))
    let changed: Planned[] = []
    const image = await checkImages(async () => {
      changed = await changedOf(view, chosen, change)
    }, 'The image factory has the extensions for every server')
    const order = inOrder(changed, reports, undefined)
    const isSame = image.ok && changed.length === 0
    return {
      checks: [
        image,
        ...(isSame
          ? [
              check(
                'change',
                false,
                'Every chosen server has these extensions and kernel arguments already',
              ),
            ]
          : []),
        ...(strangers.length === 0
          ? []
          : [check('chosen', false, 'A chosen server does not belong to this cluster')]),
        checkServers(all),
        checkDrift(view, all),
        checkEtcd(reports),
        await checkNodes(
          view,
          all.map(({ m }) => m),
        ),
        checkSpace(changed),
      ],
      warnings: [
        ...[...Map.groupBy(changed, (c) => c.change)].map(
          ([what, some]) => `${listed(some.map(({ m }) => m.name))}: ${what}`,
        ),
        ...warningsOf(view, order, undefined),
      ],
      groups: [
        { node_id: null, name: null, steps: [{ key: 'image', title: titles.image() }] },
        ...order.map((one) => groupOf(one, { titles, version: one.seen!.version })),
      ],
    }
  },
  touches: ['upgrade'],
  steps: {
    image: (turn) =>
      decideTargets(turn, async (now) => {
        const { installers } = turn.parts
        return {
          ...now,
          schematic: await installers.register(
            wantedFrom(await installers.schematic(now.schematic), turn.change),
          ),
        }
      }),
    write: writeStep,
    drain,
    upgrade: (turn, at) => restart(turn, at, upgradeCommand(false)),
    'etcd-healthy': etcdHealthy,
    'node-ready': nodeReady,
    follow,
    uncordon,
  },
}

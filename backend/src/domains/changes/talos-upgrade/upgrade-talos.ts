/** Upgrades Talos, server by server. */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { emptySchematicId } from '#talos/schematic/schematic.ts'
import { isOlderPatch } from '#talos/versions.ts'
import { system } from '../../../http/caller.ts'
import { updateCluster } from '../../clusters/api.ts'
import { listed } from '../../../sentences.ts'
import { type ChangeKind } from '../frame.ts'
import { check, checkEtcd, etcdReports, passesOf, takesPart } from '../../control-planes/api.ts'
import { drain, nodeReady, uncordon } from '../shared/drain.ts'
import { checkConfigurations } from '../shared/configurations.ts'
import { etcdHealthy } from '../shared/etcd-healthy.ts'
import { patienceMs, planSnapshot, snapshotFirst } from '../snapshots/first.ts'
import { endSnapshot } from '../snapshots/follow.ts'
import {
  checkDrift,
  checkImages,
  checkNodes,
  checkPath,
  checkServers,
  checkSpace,
  inOrder,
  lookAtAll,
} from './checks.ts'
import { follow } from './follow.ts'
import { groupOf, warningsOf } from './groups.ts'
import { imageKey, passIn } from '../shared/passes.ts'
import { restart, upgradeCommand, writeStep } from './restart.ts'
import { decideTargets } from './targets.ts'

const { steps: titles } = changeTable.clusterUpgradeTalos

/** The version with its `v`: `v1.13.9`. */
const versionIn = ({ version }: Pick<ChangeOf<'upgradeTalos'>, 'version'>): string =>
  version.startsWith('v') ? version : `v${version}`

export const upgradeTalos: ChangeKind<ChangeOf<'upgradeTalos'>> = {
  patienceMs: { snapshot: patienceMs },

  async plan(view, change) {
    const version = versionIn(change)
    const [looked, reports] = await Promise.all([lookAtAll(view), etcdReports(view)])
    const changed = looked.filter(({ seen }) => seen?.version !== version)
    const order = inOrder(changed, reports, change.canary)
    const passes = passesOf(
      changed.flatMap(({ seen }) => (seen === null ? [] : [seen.version])),
      version,
      view.parts.versions.pairs(),
    )
    const path =
      changed.length === 0
        ? check('path', false, `Every server runs Talos ${version} already`)
        : checkPath(view, changed, passes)
    const schematics = [...new Set(changed.map(({ seen }) => seen?.schematic ?? emptySchematicId))]
    const demand = async () => {
      for (const pass of passes)
        for (const schematic of schematics) await view.parts.installers.demand(pass, schematic)
    }
    const canary = change.canary === undefined || order.some(({ m }) => m.node_id === change.canary)
    const older = changed
      .filter(({ seen }) => seen !== null && isOlderPatch(seen.version, version))
      .map(({ m }) => m.name)
    const configurations = path.ok
      ? await checkConfigurations(
          view,
          changed.map(({ m }) => m),
          (now) => ({ ...now, talosVersion: version }),
        )
      : null
    const first = await planSnapshot(view, change)
    return {
      checks: [
        path,
        ...(configurations === null ? [] : [configurations.check]),
        ...(path.ok
          ? [
              await checkImages(
                demand,
                `The image factory has the installer of Talos ${version} for every server`,
              ),
            ]
          : []),
        ...(canary
          ? []
          : [
              check(
                'canary',
                false,
                'The chosen first server is not one of the servers that are upgraded: choose another one',
              ),
            ]),
        checkServers(looked),
        checkDrift(view, looked),
        checkEtcd(reports),
        await checkNodes(
          view,
          looked.map(({ m }) => m),
        ),
        checkSpace(changed, change.stage),
        ...first.checks,
      ],
      warnings: [
        ...warningsOf(view, order, change.canary),
        ...(configurations?.warnings ?? []),
        ...(older.length === 0
          ? []
          : [
              `${listed(older)} ${older.length === 1 ? 'goes' : 'go'} back to an older patch release`,
            ]),
        ...view.parts.versions.warnings(version, view.state.row.kubernetes_version),
        ...first.warnings,
      ],
      groups: [
        ...first.groups,
        ...passes.flatMap((to, i) => {
          const pass = i === passes.length - 1 ? undefined : to
          const before = passes[i - 1]
          return [
            {
              node_id: null,
              name: null,
              steps: [{ key: imageKey(pass), title: titles.image() }],
            },
            ...order
              .filter(
                ({ seen }) => seen === null || takesPart(seen.version, to, pass === undefined),
              )
              .map((one) =>
                groupOf(one, {
                  titles,
                  version: to,
                  isStaged: change.stage,
                  ...(pass !== undefined && { pass }),
                  ...(before !== undefined &&
                    one.seen !== null &&
                    takesPart(one.seen.version, before, false) && { runs: before }),
                }),
              ),
          ]
        }),
      ],
    }
  },
  touches: ['upgrade'],
  steps: {
    snapshot: snapshotFirst,
    image(turn, { key }) {
      const pass = passIn(key)
      const version = pass ?? versionIn(turn.change)
      return decideTargets(turn, async (now) => ({ ...now, version }), undefined, { pass, version })
    },
    write: writeStep,
    drain,
    upgrade: (turn, at) => restart(turn, at, upgradeCommand(turn.change.stage)),
    'etcd-healthy': etcdHealthy,
    'node-ready': nodeReady,
    follow,
    uncordon,
  },
  async end(tx, turn, how) {
    const { parts, state, change } = turn
    await endSnapshot(tx, turn, how)
    // Every server runs the version now, so servers that join later get it too.
    if (how === 'done')
      await updateCluster(parts, tx, system, state.row.id, { talos_version: versionIn(change) })
  },
}

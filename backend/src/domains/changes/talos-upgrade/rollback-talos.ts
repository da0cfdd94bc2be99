/**
 * Boots the Talos version that one server ran before its last upgrade. Talos keeps that version on
 * the disk until the next upgrade.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable, sharedChangeSteps } from '#contract/clusters/changes/table.ts'
import { has, kubernetesProblem, since } from '#talos/versions.ts'
import { type ClusterRow, isInDocuments, type MemberRow } from '../../clusters/api.ts'
import {
  check,
  etcdBackProblem,
  etcdReports,
  forNowIf,
  isPassing,
  isWanted,
  whyNotRestart,
} from '../../control-planes/api.ts'
import { type ChangeKind, keyOf } from '../frame.ts'
import { drain, nodeReady, uncordon } from '../shared/drain.ts'
import { checkConfigurations } from '../shared/configurations.ts'
import { etcdHealthy } from '../shared/etcd-healthy.ts'
import { checkAll, checkNodes } from './checks.ts'
import { follow } from './follow.ts'
import { backSteps } from './groups.ts'
import { lookAt, runs } from './look.ts'
import { restart, rollbackCommand } from './restart.ts'
import * as store from './store.ts'
import { decideTargets } from './targets.ts'

const { steps: titles } = changeTable.clusterRollbackTalos

/**
 * Why the older Talos can't load the server's configuration, or null. Talos itself doesn't check it:
 * it boots the older version, which then never gets beyond loading (Talos 1.13
 * `controllers/config/acquire.go`).
 */
const whyUnreadable = (row: ClusterRow, m: MemberRow, version: string): string | null =>
  isInDocuments(row, m) && !has(version, 'kubernetesDocuments')
    ? `The configuration of ${m.name} has the documents of Talos ${since.kubernetesDocuments}, which Talos ${version} can't read: a configuration that has them does not go back`
    : null

export const rollbackTalos: ChangeKind<ChangeOf<'rollbackTalos'>> = {
  async plan(view, { node_id }) {
    const { parts, state } = view
    const m = state.members.find((one) => one.node_id === node_id && isWanted(one))
    if (!m)
      return {
        checks: [check('server', false, 'The server does not belong to this cluster')],
        groups: [],
      }
    const [last, seen, reports] = await Promise.all([
      store.lastSent(parts.db, node_id),
      lookAt(view, node_id),
      etcdReports(view),
    ])
    const before = last && { version: last.version_before, schematic: last.schematic_before }
    const others = reports
      .filter((r) => r.node_id !== node_id && r.problem !== null)
      .map((r) => `${r.name}: ${r.problem}`)
    const strangers = [whyNotRestart(reports, node_id)].filter((why) => why !== null)
    // The server itself may be unhealthy, which is a reason for the rollback.
    const nodes = await checkNodes(
      view,
      state.members.filter((one) => isWanted(one) && one.node_id !== node_id),
    )
    const isReady = (await checkNodes(view, [m])).ok
    const answers =
      'silent' in seen
        ? `${m.name} does not answer: ${seen.silent}`
        : before !== undefined && runs(seen, before)
          ? `${m.name} runs Talos ${before.version} already`
          : null
    const kubernetes = before && kubernetesProblem(before.version, state.row.kubernetes_version)
    if (before === undefined)
      return {
        checks: [
          check(
            'before',
            false,
            `Steelyard has not upgraded ${m.name}, so its previous version is unknown`,
          ),
        ],
        groups: [],
      }
    const unreadable = whyUnreadable(state.row, m, before.version)
    const back =
      m.role !== 'control_plane' || 'silent' in seen
        ? null
        : etcdBackProblem({ name: m.name, from: seen.version, to: before.version }, reports)
    const about = { name: m.name, version: before.version }
    const configurations = await checkConfigurations(view, [m], (now) => ({
      ...now,
      talosVersion: before.version,
    }))
    return {
      checks: [
        check('before', true, `${m.name} ran Talos ${before.version} before its last upgrade`),
        forNowIf(
          'silent' in seen,
          check('answers', answers === null, answers ?? `${m.name} answers`),
        ),
        ...(kubernetes === undefined ? [] : [check('path', false, kubernetes)]),
        check(
          'documents',
          unreadable === null,
          unreadable ?? `Talos ${before.version} can read the configuration of ${m.name}`,
        ),
        ...(back?.kind === 'problem' ? [check('etcd_version', false, back.sentence)] : []),
        forNowIf(
          isPassing(reports),
          checkAll(
            'etcd',
            m.role === 'control_plane' ? [...others, ...strangers] : [],
            'Every other member of etcd is healthy',
          ),
        ),
        { ...nodes, check: 'nodes' },
        configurations.check,
      ],
      warnings: [
        ...configurations.warnings,
        ...(back?.kind === 'warning' ? [back.sentence] : []),
        'Talos refuses a rollback if the disk has no previous version.',
      ],
      groups: [
        { node_id: null, name: null, steps: [{ key: 'image', title: titles.image() }] },
        {
          node_id,
          name: m.name,
          drains: isReady,
          reboots: 'yes',
          steps: [
            // Pods of a node that is not Ready never terminate, so it can't be drained.
            ...(isReady
              ? [{ key: keyOf('drain', node_id), title: sharedChangeSteps.drain(m) }]
              : []),
            { key: keyOf('upgrade', node_id), title: titles.upgrade(about) },
            ...backSteps(m),
            { key: keyOf('follow', node_id), title: titles.follow(about) },
            { key: keyOf('uncordon', node_id), title: sharedChangeSteps.uncordon(m) },
          ],
        },
      ],
    }
  },
  touches: ['upgrade'],
  mends: ({ node_id }, { members }) =>
    members.flatMap((m) => (m.node_id === node_id ? [m.name] : [])),
  steps: {
    image: (turn) =>
      decideTargets(
        turn,
        async () => {
          const last = await store.lastSent(turn.parts.db, turn.change.node_id)
          if (!last) throw new Error('The plan has found an upgrade of this server')
          return { version: last.version_before, schematic: last.schematic_before }
        },
        // The previous version is on the machine's disk, so no image is needed.
        async () => {},
      ),
    drain,
    upgrade: (turn, at) => restart(turn, at, rollbackCommand),
    'etcd-healthy': etcdHealthy,
    'node-ready': nodeReady,
    follow,
    uncordon,
  },
}

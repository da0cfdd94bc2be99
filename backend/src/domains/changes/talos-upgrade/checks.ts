/** Checks before servers restart with another Talos image, and the order of the servers. */
import { stageSaid } from '#contract/servers/server.ts'
import type { PlanCheck } from '#contract/clusters/changes/changes.ts'
import type { Check } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { type MemberRow, versionOf } from '../../clusters/api.ts'
import {
  check,
  forNowIf,
  isWanted,
  leaderLast,
  type MemberReport,
  remedy,
  takesPart,
  talosPathProblems,
} from '../../control-planes/api.ts'
import { allAnswer, joined, listed, noKnownDrift } from '../../../sentences.ts'
import { type ChangeView, kubernetes } from '../frame.ts'
import { isForNow } from '../../../for-now.ts'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import { lookAt, type Running, writesAhead } from './look.ts'

/** Size of an installer image with large extensions, packed and unpacked. */
const leastFreeBytes = 2 * 1024 ** 3
const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`

/** A server and what it runs now. */
export interface Looked {
  readonly m: MemberRow
  /** null: the server doesn't answer. */
  readonly seen: Running | null
  readonly silent: string
}

const looksAtOnce = 16

/** Reads the state of all servers of the cluster, a few at a time. */
export async function lookAtAll(view: ChangeView): Promise<Looked[]> {
  const looked: Looked[] = []
  const all = view.state.members.filter(isWanted)
  for (let from = 0; from < all.length; from += looksAtOnce) {
    const some = all.slice(from, from + looksAtOnce).map(async (m): Promise<Looked> => {
      const answer = await lookAt(view, m.node_id)
      return 'silent' in answer
        ? { m, seen: null, silent: answer.silent }
        : { m, seen: answer, silent: '' }
    })
    looked.push(...(await Promise.all(some)))
  }
  return looked
}

/** A check that fails with the problems, or succeeds with the sentence `fine`. */
export const checkAll = (name: string, problems: readonly string[], fine: string): Check =>
  check(name, problems.length === 0, problems.length === 0 ? fine : joined(problems))

/**
 * Check: every server has joined and answers, so that the change never leaves a second server out
 * of service.
 */
export function checkServers(looked: readonly Looked[]): Check {
  const problems = looked.flatMap(({ m, seen, silent }) => {
    if (m.failed_at !== null)
      return [`${m.name} has failed: ${m.failure ?? 'retry or replace it first'}`]
    if (m.node_ready_at === null) return [`${m.name} still joins the cluster`]
    if (seen === null) return [`${m.name} does not answer: ${silent}`]
    return seen.stage === 'running' ? [] : [`${m.name} is ${stageSaid(seen.stage)}`]
  })
  return forNowIf(
    looked.every(({ m }) => m.failed_at === null),
    checkAll('answers', problems, allAnswer(looked.length)),
  )
}

/**
 * Check: no server has drift, because the new install image is sent with the whole configuration.
 */
export function checkDrift(view: ChangeView, looked: readonly Looked[]): Check {
  const drifted = looked
    .filter(({ m }) => view.facts.get(m.node_id)?.drift_since != null)
    .map(({ m }) => m.name)
  return check(
    'drift',
    drifted.length === 0,
    drifted.length === 0
      ? noKnownDrift
      : `The configuration of ${listed(drifted)} was changed outside of Steelyard: look at the difference, then keep or overwrite it`,
  )
}

/** Check: the node of each of these servers is Ready. */
export async function checkNodes(
  view: ChangeView,
  members: readonly Pick<MemberRow, 'name'>[],
): Promise<Check> {
  try {
    const nodes = new Map(
      (await (await kubernetes(view)).nodes(view.signal)).map((n) => [n.name, n]),
    )
    const problems = members.flatMap(({ name }) => {
      const node = nodes.get(name)
      return node?.ready === true
        ? []
        : [
            node === undefined
              ? `Kubernetes has no node ${name}`
              : `${name} is not Ready: ${node.reason}`,
          ]
    })
    const them = problems.length === 1 ? 'it' : 'them'
    const all = joined(problems).replace(/\.$/, '')
    return forNowIf(
      true,
      check(
        'nodes',
        problems.length === 0,
        problems.length === 0
          ? 'All nodes are Ready'
          : `${all}. Bring ${them} back first, or remove ${them} from the cluster`,
      ),
    )
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error
    const nodes = check('nodes', false, `The Kubernetes API does not answer: ${error.message}`)
    return forNowIf(isForNow(error), nodes)
  }
}

/**
 * Check: each server can be upgraded to the version, pass by pass, and each version on the way
 * supports the cluster's Kubernetes.
 * @param passes the versions on the way, the wanted one last
 */
export function checkPath(
  { state }: ChangeView,
  looked: readonly Looked[],
  passes: readonly string[],
): PlanCheck {
  const kubernetes = [
    state.row.kubernetes_version,
    ...looked.map(({ m }) => versionOf(m.images?.kubelet) ?? state.row.kubernetes_version),
  ]
  const running = looked.flatMap(({ seen }) => (seen === null ? [] : [seen.version]))
  const found = passes.map((to, i) => {
    const before = passes[i - 1]
    const from = running.flatMap((version) => {
      if (before === undefined) return [version]
      return [takesPart(version, before, false) ? before : version]
    })
    const isLast = i === passes.length - 1
    return talosPathProblems({
      from: isLast ? from : from.filter((version) => takesPart(version, to, false)),
      to,
      kubernetes,
    })
  })
  const talos = [...new Set(found.flatMap((one) => one.talos))]
  const blocked = [...new Set(found.flatMap((one) => one.kubernetes))].map(
    (problem) => `${problem}${talos.length === 0 ? ': upgrade Kubernetes first' : ''}`,
  )
  const way =
    passes.length > 1
      ? ` in ${passes.length} passes, by way of ${passes.slice(0, -1).join(', ')}`
      : ''
  const fine = `Every server can be upgraded to Talos ${passes.at(-1)}${way}, which supports Kubernetes ${state.row.kubernetes_version}`
  return {
    ...checkAll('path', [...new Set([...talos, ...blocked])], fine),
    ...(talos.length === 0 && blocked.length > 0 && { remedies: [remedy('upgradeKubernetes')] }),
  }
}

/**
 * Check: each server that writes an image while it runs has space for the installer on EPHEMERAL,
 * into which it is pulled. Before Talos 1.13, and for a staged upgrade, the installer is in memory
 * (Talos `system/services/containerd.go`: `/system/var`). The boot partition is not checked: it
 * isn't mounted, so no call reports its free space. It has room for two images (`quirks.go`,
 * PartitionSizes), the installer removes older ones, and one that finds no room fails before the
 * workload is moved and leaves the old image in place.
 */
export function checkSpace(changed: readonly Looked[], isStaged = false): Check {
  const problems = changed.flatMap(({ m, seen }) =>
    seen?.freeBytes != null &&
    writesAhead(seen.version, isStaged) &&
    seen.freeBytes < leastFreeBytes
      ? [
          `${m.name} has only ${gib(seen.freeBytes)} free on /var: an installer needs ${gib(leastFreeBytes)}`,
        ]
      : [],
  )
  return checkAll('space', problems, 'Every server that answers has space for the installer')
}

/** Check: the image factory has the images. `demand` throws Problem for a missing one. */
export async function checkImages(demand: () => Promise<unknown>, fine: string): Promise<Check> {
  try {
    await demand()
    return check('image', true, fine)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return forNowIf(isForNow(error), check('image', false, error.message))
  }
}

/** The canary first, then workers, then control planes one by one with the leader of etcd last. */
export function inOrder<T extends Looked>(
  changed: readonly T[],
  reports: readonly MemberReport[],
  canary: string | undefined,
): T[] {
  const byId = new Map(changed.map((one) => [one.m.node_id, one]))
  const controlPlanes = leaderLast(
    changed.filter(({ m }) => m.role === 'control_plane').map(({ m }) => m),
    reports,
  )
  const order = [
    ...changed.filter(({ m }) => m.role === 'worker'),
    ...controlPlanes.map((m) => byId.get(m.node_id)!),
  ]
  return [
    ...order.filter(({ m }) => m.node_id === canary),
    ...order.filter(({ m }) => m.node_id !== canary),
  ]
}

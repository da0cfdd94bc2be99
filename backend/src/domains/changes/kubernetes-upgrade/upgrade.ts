/**
 * Upgrades Kubernetes in the order of `talosctl upgrade-k8s` (Talos `pkg/cluster/kubernetes`): each
 * component of the control planes, one server after another, then kube-proxy, then the kubelets,
 * then the objects that Talos maintains. No server restarts.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { isForNow } from '../../../for-now.ts'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import { TalosError } from '#talos/client/errors.ts'
import { Problem } from '#contract/errors.ts'
import { system } from '../../../http/caller.ts'
import { ours } from '../../../reading/asker.ts'
import {
  bare,
  check,
  checkEtcd,
  controlPlanesOf,
  etcdReports,
  forNowIf,
  imageFor,
  isWanted,
  kubernetesOf,
  minorOf,
  pathProblem,
  type StaticPod,
  staticPods,
} from '../../control-planes/api.ts'
import {
  apiServersOf,
  clusterRows,
  type MemberRow,
  updateCluster,
  versionOf,
} from '../../clusters/api.ts'
import { listed } from '../../../sentences.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  type ChangeView,
  keyOf,
  kubernetes,
  type PlannedGroup,
  type StepResult,
  viewOf,
} from '../frame.ts'
import { checkReachable, workersFirst } from '../configure/servers.ts'
import { drain, uncordon } from '../shared/drain.ts'
import { checkNodes } from '../talos-upgrade/checks.ts'
import { checkConfigurations } from '../shared/configurations.ts'
import { etcdHealthy } from '../shared/etcd-healthy.ts'
import { patienceMs, planSnapshot, snapshotFirst } from '../snapshots/first.ts'
import { endSnapshot } from '../snapshots/follow.ts'
import { checkApis } from './apis.ts'
import {
  imagesNow,
  kubelet,
  proxy,
  pullImages,
  readyAgain,
  staticPod,
  takeBackImages,
} from './components.ts'
import {
  applyManifests,
  manifestDiff,
  proxyImageOf,
  readManifests,
  rolloutProblem,
  withImage,
} from './manifests.ts'

type Change = ChangeOf<'upgradeKubernetes'>
type Turn = ChangeTurn<Change>
const titles = changeTable.clusterUpgradeKubernetes.steps
const pods = Object.keys(staticPods) as StaticPod[]

/** Settings and images in the configurations of servers that prevent the upgrade. */
async function configurationProblems(
  view: ChangeView,
  members: readonly MemberRow[],
  version: string,
): Promise<{ removed: string[]; images: string[] }> {
  const { parts, state } = view
  const removed: string[] = []
  const images: string[] = []
  for (const m of members) {
    const newest = await parts.configurations.kept.newest(parts.db, state.row.id, m.node_id)
    if (!newest) continue
    removed.push(
      ...(await parts.read(ours, 'removed', newest.yaml, minorOf(version))).map(
        (one) => `${m.name}: ${one}`,
      ),
    )
    const now = await imagesNow(parts, parts.db, state.row.id, m.node_id)
    for (const program of [
      'kubelet',
      ...(m.role === 'control_plane'
        ? (['apiServer', 'controllerManager', 'scheduler', 'proxy'] as const)
        : []),
    ] as const)
      if (imageFor(program, now?.[program], version) === null)
        images.push(`${m.name}: ${now![program]}`)
  }
  return { removed, images }
}

/**
 * The changes of the manifests. If the Kubernetes API doesn't answer, there is no difference to
 * show; another check reports that.
 */
async function manifestsToCome(view: ChangeView, m: MemberRow, version: string) {
  try {
    const manifests = await readManifests(view, m.node_id)
    const before = proxyImageOf(manifests)
    const after = before === undefined ? null : imageFor('proxy', before, version)
    const api = await kubernetesOf(view.parts, view.state)
    const diff = await manifestDiff(
      api,
      after === null ? manifests : withImage(manifests, before!, after),
      talosOf(view, m),
      view.signal,
    )
    return { problem: null, diff, isSilent: false }
  } catch (error) {
    if (
      view.signal.aborted ||
      !(error instanceof TalosError || error instanceof KubernetesError || error instanceof Problem)
    )
      throw error
    return { problem: error.message, diff: '', isSilent: isForNow(error) }
  }
}

const talosOf = ({ facts, state }: Pick<ChangeView, 'facts' | 'state'>, m: MemberRow): string =>
  facts.get(m.node_id)?.talos_version ?? state.row.talos_version

function groupsOf(members: readonly MemberRow[], drains: boolean): PlannedGroup[] {
  const controlPlanes = members.filter((m) => m.role === 'control_plane')
  // Kubelets of control planes come first, as in Talos.
  const inOrder = [...controlPlanes, ...members.filter((m) => m.role === 'worker')]
  const group = (
    m: MemberRow,
    prefixes: readonly (keyof typeof titles)[],
    drained = false,
  ): PlannedGroup => ({
    node_id: m.node_id,
    name: m.name,
    drains: drained,
    reboots: 'no',
    steps: prefixes.map((prefix) => ({ key: keyOf(prefix, m.node_id), title: titles[prefix](m) })),
  })
  return [
    ...inOrder.map((m) => group(m, ['images'])),
    ...pods.flatMap((pod) =>
      controlPlanes.map((m) => group(m, pod === 'kube-apiserver' ? ['etcd-healthy', pod] : [pod])),
    ),
    ...controlPlanes.map((m) => group(m, ['kube-proxy'])),
    ...inOrder.map((m) =>
      group(
        m,
        drains ? ['drain', 'kubelet', 'node-ready', 'uncordon'] : ['kubelet', 'node-ready'],
        drains,
      ),
    ),
    {
      node_id: null,
      name: null,
      steps: [
        { key: 'manifests', title: titles.manifests() },
        { key: 'rollout', title: titles.rollout() },
      ],
    },
  ]
}

/** Step `manifests`. */
async function syncManifests(turn: Turn): Promise<StepResult> {
  const [m] = controlPlanesOf(turn.state.members)
  if (!m) return { waiting: 'No control plane answers' }
  const view = viewOf(turn)
  const manifests = await readManifests(view, m.node_id)
  const wanted = (await imagesNow(turn.parts, turn.parts.db, turn.state.row.id, m.node_id))?.proxy
  const named = proxyImageOf(manifests)
  if (named !== undefined && wanted !== undefined && named !== wanted)
    return { waiting: `${m.name} has not updated its manifests yet`, againMs: 1_000 }
  const [server] = await turn.parts.servers.forPlan(turn.parts.db, [m.node_id])
  const api = await kubernetes(turn)
  await turn.job.effect('manifests', () =>
    applyManifests(
      api,
      manifests,
      server?.talos_version ?? turn.state.row.talos_version,
      turn.job.signal,
    ),
  )
  return 'done'
}

/** Step `rollout`. */
async function rolledOut(turn: Turn): Promise<StepResult> {
  const [m] = controlPlanesOf(turn.state.members)
  if (!m) return { waiting: 'No control plane answers' }
  const problem = await rolloutProblem(
    await kubernetes(turn),
    await readManifests(viewOf(turn), m.node_id),
    turn.job.signal,
  )
  return problem === null ? 'done' : { waiting: problem, againMs: 1_000, isSafe: true }
}

export const upgradeKubernetes: ChangeKind<Change> = {
  patienceMs: { snapshot: patienceMs },

  async plan(view, change) {
    const { parts, state } = view
    const members = workersFirst(state.members)
    const version = bare(change.version)
    const from = state.row.kubernetes_version
    const path = pathProblem({
      from,
      to: version,
      talos: members.map((m) => talosOf(view, m)),
      apiServers: apiServersOf(members),
    })
    const reachable = checkReachable(members, view.facts)
    const first = [
      check(
        'path',
        path === null,
        path ?? `Kubernetes ${bare(from)} can be upgraded to ${version}`,
      ),
      reachable,
    ]
    if (first.some((c) => !c.ok)) return { checks: first, groups: [] }

    const { removed, images } = await configurationProblems(view, members, version)
    // The images of a member replace those of the blueprint, so they are left out.
    const configurations = await checkConfigurations(view, members, (now) => ({
      ...now,
      images: undefined,
      kubernetesVersion: version,
    }))
    const apis = await checkApis(view, minorOf(version), change.accept_removed_apis)
    const [controlPlane] = controlPlanesOf(state.members)
    const manifests = controlPlane
      ? await manifestsToCome(view, controlPlane, version)
      : { problem: 'No control plane answers', diff: '', isSilent: true }
    const snapshot = await planSnapshot(view, change)
    return {
      checks: [
        ...first,
        checkEtcd(await etcdReports(view)),
        // A node that is not Ready would stop the upgrade half way, with every API server updated.
        await checkNodes(view, members),
        check(
          'settings',
          removed.length === 0,
          removed.length === 0
            ? 'No configuration names a flag or feature gate that the version lacks'
            : `Kubernetes ${version} does not start with these settings: ${listed(removed, 6)}. Remove them from the patches first`,
        ),
        check(
          'images',
          images.length === 0,
          images.length === 0
            ? 'Every image has a version that can be replaced'
            : `These images are named by a digest, or by a tag without a version: ${listed(images, 6)}. Change the patches that set them`,
        ),
        configurations.check,
        ...apis.checks,
        forNowIf(
          manifests.isSilent,
          check(
            'manifests',
            manifests.problem === null,
            manifests.problem ?? 'The cluster accepts the objects that Talos maintains',
          ),
        ),
        ...snapshot.checks,
      ],
      warnings: [
        ...apis.warnings,
        ...configurations.warnings,
        ...parts.versions.warnings(state.row.talos_version, version),
        ...snapshot.warnings,
      ],
      groups: [...snapshot.groups, ...groupsOf(members, change.drain)],
      differences:
        manifests.diff === ''
          ? []
          : [
              {
                node_id: controlPlane!.node_id,
                name: 'Objects that Talos maintains in the cluster',
                diff: manifests.diff,
              },
            ],
    }
  },

  touches: [...pods, 'kube-proxy', 'kubelet'],
  takeBack: takeBackImages,
  steps: {
    snapshot: snapshotFirst,
    images: pullImages,
    'etcd-healthy': etcdHealthy,
    'kube-apiserver': staticPod('kube-apiserver'),
    'kube-controller-manager': staticPod('kube-controller-manager'),
    'kube-scheduler': staticPod('kube-scheduler'),
    'kube-proxy': proxy,
    drain,
    kubelet,
    'node-ready': readyAgain,
    uncordon,
    manifests: syncManifests,
    rollout: rolledOut,
  },

  async end(tx, turn, how) {
    const { parts, state, change } = turn
    await endSnapshot(tx, turn, how)
    // This also applies to a cancel during the last steps: the cluster's version is the version of
    // its kubelets.
    const version = bare(change.version)
    const members = (await clusterRows.members(tx, state.row.id)).filter(isWanted)
    if (members.every((m) => versionOf(m.images?.kubelet) === version))
      await updateCluster(parts, tx, system, state.row.id, { kubernetes_version: version })
  },
}

/**
 * Steps that upgrade the components of Kubernetes, server by server: send a configuration with the
 * new image, and wait until the component runs it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { TalosError } from '#talos/client/errors.ts'
import { messageOf } from '#talos/client/client.ts'
import type { MachineImages } from '#talos/facts/images.ts'
import { resources } from '#talos/client/resources.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { ours } from '../../../reading/asker.ts'
import { within } from '../../../reading/reader.ts'
import { isRecord, KubernetesError, printable } from '../../../kubernetes/answers.ts'
import {
  bare,
  controlPlanesOf,
  imageFor,
  nodePath,
  type NotReady,
  type StaticPod,
  staticPods,
  whyNotReady,
} from '../../control-planes/api.ts'
import { type ClusterParts, clusterRows } from '../../clusters/api.ts'
import {
  type ChangeTurn,
  kubernetes,
  memberOf,
  type StepAt,
  type StepResult,
  talos,
  waitedMs,
  write,
} from '../frame.ts'
import { attemptOf, notHeld } from '../configure/servers.ts'
import { nodeReady } from '../shared/drain.ts'

type Turn = ChangeTurn<ChangeOf<'upgradeKubernetes'>>
type Program = Exclude<keyof MachineImages, 'install'>

/**
 * Time limit of one call in ms. A pull may take longer: the machine continues it after the limit,
 * and the step calls again.
 */
const pullDeadlineMs = 110_000
/**
 * A component that has not started after this time, in ms, hangs: a cancel no longer waits for it.
 * It doesn't wait for one that is known to be dead either.
 */
const hangsMs = 3 * 60_000
const hangs = ({ job }: Turn, { step }: StepAt): boolean => waitedMs(job, step) > hangsMs

/** The images that the newest configuration of a server names; null if it has none. */
export async function imagesNow(
  { configurations, read }: Pick<ClusterParts, 'configurations' | 'read'>,
  on: Db | Tx,
  clusterId: string,
  nodeId: string,
): Promise<MachineImages | null> {
  const newest = await configurations.kept.newest(on, clusterId, nodeId)
  return newest ? within(read, on)(ours, 'images', newest.yaml) : null
}

/**
 * Makes the newest configuration of the server name the new image. Returns why that is impossible,
 * or null.
 */
const setImage = (turn: Turn, nodeId: string, program: Program): Promise<string | null> =>
  write(turn, async (tx) => {
    const { parts, state, change } = turn
    const { name } = memberOf(turn, nodeId)
    const now = await imagesNow(parts, tx, state.row.id, nodeId)
    const image = imageFor(program, now?.[program], change.version)
    if (now === null || image === null)
      return `${name} names its image of ${program} by a digest or a tag without a version: change the patch that sets it`
    const prepareWith = async (images: MachineImages | null) => {
      // All images are stored, so that none of them counts as drift in the comparison with the
      // machine.
      await clusterRows.updateMember(tx, state.row.id, nodeId, {
        images: images && JSON.stringify(images),
      })
      return parts.configurations.prepare(tx, state.row.id, nodeId)
    }
    const former = (await clusterRows.member(tx, state.row.id, nodeId))!.images
    const rendered = await prepareWith({ ...now, [program]: image })
    if (
      rendered &&
      (await within(parts.read, tx)(ours, 'images', rendered.yaml))[program] === image
    )
      return null
    await prepareWith(former)
    return `A patch of ${name} sets its image of ${program}: remove that from the patch first`
  })

/**
 * Makes the server's newest configuration name the images again that the server has got. Images of
 * others that were adopted meanwhile stay.
 */
export const takeBackImages = (turn: Turn, nodeId: string): Promise<void> =>
  write(turn, async (tx) => {
    const { parts, state } = turn
    const configs = await parts.configurations.kept.all(tx, state.row.id, nodeId)
    if (configs === null) return
    const imagesIn = ({ yaml }: { yaml: string }) => within(parts.read, tx)(ours, 'images', yaml)
    if (isDeepStrictEqual({ ...configs.images }, { ...(await imagesIn(configs.newest)) }))
      await clusterRows.updateMember(tx, state.row.id, nodeId, {
        images: JSON.stringify(await imagesIn(configs.held)),
      })
    await parts.configurations.prepare(tx, state.row.id, nodeId)
  })

/** Sends the configuration with the new image. Returns null once the machine has it. */
async function give(turn: Turn, nodeId: string, program: Program): Promise<StepResult | null> {
  const problem = await setImage(turn, nodeId, program)
  if (problem !== null) return { failed: problem }
  // Images need no restart of a machine (Talos `v1alpha1_server.go`, CanApplyImmediate).
  const sent = await turn.parts.configurations.deliver(turn.job, nodeId, {
    mayReboot: false,
    attempt: await attemptOf(turn),
  })
  const result = notHeld(sent, memberOf(turn, nodeId).name)
  // The server would get the image later, such as when the changes of others are overwritten.
  if (result !== null && 'failed' in result) await takeBackImages(turn, nodeId)
  return result
}

/**
 * The image of kube-proxy in the configurations of control planes; null if the cluster runs without
 * kube-proxy.
 */
async function proxyImage({ parts, state }: Turn): Promise<string | undefined | null> {
  const [controlPlane] = controlPlanesOf(state.members)
  const newest =
    controlPlane &&
    (await parts.configurations.kept.newest(parts.db, state.row.id, controlPlane.node_id))
  if (!newest) return null
  const { isProxyDisabled, proxyImage: image } = await parts.read(ours, 'facts', newest.yaml)
  return isProxyDisabled ? null : (image ?? undefined)
}

/**
 * The images that a server will run, and what runs them: Talos itself (the kubelet), or Kubernetes.
 */
async function imagesToPull(
  turn: Turn,
  nodeId: string,
): Promise<{ image: string; by: 'system' | 'cri' }[]> {
  const { version } = turn.change
  const now = (await imagesNow(turn.parts, turn.parts.db, turn.state.row.id, nodeId)) ?? {}
  const proxy = await proxyImage(turn)
  const isControlPlane = memberOf(turn, nodeId).role === 'control_plane'
  const pods = isControlPlane
    ? Object.values(staticPods).map((program) => imageFor(program, now[program], version))
    : []
  const all = [
    { image: imageFor('kubelet', now.kubelet, version), by: 'system' as const },
    ...[...pods, proxy === null ? null : imageFor('proxy', proxy, version)].map((image) => ({
      image,
      by: 'cri' as const,
    })),
  ]
  return all.flatMap(({ image, by }) => (image === null ? [] : [{ image, by }]))
}

/**
 * Step `images/<node id>`: the machine pulls the new images, so that a missing one is found before
 * anything changes.
 */
export async function pullImages(turn: Turn, { nodeId }: StepAt): Promise<StepResult> {
  const { name } = memberOf(turn, nodeId!)
  for (const { image, by } of await imagesToPull(turn, nodeId!)) {
    try {
      await talos(
        turn,
        nodeId!,
        (client) => client.imagePull(by, image, { deadlineMs: pullDeadlineMs }),
        pullDeadlineMs,
      )
    } catch (error) {
      if (!(error instanceof TalosError)) throw error
      if (error.kind === 'not_found')
        return { failed: `${name} can't pull ${image}: ${error.message}. Nothing was changed` }
      return { waiting: `${name} can't pull ${image} yet: ${error.message}`, isSafe: true }
    }
  }
  return 'done'
}

const staticPodPath = (pod: StaticPod, node: string) =>
  `/api/v1/namespaces/kube-system/pods/${pod}-${encodeURIComponent(node)}`
const list = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? (value as unknown[]).filter(isRecord) : []

/** Why the pod doesn't run the image yet, or null. */
function whyNot(found: unknown, what: string, image: string): NotReady | null {
  const { spec, status } = isRecord(found) ? found : {}
  const [container] = list(isRecord(spec) ? spec['containers'] : undefined)
  if (!container) return { why: `${what} does not run`, isDead: false }
  if (container['image'] !== image)
    return { why: `${what} still runs ${printable(String(container['image']))}`, isDead: false }
  return whyNotReady(status, what)
}

/**
 * Why a static pod is not ready, from the machine: its kubelet reports the pod to Talos even if no
 * API server answers (Talos `controllers/k8s/kubelet_static_pod.go`). Null if it reports nothing.
 */
async function whyNotReadyThere(
  turn: Turn,
  nodeId: string,
  pod: StaticPod,
): Promise<NotReady | null> {
  const { name } = memberOf(turn, nodeId)
  const { items } = await talos(turn, nodeId, (client) => client.list(resources.staticPod))
  const found = items.find((item) => item.id === `kube-system/${pod}-${name}`)
  return found === undefined ? null : whyNotReady(found.spec.podStatus, `${pod} of ${name}`)
}

/**
 * Steps `kube-apiserver/<node id>`, `kube-controller-manager/…` and `kube-scheduler/…`: set the new
 * image and wait until the pod runs it.
 */
export const staticPod =
  (pod: StaticPod) =>
  async (turn: Turn, at: StepAt): Promise<StepResult> => {
    const nodeId = at.nodeId!
    const { name } = memberOf(turn, nodeId)
    const given = await give(turn, nodeId, staticPods[pod])
    if (given !== null) return given
    const image = (await imagesNow(turn.parts, turn.parts.db, turn.state.row.id, nodeId))![
      staticPods[pod]
    ]!
    const waits = ({ why, isDead }: NotReady): StepResult => ({
      waiting: why,
      againMs: 1_000,
      isSafe: isDead || hangs(turn, at),
    })
    const api = await kubernetes(turn)
    try {
      const why = whyNot(
        await api.get(staticPodPath(pod, name), turn.job.signal),
        `${pod} of ${name}`,
        image,
      )
      return why === null ? 'done' : waits(why)
    } catch (error) {
      if (turn.job.signal.aborted || !(error instanceof KubernetesError)) throw error
      // The API server of the only control plane is the one that does not start.
      const unknown = {
        why: `The Kubernetes API does not answer as expected: ${error.message}`,
        isDead: false,
      }
      return waits((await whyNotReadyThere(turn, nodeId, pod)) ?? unknown)
    }
  }

/**
 * Step `kube-proxy/<node id>`: set the new image, which the control plane writes into its manifest
 * of kube-proxy.
 */
export const proxy = async (turn: Turn, { nodeId }: StepAt): Promise<StepResult> =>
  (await give(turn, nodeId!, 'proxy')) ?? 'done'

/**
 * Step `kubelet/<node id>`: set the new image and wait until Kubernetes reports the node with the
 * new version.
 */
export async function kubelet(turn: Turn, at: StepAt): Promise<StepResult> {
  const nodeId = at.nodeId!
  const { name } = memberOf(turn, nodeId)
  const given = await give(turn, nodeId, 'kubelet')
  if (given !== null) return given
  const waits = (waiting: string, isDead = false): StepResult => ({
    waiting,
    againMs: 1_000,
    isSafe: isDead || hangs(turn, at),
  })
  const service = await talos(turn, nodeId, async (client) =>
    (await client.services()).find((s) => s.id === 'kubelet'),
  )
  if (service?.state !== 'Running' || service.healthy === false) {
    const why = (service && messageOf(service)) ?? 'no reason is known'
    const isDead = service?.state === 'Failed'
    return waits(
      `The kubelet of ${name} ${isDead ? 'does not start' : 'is not running yet'}: ${why}`,
      isDead,
    )
  }
  const node = await (await kubernetes(turn)).get(nodePath(name), turn.job.signal)
  const info = isRecord(node) && isRecord(node['status']) ? node['status']['nodeInfo'] : undefined
  const runs =
    isRecord(info) && typeof info['kubeletVersion'] === 'string' ? info['kubeletVersion'] : ''
  if (bare(runs) === bare(turn.change.version)) return 'done'
  return waits(`The kubelet of ${name} still runs ${printable(runs) || 'an unknown version'}`)
}

/** Step `node-ready/<node id>`. */
export async function readyAgain(turn: Turn, at: StepAt): Promise<StepResult> {
  const result = await nodeReady(turn, at)
  return typeof result === 'object' && 'waiting' in result
    ? { ...result, isSafe: hangs(turn, at) }
    : result
}

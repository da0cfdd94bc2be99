/** The pods of a cluster, read from its Kubernetes API during the call. */
import { type ClusterPod, type ClusterPods, mostListedPods } from '#contract/clusters/pods.ts'
import { Problem } from '#contract/errors.ts'
import { isRecord, KubernetesError, printable, within } from '../../../kubernetes/answers.ts'
import { controlPlanesOf, drainEffectOf, kubernetesOf, mostPods } from '../../control-planes/api.ts'
import { type ClusterParts, demandCluster } from '../parts.ts'
import * as store from '../store.ts'

/** Time limit of the whole request, in ms. A cluster with 10,000 pods sends 40 pages. */
const wholeMs = 15_000

/**
 * The pods that match, those that are not ready first, then by namespace and name.
 * @throws Problem `not_found` for a server that the cluster doesn't have, `cluster_not_ready` while
 * no control plane has joined, `server_unreachable` if the API server does not answer
 */
export async function clusterPodsNow(
  parts: ClusterParts,
  id: string,
  asked: { readonly node_id?: string | undefined; readonly q?: string | undefined },
  signal: AbortSignal,
): Promise<ClusterPods> {
  const row = await demandCluster(parts.db, id)
  const members = (await store.members(parts.db, id)).filter(store.isWanted)
  const server = members.find((m) => m.node_id === asked.node_id)
  if (asked.node_id !== undefined && !server)
    throw new Problem('not_found', 'There is no such server in this cluster')
  if (controlPlanesOf(members).length === 0)
    throw new Problem(
      'cluster_not_ready',
      'No control plane has joined yet, so Kubernetes does not answer',
    )
  const ids = new Map(members.map((m) => [m.name, m.node_id]))
  const text = asked.q?.trim().toLowerCase() ?? ''
  const matches = (pod: ClusterPod): boolean =>
    (server === undefined || pod.node === server.name) &&
    (text === '' ||
      `${pod.namespace}/${pod.name} ${pod.owner?.kind ?? ''}/${pod.owner?.name ?? ''}`
        .toLowerCase()
        .includes(text))
  const found = { ready: [] as ClusterPod[], not: [] as ClusterPod[], readyCount: 0, notCount: 0 }
  const client = await kubernetesOf(parts, { row, members })
  const keep = (object: unknown): undefined => {
    const pod = readPod(object, ids)
    if (pod === undefined || !matches(pod)) return
    const list = pod.ready ? found.ready : found.not
    if (pod.ready) found.readyCount++
    else found.notCount++
    // Bounded, so that a large cluster takes no more memory than its answer.
    if (list.length < mostListedPods) list.push(pod)
  }
  try {
    await within(signal, wholeMs, (limit) =>
      client.list(
        '/api/v1/pods',
        { most: mostPods, keep, ...(server && { fieldSelector: `spec.nodeName=${server.name}` }) },
        limit,
      ),
    )
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error
    throw new Problem(
      'server_unreachable',
      `The pods can't be read from the Kubernetes API of ${row.name}: ${error.message}`,
    )
  }
  const inOrder = (pods: ClusterPod[]) =>
    pods.toSorted((a, b) => a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name))
  return {
    items: [...inOrder(found.not), ...inOrder(found.ready)].slice(0, mostListedPods),
    total: found.readyCount + found.notCount,
    not_ready: found.notCount,
  }
}

const text = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? printable(value) : null
const records = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isRecord) : []

/** Why a container doesn't run (core/v1 ContainerState), with the reason that kubectl shows. */
function troubleOf(
  container: Record<string, unknown>,
): { reason: string; message: string | null } | undefined {
  const state = isRecord(container['state']) ? container['state'] : {}
  const { waiting, terminated } = state
  const trouble = isRecord(waiting) ? waiting : isRecord(terminated) ? terminated : undefined
  const reason = trouble && text(trouble['reason'])
  return reason ? { reason, message: text(trouble['message']) } : undefined
}

/**
 * core/v1 Pod. The state is made as kubectl makes the column STATUS. `ids`: the servers of the
 * cluster by name. Pure.
 */
export function readPod(object: unknown, ids: ReadonlyMap<string, string>): ClusterPod | undefined {
  const { metadata, spec, status } = isRecord(object) ? object : {}
  if (!isRecord(metadata) || !isRecord(spec)) return undefined
  const [namespace, name] = [text(metadata['namespace']), text(metadata['name'])]
  if (namespace === null || name === null) return undefined
  const seen = isRecord(status) ? status : {}
  const phase = text(seen['phase']) ?? 'Unknown'
  const init = records(seen['initContainerStatuses'])
  const main = records(seen['containerStatuses'])
  const troubled =
    phase === 'Succeeded'
      ? undefined
      : [...init.filter((c) => c['ready'] !== true), ...main.filter((c) => c['ready'] !== true)]
          .map(troubleOf)
          .find((t) => t)
  const isEnding = typeof metadata['deletionTimestamp'] === 'string'
  const conditions = records(seen['conditions'])
  const isReady = conditions.some((c) => c['type'] === 'Ready' && c['status'] === 'True')
  const failing = conditions.find(
    (c) => (c['type'] === 'PodScheduled' || c['type'] === 'Ready') && c['status'] === 'False',
  )
  const ready = phase === 'Succeeded' || (isReady && !isEnding)
  const node = text(spec['nodeName'])
  return {
    namespace,
    name,
    node,
    node_id: node === null ? null : (ids.get(node) ?? null),
    owner: ownerOf(metadata),
    state: isEnding ? 'Terminating' : (troubled?.reason ?? text(seen['reason']) ?? phase),
    ready,
    reason: ready
      ? null
      : (troubled?.message ?? text(seen['message']) ?? text(failing?.['message'])),
    containers_ready: main.filter((c) => c['ready'] === true).length,
    containers: Array.isArray(spec['containers']) ? spec['containers'].length : main.length,
    restarts: [...init, ...main].reduce((sum, c) => sum + whole(c['restartCount']), 0),
    started_at: instant(seen['startTime']),
    on_drain: drainEffectOf(object),
  }
}

const whole = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0
    ? Math.min(value, 1_000_000_000)
    : 0

function instant(value: unknown): string | null {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

/**
 * The controller of a pod. A ReplicaSet whose name ends with the pod's template hash belongs to the
 * Deployment before the hash (kubernetes.io, "Deployments").
 */
function ownerOf(metadata: Record<string, unknown>): ClusterPod['owner'] {
  const controller = records(metadata['ownerReferences']).find((o) => o['controller'] === true)
  const [kind, name] = [text(controller?.['kind']), text(controller?.['name'])]
  if (kind === null || name === null) return null
  const hash = isRecord(metadata['labels']) ? text(metadata['labels']['pod-template-hash']) : null
  if (kind === 'ReplicaSet' && hash !== null && name.endsWith(`-${hash}`))
    return { kind: 'Deployment', name: name.slice(0, -hash.length - 1) }
  return { kind, name }
}

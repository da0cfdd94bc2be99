/** Reads how the control planes of a cluster are: from their machines, and from Kubernetes. */
import { Problem } from '#contract/errors.ts'
import { messageOf, type Service, type TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readStage } from '#talos/client/inventory.ts'
import { resources } from '#talos/client/resources.ts'
import { isRecord, KubernetesError, type KubernetesNode, within } from '../../kubernetes/answers.ts'
import type { Kubernetes } from '../../kubernetes/client.ts'
import type { ServerFacts } from '../servers/api.ts'
import { controlPlanesOf, kubernetesOf } from './kubernetes.ts'
import { factsOf } from './view.ts'
import {
  type ControlPlaneState,
  type Illness,
  illnessesIn,
  ofKubelet,
  type PodSeen,
  type ServiceSeen,
  type Sighting,
  type StaticPodName,
  staticPodNames,
} from './judge.ts'
import type { ClusterView, Member } from './view.ts'

/**
 * Time limit in ms of the calls to one machine, and of all calls to Kubernetes, where API servers
 * that hang are asked in turn.
 */
const deadlineMs = 10_000
/** More pods than one node runs in the namespace of the control plane. */
const mostPods = 2_000

/** Resolves to null with the reason if the machine can't answer. Other errors are thrown. */
const orWhy = async <T>(asked: Promise<T>): Promise<{ value: T | null; why: string | null }> => {
  try {
    return { value: await asked, why: null }
  } catch (error) {
    if (!(error instanceof TalosError) || error.kind === 'cancelled') throw error
    return { value: null, why: error.message }
  }
}

type OfMachine = Pick<Sighting, 'stage' | 'services' | 'etcd' | 'etcdFailed' | 'changedAtMs'> & {
  readonly pods: Readonly<Record<StaticPodName, Omit<PodSeen, 'mirror'>>>
}

/** What Kubernetes says of a control plane. */
type OfKubernetes = Pick<Sighting, 'node' | 'reportedAtMs' | 'kubernetesFailed' | 'unready'> & {
  /** The mirror pods that Kubernetes has, by static pod. */
  readonly mirrors: ReadonlyMap<StaticPodName, unknown>
}

interface Settings {
  readonly id: string
  readonly version: string
  readonly spec: object
}

/**
 * The settings whose version Talos gives to a static pod. Since 1.14 they are the arguments that
 * follow from the resource with the pod's name, and have that name with a prefix.
 */
export const settingsOf = <S extends Pick<Settings, 'id'>>(
  pod: StaticPodName,
  all: readonly S[],
): S | undefined =>
  all.filter(({ id }) => id.endsWith(pod)).toSorted((a, b) => b.id.length - a.id.length)[0]

function serviceOf(services: readonly Service[], id: string): ServiceSeen | undefined {
  const found = services.find((s) => s.id === id)
  return found && { state: found.state, healthy: found.healthy, message: messageOf(found) }
}

/** The later one of the last change of the configuration and the last start of the kubelet, in ms. */
function changedAt(
  config: { readonly updatedAt: Date | undefined } | undefined,
  services: readonly Service[],
) {
  const kubeletAt = services.find((s) => s.id === 'kubelet')?.startedAt
  const times = [config?.updatedAt, kubeletAt].flatMap((at) => at?.getTime() ?? [])
  return times.length === 0 ? null : Math.max(...times)
}

async function readMachine(client: TalosClient, name: string): Promise<OfMachine> {
  const services = await client.services()
  const [etcdService, kubeletService] = [
    serviceOf(services, 'etcd'),
    serviceOf(services, 'kubelet'),
  ]
  const [{ stage }, etcd, statuses, config, secrets, files, ...settings] = await Promise.all([
    readStage(client),
    etcdService?.state === 'Running'
      ? orWhy(client.etcdStatus())
      : Promise.resolve({ value: null, why: null }),
    client.list(resources.staticPod),
    client.get(resources.machineConfig, 'v1alpha1'),
    client.get(resources.secretsStatus, 'static-pods'),
    client.get(resources.configStatus, 'static-pods'),
    client.list(resources.apiServerConfig),
    client.list(resources.controllerManagerConfig),
    client.list(resources.schedulerConfig),
  ])
  const all = settings.flatMap(({ items }): Settings[] => items)
  const pods = staticPodNames.map((pod) => {
    const own = settingsOf(pod, all)
    const isDisabled = own !== undefined && 'enabled' in own.spec && own.spec.enabled === false
    const wanted = {
      settings: own?.version ?? null,
      secrets: secrets?.spec.version ?? null,
      files: files?.spec.version ?? null,
    }
    const there = statuses.items.find((item) => item.id === `kube-system/${pod}-${name}`)
    return [pod, { isDisabled, wanted, there: there?.spec.podStatus }] as const
  })
  return {
    stage,
    services: {
      ...(etcdService && { etcd: etcdService }),
      ...(kubeletService && { kubelet: kubeletService }),
    },
    etcd: etcd.value,
    etcdFailed: etcd.why,
    changedAtMs: changedAt(config, services),
    pods: Object.fromEntries(pods) as OfMachine['pods'],
  }
}

/** The static pod of a mirror pod, or undefined. */
const mirrorOf = (object: unknown, node: string): [StaticPodName, unknown] | undefined => {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {}
  const pod = staticPodNames.find((name) => metadata['name'] === `${name}-${node}`)
  return pod && [pod, object]
}

/** Time of a MicroTime in ms; null if it is none. */
const timeOf = (value: unknown): number | null => {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : at
}

/** When the kubelet of a node has last reported, in ms on the clock of its machine. */
async function reportedAt(api: Kubernetes, node: string, signal: AbortSignal) {
  const lease = await api.get(
    `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${encodeURIComponent(node)}`,
    signal,
  )
  const spec = isRecord(lease) && isRecord(lease['spec']) ? lease['spec'] : {}
  return timeOf(spec['renewTime'])
}

async function readKubernetes(
  api: Kubernetes,
  target: { name: string; address: string },
  nodes: Promise<readonly KubernetesNode[]>,
  { signal, withinMs }: { readonly signal: AbortSignal; readonly withinMs: number },
): Promise<OfKubernetes> {
  const { name } = target
  const unready = within(signal, withinMs, (limit) => api.readyz(target, limit)).then(
    () => null,
    (error: unknown) => {
      if (!(error instanceof KubernetesError)) throw error
      return error.message
    },
  )
  // Not awaited if the other calls are aborted. An unhandled rejection would end the process.
  unready.catch(() => undefined)
  const nothing = { mirrors: new Map<StaticPodName, unknown>(), node: null, reportedAtMs: null }
  try {
    const [found, mirrors, reportedAtMs] = await within(signal, withinMs, (limit) =>
      Promise.all([
        nodes,
        api.list(
          '/api/v1/namespaces/kube-system/pods',
          {
            most: mostPods,
            fieldSelector: `spec.nodeName=${name}`,
            keep: (object) => mirrorOf(object, name),
          },
          limit,
        ),
        reportedAt(api, name, limit),
      ]),
    )
    return {
      mirrors: new Map(mirrors ?? []),
      node: found.find((node) => node.name === name) ?? null,
      reportedAtMs,
      kubernetesFailed: null,
      unready: await unready,
    }
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error
    return { ...nothing, kubernetesFailed: error.message, unready: await unready }
  }
}

const unknown = { settings: null, secrets: null, files: null }
const noPod: Omit<PodSeen, 'mirror'> = { isDisabled: false, wanted: unknown, there: undefined }
const ofSilent: OfMachine = {
  stage: null,
  services: {},
  etcd: null,
  etcdFailed: null,
  changedAtMs: null,
  pods: Object.fromEntries(staticPodNames.map((pod) => [pod, noPod])) as OfMachine['pods'],
}

async function sightingOf(
  { parts, state, signal }: ClusterView,
  m: Member,
  { silence }: Pick<ServerFacts, 'silence'>,
  ofKubernetes: Promise<OfKubernetes>,
  withinMs: number,
): Promise<Sighting> {
  let silent: string | null = null
  let machine = ofSilent
  try {
    const connection = await parts.servers.connection(m.node_id)
    const keys = (await parts.secrets.talosAdmin(state.row.id))!
    machine = await connection.secure(keys, (client) => readMachine(client, m.name), {
      signal,
      deadlineMs: withinMs,
    })
  } catch (error) {
    if (signal.aborted || !(error instanceof TalosError || error instanceof Problem)) throw error
    silent = silence ?? error.message
  }
  const { mirrors, ...kubernetes } = await ofKubernetes
  return {
    name: m.name,
    silent,
    ...machine,
    ...kubernetes,
    pods: Object.fromEntries(
      staticPodNames.map((pod) => [
        pod,
        { ...machine.pods[pod], mirror: mirrors.get(pod) ?? null },
      ]),
    ) as Sighting['pods'],
  }
}

/**
 * Asks control planes at once how they are. `isAsked`: which ones; by default all of them. What
 * doesn't answer within `withinMs` is silent.
 * @throws Error only for bugs, and if aborted
 */
export async function controlPlanesNow(
  view: ClusterView,
  isAsked: (nodeId: string) => boolean = () => true,
  withinMs = deadlineMs,
): Promise<ControlPlaneState[]> {
  const { parts, state, signal } = view
  const members = controlPlanesOf(state.members).filter((m) => isAsked(m.node_id))
  if (members.length === 0) return []
  const facts = await factsOf(parts, parts.db, members)
  const api = await kubernetesOf(parts, state)
  const nodes = within(signal, withinMs, (limit) => api.nodes(limit))
  // Each reader of the nodes handles the failure.
  nodes.catch(() => undefined)
  const sightings = await Promise.all(
    members.map((m, i) => {
      const target = { name: m.name, address: facts[i]!.address }
      const ofKubernetes = readKubernetes(api, target, nodes, { signal, withinMs })
      // Not awaited if the calls to the machine are aborted first.
      ofKubernetes.catch(() => undefined)
      return sightingOf(view, m, facts[i]!, ofKubernetes, withinMs)
    }),
  )
  return members.map(({ node_id, name }, i) => ({
    node_id,
    name,
    illnesses: illnessesIn(sightings[i]!, sightings),
  }))
}

/**
 * What the kubelet of a server lacks, and whether it has reported since its last change. A machine
 * that doesn't answer is not well.
 * @throws KubernetesError if the API doesn't answer
 */
export async function kubeletNow(view: ClusterView, m: Member): Promise<readonly Illness[]> {
  const { parts, state, signal } = view
  const api = await kubernetesOf(parts, state)
  const [nodes, reportedAtMs] = await Promise.all([
    api.nodes(signal),
    reportedAt(api, m.name, signal),
  ])
  const node = nodes.find(({ name }) => name === m.name) ?? null
  try {
    const connection = await parts.servers.connection(m.node_id)
    const keys = (await parts.secrets.talosAdmin(state.row.id))!
    const { kubelet, changedAtMs } = await connection.secure(
      keys,
      async (client) => {
        const [services, config] = await Promise.all([
          client.services(),
          client.get(resources.machineConfig, 'v1alpha1'),
        ])
        return {
          kubelet: serviceOf(services, 'kubelet'),
          changedAtMs: changedAt(config, services),
        }
      },
      { signal, deadlineMs },
    )
    return ofKubelet({
      name: m.name,
      services: { ...(kubelet && { kubelet }) },
      kubernetesFailed: null,
      node,
      changedAtMs,
      reportedAtMs,
    })
  } catch (error) {
    if (signal.aborted || !(error instanceof TalosError || error instanceof Problem)) throw error
    const why = `${m.name} does not answer: ${error.message}`
    return [{ component: 'machine', why, isDead: false }]
  }
}

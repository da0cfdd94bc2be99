/**
 * Whether a control plane is well: the components that run on it, and what each lacks. Pure
 * functions.
 */
import { stageSaid } from '#contract/servers/server.ts'
import { isRecord, printable } from '../../kubernetes/answers.ts'

/** The static pods of a control plane, in the order in which they depend on each other. */
export const staticPodNames = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
] as const
export type StaticPodName = (typeof staticPodNames)[number]

export type Component = StaticPodName | 'etcd' | 'kubelet' | 'machine'

/** Why a component is not well. */
export interface Illness {
  readonly component: Component
  /** A sentence without its full stop that names the server. */
  readonly why: string
  /** The component has ended or can't start, so that only a change brings it back. */
  readonly isDead: boolean
  /** A change is taking effect now; that alone is no problem. */
  readonly isSettling?: true
}

/** The state of a service of Talos. */
export interface ServiceSeen {
  readonly state: string
  readonly healthy: boolean | undefined
  readonly message: string | null
}

export interface EtcdSeen {
  readonly leaderId: string | null
  readonly learner: boolean
  readonly appliedIndex: string
  /** Alarms and other problems that the member reports. */
  readonly errors: readonly string[]
}

/**
 * Talos's annotations of a static pod (Talos `controllers/k8s/control_plane_static_pod.go`): the
 * versions of its settings, of the secrets, and of the configuration files.
 */
const versionAnnotations = {
  settings: 'talos.dev/config-version',
  secrets: 'talos.dev/secrets-version',
  files: 'talos.dev/config-file-version',
} as const
const changed = {
  settings: 'its new configuration',
  secrets: 'its new secrets',
  files: 'its new configuration files',
} as const
/** Null: unknown. */
export type PodVersions = Readonly<Record<keyof typeof versionAnnotations, string | null>>

export interface PodSeen {
  /** The configuration doesn't run this component. */
  readonly isDisabled: boolean
  /** Versions that the pod should run with. */
  readonly wanted: PodVersions
  /** The mirror pod in Kubernetes; null if Kubernetes has none, or doesn't answer. */
  readonly mirror: unknown
  /** The status that the machine's kubelet reports to Talos; undefined if it reports none. */
  readonly there: unknown
}

/** What a control plane and Kubernetes report about it. Times are on the machine's clock, in ms. */
export interface Sighting {
  readonly name: string
  /** Why the machine doesn't answer; null if it does. */
  readonly silent: string | null
  /** Talos's stage; null if the machine doesn't answer. */
  readonly stage: string | null
  readonly services: { readonly etcd?: ServiceSeen; readonly kubelet?: ServiceSeen }
  /** Null if etcd doesn't run, or doesn't answer: `etcdFailed` says why. */
  readonly etcd: EtcdSeen | null
  readonly etcdFailed: string | null
  readonly pods: Readonly<Record<StaticPodName, PodSeen>>
  /** When the active configuration was last changed, and the kubelet was started. */
  readonly changedAtMs: number | null
  /** Why Kubernetes doesn't answer; null if it does. */
  readonly kubernetesFailed: string | null
  /** Why this server's own API server isn't ready; null if it is. */
  readonly unready: string | null
  readonly node: { readonly ready: boolean; readonly reason: string | null } | null
  /** When the kubelet has last reported to Kubernetes. */
  readonly reportedAtMs: number | null
}

/**
 * etcd refuses requests while a member has this many entries to apply (etcd
 * `server/etcdserver/v3_server.go`, maxGapBetweenApplyAndCommitIndex).
 */
const farBehind = 5_000n

const list = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? (value as unknown[]).filter(isRecord) : []

/**
 * Reasons of the kubelet for a container that only a change can bring to life (Kubernetes
 * `pkg/kubelet/images/types.go`, `pkg/kubelet/container/sync_result.go`).
 */
const deadReasons = new Set([
  'CrashLoopBackOff',
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
])

/** `isDead`: the component has ended or can't start. */
export type NotReady = Pick<Illness, 'why' | 'isDead'>

/** Why the pod with this status (core/v1 PodStatus) is not ready, or null. */
export function whyNotReady(status: unknown, what: string): NotReady | null {
  const ready = list(isRecord(status) ? status['conditions'] : undefined).find(
    (c) => c['type'] === 'Ready',
  )
  if (ready?.['status'] === 'True') return null
  const [running] = list(isRecord(status) ? status['containerStatuses'] : undefined)
  const waiting = isRecord(running?.['state']) ? running['state']['waiting'] : undefined
  const why = isRecord(waiting)
    ? [waiting['reason'], waiting['message']].filter((text) => typeof text === 'string').join(': ')
    : ''
  const isDead =
    isRecord(waiting) && typeof waiting['reason'] === 'string' && deadReasons.has(waiting['reason'])
  return { why: `${what} is not ready${why ? `: ${printable(why)}` : ''}`, isDead }
}

/** What the pod doesn't run with yet, or undefined. */
function outdated(pod: unknown, wanted: PodVersions): keyof PodVersions | undefined {
  const metadata = isRecord(pod) && isRecord(pod['metadata']) ? pod['metadata'] : {}
  const annotations = isRecord(metadata['annotations']) ? metadata['annotations'] : {}
  return (Object.keys(versionAnnotations) as (keyof PodVersions)[]).find((what) => {
    const runs = annotations[versionAnnotations[what]]
    return wanted[what] !== null && typeof runs === 'string' && runs !== wanted[what]
  })
}

function ofPod(
  component: StaticPodName,
  { name, kubernetesFailed }: Sighting,
  { isDisabled, wanted, mirror, there }: PodSeen,
): Illness[] {
  const what = `${component} of ${name}`
  if (isDisabled) return []
  // Without Kubernetes only the machine tells about its pods.
  if (kubernetesFailed !== null) {
    const found = there === undefined ? null : whyNotReady(there, what)
    return found === null ? [] : [{ component, ...found }]
  }
  if (!isRecord(mirror)) return [{ component, why: `${what} does not run`, isDead: false }]
  const old = outdated(mirror, wanted)
  if (old !== undefined)
    return [
      {
        component,
        why: `${what} does not run with ${changed[old]} yet`,
        isDead: false,
        isSettling: true,
      },
    ]
  const found = whyNotReady(mirror['status'], what)
  return found === null ? [] : [{ component, ...found }]
}

const isRestarting = ({ state, message }: ServiceSeen): boolean =>
  state === 'Failed' || message?.includes('going to restart forever') === true

function ofService(
  component: 'etcd' | 'kubelet',
  { name, services }: Pick<Sighting, 'name' | 'services'>,
): Illness | undefined {
  const service = services[component]
  if (service?.state === 'Running' && service.healthy === true) return undefined
  const what = component === 'etcd' ? `etcd of ${name}` : `The kubelet of ${name}`
  if (service === undefined) return { component, why: `${what} does not run`, isDead: false }
  const tail = service.message ? `: ${service.message.replace(/\.$/, '')}` : ''
  const does = service.state === 'Running' ? 'is not healthy' : 'does not run'
  return { component, why: `${what} ${does}${tail}`, isDead: isRestarting(service) }
}

/** `applied`: the highest index that a member of the cluster has applied. */
function ofEtcd(sighting: Sighting, applied: bigint): Illness[] {
  const illness = ofService('etcd', sighting)
  if (illness) return [illness]
  const { name, etcd, etcdFailed } = sighting
  const of = (why: string): Illness[] => [
    { component: 'etcd', why: `etcd of ${name} ${why}`, isDead: false },
  ]
  if (etcd === null) return of(`does not answer${etcdFailed === null ? '' : `: ${etcdFailed}`}`)
  if (etcd.leaderId === null) return of('has no leader')
  if (etcd.errors.length > 0) return of(`reports ${etcd.errors.join(', ')}`)
  if (etcd.learner) return of('is a learner, which still copies the data of the other members')
  const behind = applied - BigInt(etcd.appliedIndex)
  return behind > farBehind ? of(`is ${behind} entries behind the other members`) : []
}

/** What is known of the kubelet of a server with any role. */
export type KubeletSighting = Pick<
  Sighting,
  'name' | 'services' | 'kubernetesFailed' | 'node' | 'changedAtMs' | 'reportedAtMs'
>

/** What the kubelet lacks; empty if it is well and has reported since its last change. */
export function ofKubelet(sighting: KubeletSighting): Illness[] {
  const illness = ofService('kubelet', sighting)
  if (illness) return [illness]
  const { name, kubernetesFailed, node, changedAtMs, reportedAtMs } = sighting
  if (kubernetesFailed !== null) return []
  const of = (why: string): Illness[] => [{ component: 'kubelet', why, isDead: false }]
  if (node === null) return of(`Kubernetes has no node ${name}`)
  if (!node.ready) return of(`${name} is not Ready: ${node.reason}`)
  return changedAtMs !== null && (reportedAtMs === null || reportedAtMs < changedAtMs)
    ? [
        {
          component: 'kubelet',
          why: `The kubelet of ${name} has not reported since its last change`,
          isDead: false,
          isSettling: true,
        },
      ]
    : []
}

/** Stages that end with a stop of every component, although they may still run. */
const goingStages: ReadonlySet<string> = new Set([
  'rebooting',
  'resetting',
  'shutting_down',
  'upgrading',
])

/** Why the control plane is not well; empty if it is. `all`: the control planes of the cluster. */
export function illnessesIn(sighting: Sighting, all: readonly Sighting[]): Illness[] {
  const { name, silent, stage, pods, unready, kubernetesFailed } = sighting
  const ofMachine = (why: string): Illness[] => [{ component: 'machine', why, isDead: false }]
  if (silent !== null) return ofMachine(`${name} does not answer: ${silent}`)
  if (stage !== null && goingStages.has(stage)) return ofMachine(`${name} is ${stageSaid(stage)}`)
  const applied = all.reduce((most, { etcd }) => {
    const index = etcd === null ? 0n : BigInt(etcd.appliedIndex)
    return index > most ? index : most
  }, 0n)
  const found = [
    ...ofEtcd(sighting, applied),
    ...staticPodNames.flatMap((pod) => ofPod(pod, sighting, pods[pod])),
    ...ofKubelet(sighting),
  ]
  const isKnown = found.some(({ component }) => component === 'kube-apiserver')
  const why = kubernetesFailed ?? unready
  return why === null || isKnown || pods['kube-apiserver'].isDisabled
    ? found
    : [
        ...found,
        {
          component: 'kube-apiserver',
          why: `The API server of ${name} is not ready: ${why}`,
          isDead: false,
        },
      ]
}

/** One control plane with what it lacks. */
export interface ControlPlaneState {
  readonly node_id: string
  readonly name: string
  readonly illnesses: readonly Illness[]
}

/** The control planes without the problems that are settling. */
export const settled = (all: readonly ControlPlaneState[]): ControlPlaneState[] =>
  all.map((one) => ({
    ...one,
    illnesses: one.illnesses.filter(({ isSettling }) => isSettling !== true),
  }))

/**
 * What control planes lack, as one sentence without its full stop. What is dead comes first: it is
 * the cause of the rest, such as a kubelet without which no pod is ready.
 */
export const sentenceOf = (illnesses: readonly Illness[]): string =>
  illnesses
    .toSorted((a, b) => Number(b.isDead) - Number(a.isDead))
    .slice(0, 3)
    .map(({ why }) => why.replace(/\.$/, ''))
    .join('. ')

/** Why a control plane must not be changed now, and the control planes that are not well. */
interface Forbidden {
  readonly why: string
  readonly by: readonly ControlPlaneState[]
}

/**
 * Whether the control plane `node_id` must not be changed now: every other one must be well. `mends`:
 * names of control planes that the change is to mend. Their illnesses don't count, as long as etcd
 * keeps its quorum without the changed server. A server whose etcd doesn't run gives the quorum
 * nothing, so a change can't take anything from it.
 */
export function forbiddenBy(
  node_id: string,
  all: readonly ControlPlaneState[],
  mends: ReadonlySet<string>,
): Forbidden | null {
  const because = (by: readonly ControlPlaneState[]): Forbidden => ({
    why: sentenceOf(by.flatMap(({ illnesses }) => illnesses)),
    by,
  })
  const others = all.filter((one) => one.node_id !== node_id)
  const ill = others.filter(({ name, illnesses }) => illnesses.length > 0 && !mends.has(name))
  if (ill.length > 0) return because(ill)
  const down = others.filter(({ illnesses }) => lacksEtcd(illnesses))
  const own = all.find((one) => one.node_id === node_id)
  if (down.length === 0 || (own !== undefined && lacksEtcd(own.illnesses))) return null
  return (others.length - down.length) * 2 > all.length ? null : because(down)
}

/** The reason of `forbiddenBy`, or null. */
export const whyOthersForbid = (...asked: Parameters<typeof forbiddenBy>): string | null =>
  forbiddenBy(...asked)?.why ?? null

const lacksEtcd = (illnesses: readonly Illness[]): boolean =>
  illnesses.some(({ component }) => component === 'etcd' || component === 'machine')

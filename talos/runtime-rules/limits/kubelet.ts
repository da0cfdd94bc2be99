/** Limits of the kubelet's configuration that it checks when it starts. */
import { durationMs, isAddress } from '../../config/formats.ts'
import { type Report, textOf } from '../../config/report.ts'
import { type Hit, quoted, type RuntimeRule } from '../rule.ts'
import {
  cipherSuites,
  isOverridden,
  isQuantity,
  lastOf,
  pairsOf,
  processorsOf,
  quantityOf,
  settingOf,
  settingText,
  settingTexts,
} from './values.ts'

const config = ['machine', 'kubelet', 'extraConfig'] as const
const args = ['machine', 'kubelet', 'extraArgs'] as const
const isDown = 'the kubelet does not start'
const validation =
  'Kubernetes pkg/kubelet/apis/config/validation/validation.go, ValidateKubeletConfiguration'

/** Least and most of the fields that are whole numbers. */
const ranges: Readonly<Record<string, readonly [least: number, most: number]>> = {
  containerLogMaxFiles: [2, Infinity],
  containerLogMaxWorkers: [1, Infinity],
  eventBurst: [0, Infinity],
  eventRecordQPS: [0, Infinity],
  healthzPort: [0, 65_535],
  iptablesDropBit: [0, 31],
  iptablesMasqueradeBit: [0, 31],
  kubeAPIBurst: [0, Infinity],
  kubeAPIQPS: [0, Infinity],
  maxOpenFiles: [0, Infinity],
  maxParallelImagePulls: [1, Infinity],
  maxPods: [0, Infinity],
  nodeLeaseDurationSeconds: [0, Infinity],
  nodeStatusMaxImages: [-1, Infinity],
  oomScoreAdj: [-1000, 1000],
  podsPerCore: [0, Infinity],
  readOnlyPort: [0, 65_535],
  registryBurst: [0, Infinity],
  registryPullQPS: [0, Infinity],
}

const enforced = [
  'none',
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'kube-reserved',
  'kube-reserved-compressible',
]

/** Resources that can be reserved (`cmd/kubelet/app/server.go`, parseResourceList). */
const reservable = ['cpu', 'memory', 'ephemeral-storage', 'pid']

const signals = ['memory.available', 'allocatableMemory.available', 'pid.available'].concat(
  ['nodefs', 'imagefs', 'containerfs'].flatMap((fs) => [`${fs}.available`, `${fs}.inodesFree`]),
)

interface Value {
  readonly path: readonly string[]
  readonly key: string
  readonly text: string
}

/** A mapping of names to values, of the argument or of the configuration's field. */
function valuesOf(main: Report, field: string, argument: string, sign: '=' | '<'): Value[] {
  const path = [...args, argument]
  return main.has(...path)
    ? pairsOf(main, path, sign).map(([key, text]) => ({ path, key, text }))
    : main
        .entries(...config, field)
        .map((entry) => ({ path: entry.path, key: entry.key, text: textOf(entry.node) }))
}

/** What is reserved for the system or for Kubernetes, without what Talos reserves by default. */
export const reserved = (main: Report, what: 'system' | 'kube'): Value[] =>
  valuesOf(main, `${what}Reserved`, `${what}-reserved`, '=')

/** The hard thresholds of evictions that the configuration names. */
export const hardEvictions = (main: Report): Value[] =>
  valuesOf(main, 'evictionHard', 'eviction-hard', '<')

/** What is wrong with a threshold of an eviction, or null. */
function thresholdProblem({ key, text }: Value): string | null {
  if (!signals.includes(key)) return `there is no signal ${quoted(key)} (${signals.join(', ')})`
  const isRight = text.endsWith('%')
    ? /^\+?(\d+(?:\.\d*)?|\.\d+)%$/.test(text) && Number(text.slice(0, -1)) <= 100
    : isQuantity(text) && quantityOf(text) > 0
  return isRight ? null : `${quoted(text)} is neither an amount such as 500Mi nor a percentage`
}

/**
 * Sysctls of namespaces (component-helpers `node/util/sysctl/namespace.go`). kernel.domainname and
 * user.* came with defaultPodSysctls, after 1.36.
 */
const namespaced =
  /^(?:kernel\.sem$|kernel\.shm|kernel\.msg|fs\.mqueue\.|net\.|user\.|kernel\.domainname$)/

/** What is wrong with a sysctl, or a pattern of them, that pods may set; null if nothing. */
function sysctlProblem(text: string): string | null {
  // The first separator decides which one the name has.
  const isSlashed = /^[^./]*\//.test(text)
  const name = isSlashed ? text.replaceAll(/[./]/g, (sign) => (sign === '/' ? '.' : '/')) : text
  const isRight = /^(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*(?:[a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/
  if (!isRight.test(text)) return `${quoted(text)} is no sysctl such as net.core.somaxconn`
  return namespaced.test(name.replace(/\*$/, ''))
    ? null
    : `${quoted(text)} is of the whole server and can’t be allowed to pods`
}

function* listProblems(main: Report): Generator<Hit> {
  const list = settingTexts(main, 'enforceNodeAllocatable')
  const seen = new Set<string>()
  for (const { path, text } of list) {
    const problem = !enforced.includes(text)
      ? `knows no ${quoted(text)} (${enforced.join(', ')})`
      : seen.has(text)
        ? `has ${text} twice`
        : text === 'none' && list.length > 1
          ? 'has none beside others'
          : null
    seen.add(text)
    if (problem !== null)
      yield { document: main, path, sentence: `enforceNodeAllocatable ${problem}, so ${isDown}` }
  }
  for (const { path, text } of settingTexts(main, 'tlsCipherSuites'))
    if (!cipherSuites.has(text))
      yield {
        document: main,
        path,
        sentence: `${quoted(text)} is no cipher suite such as TLS_AES_128_GCM_SHA256, so ${isDown}`,
      }
  for (const { path, text } of settingTexts(main, 'allowedUnsafeSysctls')) {
    const problem = sysctlProblem(text)
    if (problem !== null)
      yield {
        document: main,
        path,
        sentence: `${problem}, so ${isDown}: leave it out of allowedUnsafeSysctls, and set what is of the server in machine.sysctls`,
      }
  }
}

/** Fields that exclude each other, with the path of the field that is told. */
function* pairProblems(main: Report): Generator<Hit> {
  const hit = (field: string, sentence: string): Hit => ({
    document: main,
    path: [...config, field],
    sentence,
  })
  const age = (field: string) => durationMs(main.text(...config, field))
  const argument = (name: string) => lastOf(main, [...args, name])
  // Arguments win over the configuration.
  const [oldest, youngest] = [
    age('imageMaximumGCAge') ?? 0,
    durationMs(argument('minimum-image-ttl-duration')) ?? age('imageMinimumGCAge') ?? 120_000,
  ]
  if (oldest < 0 || (oldest > 0 && oldest <= youngest))
    yield hit(
      'imageMaximumGCAge',
      `imageMaximumGCAge must be longer than imageMinimumGCAge (${youngest / 1000} s), or ${isDown}`,
    )
  const pulls = main.number(...config, 'maxParallelImagePulls') ?? 0
  const isSerial =
    main.flag(...config, 'serializeImagePulls') &&
    !/^(0|f|false)$/i.test(argument('serialize-image-pulls'))
  if (isSerial && pulls > 1)
    yield hit(
      'maxParallelImagePulls',
      `maxParallelImagePulls: ${pulls} needs serializeImagePulls: false, or ${isDown}`,
    )
  const byPriority = 'shutdownGracePeriodByPodPriority'
  // Talos sets a time only if the key is missing; null is 0s.
  const isZero = (field: string) =>
    main.entries(...config).some(({ key }) => key === field) && (age(field) ?? 0) === 0
  if (
    main.has(...config, byPriority) &&
    !(isZero('shutdownGracePeriod') && isZero('shutdownGracePeriodCriticalPods'))
  )
    yield hit(
      byPriority,
      `${byPriority} excludes shutdownGracePeriod, which Talos sets to 30s, so ${isDown}: set shutdownGracePeriod: 0s and shutdownGracePeriodCriticalPods: 0s as well`,
    )
  for (const field of ['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods']) {
    const span = age(field) ?? 0
    if (span < 0 || (span > 0 && span < 1000))
      yield hit(field, `${field} is 0s or at least 1s, or ${isDown}`)
  }
  if ((age('containerLogMonitorInterval') ?? 10_000) < 3000)
    yield hit(
      'containerLogMonitorInterval',
      `containerLogMonitorInterval is at least 3s, or ${isDown}`,
    )
  if (main.flag(...config, 'runOnce'))
    yield hit('runOnce', `Kubernetes no longer allows runOnce: ${isDown}`)
  const cpus = settingText(main, 'reservedSystemCPUs')
  if (cpus !== '' && processorsOf(cpus) === null)
    yield {
      document: main,
      path: settingOf(main, 'reservedSystemCPUs')!,
      sentence: `${quoted(cpus)} is no list of processors such as 0-3,8, so ${isDown}`,
    }
  for (const field of cpus === '' ? [] : ['systemReservedCgroup', 'kubeReservedCgroup'])
    if (main.has(...config, field))
      yield hit(field, `${field} is not possible with reservedSystemCPUs: ${isDown}`)
}

/** Whether processors are reserved: Talos reserves some unless systemReserved is set. */
function reservesCpu(main: Report): boolean {
  if (main.has(...config, 'reservedSystemCPUs') || main.has(...args, 'reserved-cpus')) return true
  const all = [...reserved(main, 'system'), ...reserved(main, 'kube')]
  return (
    reserved(main, 'system').length === 0 ||
    all.some(({ key, text }) => key === 'cpu' && quantityOf(text) > 0)
  )
}

const isStatic = (main: Report, field: string, argument: string): boolean =>
  /^static$/i.test(lastOf(main, [...args, argument]) || main.text(...config, field))

const alone = 'the server becomes a node of the cluster only if somebody creates the Node by hand'
/** Settings with which the API server, or Talos, can't talk to the kubelet if they are false. */
const cutOffs = {
  registerNode: alone,
  enableServer: 'neither Talos nor the API server learns how its pods are',
} as const

export const kubeletLimitRules: readonly RuntimeRule[] = [
  {
    id: 'kubelet-range',
    source: `${validation}; pkg/kubelet/sysctl/allowlist.go, NewAllowlist: "not known to be namespaced"`,
    level: 'refuse',
    *find({ main }) {
      for (const [field, [least, most]] of Object.entries(ranges)) {
        const path = [...config, field]
        const value = isOverridden(main, field) ? undefined : main.number(...path)
        if (value !== undefined && (value < least || value > most))
          yield {
            document: main,
            path,
            sentence: `The kubelet’s ${field} is ${most === Infinity ? `at least ${least}` : `from ${least} to ${most}`}, not ${value}; otherwise ${isDown}`,
          }
      }
      yield* listProblems(main)
      yield* pairProblems(main)
    },
  },
  {
    id: 'kubelet-reserved',
    source: 'Kubernetes cmd/kubelet/app/server.go, parseResourceList: "cannot reserve … resource"',
    level: 'refuse',
    *find({ main }) {
      for (const { path, key, text } of [...reserved(main, 'system'), ...reserved(main, 'kube')]) {
        const problem = !reservable.includes(key)
          ? `The resource ${quoted(key)} can’t be reserved (${reservable.join(', ')})`
          : !isQuantity(text) || quantityOf(text) < 0
            ? `${quoted(text)} is no amount of ${key}, such as ${key === 'cpu' ? '500m' : key === 'pid' ? '1000' : '512Mi'}`
            : null
        if (problem !== null) yield { document: main, path, sentence: `${problem}, so ${isDown}` }
      }
    },
  },
  {
    id: 'kubelet-eviction',
    source: 'Kubernetes pkg/kubelet/eviction/helpers.go, ParseThresholdConfig',
    level: 'refuse',
    *find({ main }) {
      const soft = valuesOf(main, 'evictionSoft', 'eviction-soft', '<')
      for (const one of [...hardEvictions(main), ...soft]) {
        const problem = thresholdProblem(one)
        if (problem !== null)
          yield {
            document: main,
            path: one.path,
            sentence: `A threshold of evictions can’t be read: ${problem}, so ${isDown}`,
          }
      }
      const graces = valuesOf(main, 'evictionSoftGracePeriod', 'eviction-soft-grace-period', '=')
      for (const { path, key, text } of soft)
        // The kubelet leaves out thresholds of 0% and 100%.
        if (!/^(0|100)%$/.test(text) && !graces.some((grace) => grace.key === key))
          yield {
            document: main,
            path,
            sentence: `The soft threshold ${key} needs its time in evictionSoftGracePeriod, such as 1m30s, or ${isDown}`,
          }
      for (const { path, text } of graces)
        if ((durationMs(text) ?? -1) < 0)
          yield {
            document: main,
            path,
            sentence: `${quoted(text)} is no time span such as 1m30s, so ${isDown}`,
          }
    },
  },
  {
    id: 'kubelet-static-policy',
    source:
      'Kubernetes pkg/kubelet/cm/cpumanager/policy_static.go ("requires systemreserved.cpu + kubereserved.cpu to be greater than zero") and memorymanager/memory_manager.go, validateReservedMemory; Talos kubelet_spec.go reserves resources unless systemReserved is set',
    level: 'refuse',
    *find({ main }) {
      if (isStatic(main, 'cpuManagerPolicy', 'cpu-manager-policy') && !reservesCpu(main))
        yield {
          document: main,
          path: main.has(...config, 'cpuManagerPolicy')
            ? [...config, 'cpuManagerPolicy']
            : [...args, 'cpu-manager-policy'],
          sentence: `The policy static of processors needs reserved ones: add cpu to systemReserved, which replaces Talos’s, or ${isDown}`,
        }
      const hasMemory =
        main.has(...config, 'reservedMemory') || main.has(...args, 'reserved-memory')
      if (isStatic(main, 'memoryManagerPolicy', 'memory-manager-policy') && !hasMemory)
        yield {
          document: main,
          path: main.has(...config, 'memoryManagerPolicy')
            ? [...config, 'memoryManagerPolicy']
            : [...args, 'memory-manager-policy'],
          sentence: `The policy Static of memory needs reservedMemory of exactly the memory that is reserved for the system, for Kubernetes and for evictions, or ${isDown}`,
        }
    },
  },
  {
    id: 'kubelet-cut-off',
    source:
      'Kubernetes pkg/kubelet/apis/config/types.go (registerNode, enableServer); Talos internal/app/machined/pkg/controllers/k8s/kubelet_static_pod.go asks the kubelet at 127.0.0.1:10250',
    level: 'warn',
    *find({ main }) {
      // Such a kubelet knows no cluster (`machine.kubelet.skipNodeRegistration`).
      if (main.flag('machine', 'kubelet', 'skipNodeRegistration')) return
      for (const [field, so] of Object.entries(cutOffs)) {
        const path = settingOf(main, field)
        const text = path === undefined ? '' : lastOf(main, path)
        if (path !== undefined && /^(0|f|false)$/i.test(text))
          yield { document: main, path, sentence: `With ${path.at(-1)}: ${text}, ${so}` }
      }
    },
  },
  {
    id: 'kubelet-listens-to-itself',
    source:
      'Kubernetes pkg/kubelet/apis/config/types.go, Address: where the kubelet listens; the API server asks it at the address of the node',
    level: 'warn',
    *find({ main }) {
      const path = settingOf(main, 'address')
      const text = path === undefined ? '' : lastOf(main, path)
      if (path !== undefined && /^(127\.|::1$)/.test(text))
        yield {
          document: main,
          path,
          sentence: `With address: ${text} the API server gets no logs and no metrics from the kubelet, and kubectl exec fails`,
        }
    },
  },
  {
    id: 'pods-beyond-addresses',
    source:
      'Kubernetes pkg/controller/nodeipam: a node gets a network of node-cidr-mask-size, /24 by default; CNI plugins ipam/host-local leaves out its first, its last and the gateway',
    level: 'warn',
    *find({ main, cluster }) {
      // A worker alone knows neither the network plugin nor the size of its network.
      if (cluster === null || !cluster.hasFlannel) return
      if (
        cluster.main
          .texts('cluster', 'network', 'podSubnets')
          .some(({ text }) => text.includes(':'))
      )
        return
      const given = ['node-cidr-mask-size', 'node-cidr-mask-size-ipv4']
        .map((name) =>
          Number(lastOf(cluster.main, ['cluster', 'controllerManager', 'extraArgs', name])),
        )
        .find((size) => size > 0 && size <= 32)
      const size = given ?? 24
      const most = 2 ** (32 - size) - 3
      const path = settingOf(main, 'maxPods')
      const pods = path === undefined ? 0 : Number(lastOf(main, path))
      if (path !== undefined && pods > most)
        yield {
          document: main,
          path,
          sentence: `A node’s network of /${size} has addresses for ${most} pods, not for ${pods}: the others get none`,
        }
    },
  },
  {
    id: 'kubelet-node-address',
    source:
      'Kubernetes component-helpers/node/util/ips.go, ParseNodeIPArgument: what is no address is left out; pkg/kubelet/kubelet_node_status.go, validateNodeIP: "nodeIP can\'t be loopback address"',
    level: 'warn',
    *find({ main }) {
      const path = [...args, 'node-ip']
      if (!main.has(...path)) return
      for (const text of lastOf(main, path).split(',')) {
        const problem = !isAddress(text.trim())
          ? 'is no address, so the kubelet chooses by itself'
          : /^(127\.|22[4-9]\.|23\d\.|::1$|ff)/i.test(text.trim())
            ? 'is not an address of a node, so the node gets none'
            : null
        if (problem !== null)
          yield {
            document: main,
            path,
            sentence: `${quoted(text)} ${problem}: leave node-ip out, or choose by machine.kubelet.nodeIP.validSubnets`,
          }
      }
    },
  },
  {
    id: 'kubelet-cloud-provider',
    source:
      'Kubernetes docs, feature gate DisableCloudProviders: since 1.31 the only valid values are external and nothing; what the kubelet does with another one is not said',
    level: 'warn',
    *find({ main }) {
      const path = [...args, 'cloud-provider']
      const text = lastOf(main, path)
      if (text !== '' && text !== 'external')
        yield {
          document: main,
          path,
          sentence: `Kubernetes has no cloud provider ${quoted(text)} any more, only external, so the kubelet may not start`,
        }
    },
  },
]

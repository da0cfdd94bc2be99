/** Names and ranges that Kubernetes's components know, and refuse to start without. */
import { nearestOf } from '../config/nearest.ts'
import { textOf } from '../config/report.ts'
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'

const words = (text: string): readonly string[] => text.trim().split(/\s+/)
const ofApiServer = ['cluster', 'apiServer', 'extraArgs'] as const

/** The parts of an argument that is a text with commas, or a list of such texts. */
export function partsOf({ main }: Configuration, path: readonly string[]): string[] {
  if (!main.has(...path)) return []
  const texts = main.texts(...path).map(({ text }) => text)
  return (texts.length > 0 ? texts : [textOf(main.nearest(path))])
    .flatMap((text) => text.split(','))
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Kubernetes `pkg/kubeapiserver/options/plugins.go`, AllOrderedPlugins, of 1.30 and later. */
export const plugins = words(
  `AlwaysAdmit AlwaysDeny AlwaysPullImages CertificateApproval CertificateSigning
  CertificateSubjectRestriction ClusterTrustBundleAttest DefaultIngressClass DefaultStorageClass
  DefaultTolerationSeconds DenyServiceExternalIPs EventRateLimit ExtendedResourceToleration
  ImagePolicyWebhook JobValidation LimitPodHardAntiAffinityTopology LimitRanger
  MutatingAdmissionPolicy MutatingAdmissionWebhook NamespaceAutoProvision NamespaceExists
  NamespaceLifecycle NodeDeclaredFeatureValidator NodeRestriction
  OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize PersistentVolumeLabel
  PodGroupProtection PodGroupWorkloadExists PodNodeSelector PodResizeValidator PodSecurity
  PodTolerationRestriction PodTopologyLabels Priority ResourceQuota RuntimeClass ServiceAccount
  StorageObjectInUseProtection TaintNodesByCondition ValidatingAdmissionPolicy
  ValidatingAdmissionWebhook`,
)
/** Plugins that Kubernetes has removed before 1.30. */
const removedPlugins = words(
  `DenyEscalatingExec DenyExecOnPrivileged GenericAdmissionWebhook InitialResources Initializers
  PodPreset PodSecurityPolicy SecurityContextDeny`,
)

/** Names of arguments that only one component has, at their beginning. */
const owners: readonly {
  readonly section: string
  readonly name: string
  readonly keys: RegExp
}[] = [
  {
    section: 'apiServer',
    name: 'the API server',
    keys: /^(?:admission-control-config-file|advertise-address|audit-|(?:en|dis)able-admission-plugins$|etcd-|oidc-|runtime-config$|service-account-(?:issuer|jwks)|service-node-port-range$)/,
  },
  {
    section: 'controllerManager',
    name: 'the controller manager',
    keys: /^(?:allocate-node-cidrs|attach-detach-|cluster-signing-|concurrent-|horizontal-pod-autoscaler-|node-cidr-mask-size|node-eviction-rate|node-monitor-|terminated-pod-gc-)/,
  },
  {
    section: 'kubelet',
    name: 'the kubelet',
    keys: /^(?:cgroup-driver|cluster-d(?:ns|omain)|eviction-|image-gc-|kube-reserved|max-pods|node-ip|node-labels|pods-per-core|register-with-taints|rotate-server-certificates|system-reserved)$/,
  },
]

/** Arguments that Kubernetes has removed before 1.30, and since when. */
const removedArguments: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  apiServer: {
    'basic-auth-file': '1.19',
    'insecure-bind-address': '1.24',
    'insecure-port': '1.24',
    'kubelet-https': '1.22',
  },
  controllerManager: {
    address: '1.24',
    'enable-taint-manager': '1.27',
    'pod-eviction-timeout': '1.27',
    port: '1.24',
  },
  scheduler: {
    address: '1.23',
    'algorithm-provider': '1.23',
    'policy-config-file': '1.23',
    port: '1.23',
  },
}
const components = [
  { section: 'apiServer', name: 'The API server' },
  { section: 'controllerManager', name: 'The controller manager' },
  { section: 'scheduler', name: 'The scheduler' },
] as const

/** Ports of Talos and Kubernetes on every server that a Service should not take. */
const ownPorts = [2379, 2380, 6443, 10_250, 50_000, 50_001]
const mostPort = 65_535

/** The first and last port of a range, or why it is none (Kubernetes `pkg/util/net/port_range.go`). */
function portsOf(text: string): { first: number; last: number } | string {
  const [, from, sign, to] = /^(\d+)(?:\s*([-+])\s*(\d+))?$/.exec(text.trim()) ?? []
  if (from === undefined) return 'is not a range of ports such as 30000-32767'
  const first = Number(from)
  const last = sign === undefined ? first : Number(to) + (sign === '+' ? first : 0)
  if (first > mostPort || last > mostPort) return `goes beyond port ${mostPort}`
  return last < first ? 'ends before it begins' : { first, last }
}

/** 36 for 1.36.3; null if unknown. */
export const clusterMinor = (version: string | undefined): number | null => {
  const found = /^v?1\.(\d+)/.exec(version ?? '')
  return found === null ? null : Number(found[1])
}

/** The minor of an image's tag, as a number: 36 for 1.36.3; null if the tag has none. */
export function minorOf({ main }: Configuration, path: readonly string[]): number | null {
  const image = main.text(...path)
  const [, tag = ''] = image.slice(image.lastIndexOf('/') + 1).split(':')
  return clusterMinor(tag)
}

const apiServerStops = 'With it the API server does not start'

export const componentNameRules: readonly RuntimeRule[] = [
  {
    id: 'node-port-range',
    source: 'Kubernetes staging/src/k8s.io/apimachinery/pkg/util/net/port_range.go, PortRange.Set',
    level: 'refuse',
    *find(config) {
      const path = [...ofApiServer, 'service-node-port-range']
      for (const text of partsOf(config, path)) {
        const ports = portsOf(text)
        if (typeof ports === 'string')
          yield {
            document: config.main,
            path,
            sentence: `The range of node ports ${quoted(text)} ${ports}. ${apiServerStops}`,
          }
      }
    },
  },
  {
    id: 'node-port-taken',
    source:
      'Kubernetes pkg/registry/core/service/portallocator/allocator.go takes any port of the range; ports of Talos pkg/machinery/constants',
    level: 'warn',
    *find(config) {
      const path = [...ofApiServer, 'service-node-port-range']
      for (const text of partsOf(config, path)) {
        const ports = portsOf(text)
        if (typeof ports === 'string') continue
        const inside = ownPorts.filter((port) => port >= ports.first && port <= ports.last)
        if (inside.length > 0)
          yield {
            document: config.main,
            path,
            sentence: `The range of node ports ${text} contains ports of Talos and Kubernetes themselves (${inside.join(', ')}): a Service that gets one cuts servers off`,
          }
      }
    },
  },
  {
    id: 'admission-plugin-removed',
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/server/options/admission.go, Validate: "is unknown", "overlapped"; Talos internal/app/machined/pkg/controllers/k8s/control_plane_static_pod.go enables NodeRestriction',
    level: 'refuse',
    *find(config) {
      const [on, off] = ['enable-admission-plugins', 'disable-admission-plugins'].map((key) => [
        ...ofApiServer,
        key,
      ]) as [string[], string[]]
      const { main: document } = config
      for (const path of [on, off])
        for (const name of partsOf(config, path))
          if (removedPlugins.includes(name))
            yield {
              document,
              path,
              sentence: `Kubernetes has no admission plugin ${name} any more. ${apiServerStops}`,
            }
      const enabled = new Set(['NodeRestriction', ...partsOf(config, on)])
      for (const name of partsOf(config, off))
        if (enabled.has(name))
          yield {
            document,
            path: off,
            sentence: `The admission plugin ${name} can't be disabled, because ${name === 'NodeRestriction' ? 'Talos enables it' : 'enable-admission-plugins enables it'}. ${apiServerStops}`,
          }
    },
  },
  {
    id: 'admission-plugin',
    source: 'Kubernetes pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins',
    level: 'warn',
    *find(config) {
      for (const key of ['enable-admission-plugins', 'disable-admission-plugins']) {
        const path = [...ofApiServer, key]
        for (const name of partsOf(config, path)) {
          if (plugins.includes(name) || removedPlugins.includes(name)) continue
          const near = nearestOf(name, plugins)
          yield {
            document: config.main,
            path,
            sentence: `${quoted(name)} is not known as an admission plugin${near === null ? '.' : `: did you mean ${near}?`} With an unknown one the API server does not start`,
          }
        }
      }
    },
  },
  {
    id: 'component-argument-elsewhere',
    source:
      'Kubernetes cmd/kube-apiserver/app/options, cmd/kube-controller-manager/app/options, cmd/kube-scheduler/app/options and their CHANGELOGs: an unknown flag ends the program',
    level: 'refuse',
    *find({ main }) {
      for (const { section, name } of components)
        for (const { path, key } of main.entries('cluster', section, 'extraArgs')) {
          const plain = key.replaceAll('_', '-')
          const since = removedArguments[section]?.[plain]
          const owner = owners.find((one) => one.section !== section && one.keys.test(plain))
          if (since !== undefined)
            yield {
              document: main,
              path,
              sentence: `Kubernetes ${since} has removed the argument ${key} of ${name.replace('The', 'the')}, which does not start with it`,
            }
          else if (owner !== undefined)
            yield {
              document: main,
              path,
              sentence: `${name} does not start with ${key}, which is an argument of ${owner.name}`,
            }
        }
    },
  },
  {
    id: 'version-skew',
    source:
      'https://kubernetes.io/releases/version-skew-policy/: no component is newer than the API server; kubelet and kube-proxy are at most three minors older, the others one',
    level: 'warn',
    *find(config) {
      const { main } = config
      // A worker's configuration has no API server.
      const server =
        minorOf(config, ['cluster', 'apiServer', 'image']) ?? clusterMinor(config.kubernetesVersion)
      if (server === null) return
      for (const { section, name, oldest } of [
        { section: ['machine', 'kubelet'], name: 'The kubelet', oldest: 3 },
        { section: ['cluster', 'proxy'], name: 'kube-proxy', oldest: 3 },
        { section: ['cluster', 'controllerManager'], name: 'The controller manager', oldest: 1 },
        { section: ['cluster', 'scheduler'], name: 'The scheduler', oldest: 1 },
      ]) {
        const path = [...section, 'image']
        const own = minorOf(config, path)
        if (own !== null && (own > server || own < server - oldest))
          yield {
            document: main,
            path,
            sentence: `${name} of Kubernetes 1.${own} does not belong to the API server of 1.${server}: it must not be newer, and at most ${oldest === 1 ? 'one minor' : 'three minors'} older. Upgrade Kubernetes as a whole`,
          }
      }
    },
  },
]

/** Values of Kubernetes's and etcd's components that they refuse when they start. */
import { textOf } from '../config/report.ts'
import { nearestOf } from '../config/nearest.ts'
import { lastOf } from './limits/values.ts'
import { quoted, type Configuration, type RuntimeRule } from './rule.ts'

const cluster = (section: string): readonly string[] => ['cluster', section]
const controlPlane = [
  { name: 'the API server', section: 'apiServer' },
  { name: 'the controller manager', section: 'controllerManager' },
  { name: 'the scheduler', section: 'scheduler' },
] as const

/** Kubernetes `apimachinery/pkg/api/resource/quantity.go`, the form of ParseQuantity. */
const quantity = /^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/

/** A whole number in an argument, which is a text; null for another text. */
function numberIn({ main }: Configuration, path: readonly string[]): number | null {
  const text = lastOf(main, path)
  return main.has(...path) && /^\d+$/.test(text) ? Number(text) : null
}

const words = (text: string): readonly string[] => text.split(/\s+/)

/**
 * Arguments that are mistyped in reports (Kubernetes `cmd/kube-*`, etcd `server/embed/config.go`).
 * The list isn't whole, so only a name close to one of them is told.
 */
const known = {
  apiServer: words(
    `admission-control-config-file advertise-address allow-privileged anonymous-auth api-audiences
    audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-path audit-policy-file
    audit-webhook-config-file authentication-token-webhook-config-file authorization-mode
    bind-address default-not-ready-toleration-seconds default-unreachable-toleration-seconds
    disable-admission-plugins enable-admission-plugins enable-aggregator-routing event-ttl
    feature-gates goaway-chance kubelet-preferred-address-types max-mutating-requests-inflight
    max-requests-inflight min-request-timeout oidc-ca-file oidc-client-id oidc-groups-claim
    oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs oidc-username-claim
    oidc-username-prefix profiling request-timeout runtime-config secure-port
    service-account-issuer service-account-jwks-uri service-account-max-token-expiration
    service-cluster-ip-range service-node-port-range shutdown-delay-duration tls-cipher-suites
    tls-min-version watch-cache-sizes`,
  ),
  controllerManager: words(
    `allocate-node-cidrs attach-detach-reconcile-sync-period bind-address cluster-cidr
    cluster-signing-duration concurrent-deployment-syncs concurrent-service-syncs controllers
    feature-gates horizontal-pod-autoscaler-sync-period kube-api-burst kube-api-qps leader-elect
    leader-elect-lease-duration node-cidr-mask-size node-cidr-mask-size-ipv4
    node-cidr-mask-size-ipv6 node-eviction-rate node-monitor-grace-period node-monitor-period
    profiling secondary-node-eviction-rate service-cluster-ip-range terminated-pod-gc-threshold
    tls-cipher-suites tls-min-version`,
  ),
  scheduler: words(
    `bind-address feature-gates kube-api-burst kube-api-qps leader-elect
    leader-elect-lease-duration profiling secure-port tls-cipher-suites tls-min-version`,
  ),
  proxy: words(
    `bind-address cluster-cidr conntrack-max-per-core conntrack-min config-sync-period
    feature-gates healthz-bind-address hostname-override ipvs-scheduler ipvs-strict-arp
    masquerade-all metrics-bind-address nodeport-addresses proxy-mode`,
  ),
  etcd: words(
    `auto-compaction-mode auto-compaction-retention advertise-client-urls
    backend-batch-interval backend-batch-limit cipher-suites election-timeout
    heartbeat-interval initial-advertise-peer-urls listen-metrics-urls log-level
    max-request-bytes max-snapshots max-txn-ops max-wals metrics quota-backend-bytes
    snapshot-count tls-min-version`,
  ),
} as const

export const componentValueRules: readonly RuntimeRule[] = [
  {
    id: 'component-argument-typed',
    source:
      'Kubernetes cmd/kube-apiserver, kube-controller-manager, kube-scheduler, kube-proxy and etcd server/embed/config.go: an unknown flag ends the program',
    level: 'warn',
    *find({ main }) {
      for (const [section, names] of Object.entries(known))
        for (const { path, key } of main.entries(...cluster(section), 'extraArgs')) {
          // Kubernetes takes _ for - (component-base cli/flag, WordSepNormalizeFunc).
          const plain = section === 'etcd' ? key : key.replaceAll('_', '-')
          const near = names.includes(plain) ? null : nearestOf(plain, names)
          if (near !== null && !/^-|[\s=]/.test(key))
            yield {
              document: main,
              path,
              sentence: `${key} is not known as an argument of ${section}: did you mean ${near}? With an unknown argument it does not start`,
            }
        }
    },
  },
  {
    id: 'component-resources',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/control_plane_static_pod.go, resources: ParseQuantity fails, and the static pod is not written',
    level: 'refuse',
    *find({ main }) {
      for (const { name, section } of controlPlane)
        for (const kind of ['requests', 'limits'])
          for (const { path, key, node } of main.entries(...cluster(section), 'resources', kind)) {
            const text = textOf(node)
            if (text !== '' && !quantity.test(text))
              yield {
                document: main,
                path,
                sentence: `${quoted(text)} is no amount of ${key}, such as ${key === 'cpu' ? '500m' : '512Mi'}, so ${name} does not start`,
              }
          }
    },
  },
  {
    id: 'proxy-mode',
    source:
      'Kubernetes pkg/proxy/apis/config/validation/validation.go, validateProxyModeLinux: iptables, ipvs or nftables',
    level: 'refuse',
    *find({ main }) {
      const path = [...cluster('proxy'), 'mode']
      const mode = main.text(...path)
      if (mode !== '' && !['iptables', 'ipvs', 'nftables'].includes(mode))
        yield {
          document: main,
          path,
          sentence: `kube-proxy has no mode ${quoted(mode)} and does not start with it: iptables, ipvs or nftables`,
        }
    },
  },
  {
    id: 'etcd-timing',
    source: 'etcd server/embed/config.go, Validate: five heartbeats in an election timeout',
    level: 'refuse',
    *find(config) {
      const path = (name: string) => [...cluster('etcd'), 'extraArgs', name]
      const heartbeat = numberIn(config, path('heartbeat-interval')) ?? 100
      const election = numberIn(config, path('election-timeout')) ?? 1000
      const named = config.main.has(...path('election-timeout'))
        ? path('election-timeout')
        : path('heartbeat-interval')
      if (5 * heartbeat > election)
        yield {
          document: config.main,
          path: named,
          sentence: `etcd does not start: election-timeout (${election} ms) must be at least five times heartbeat-interval (${heartbeat} ms)`,
        }
      else if (election > 50_000)
        yield {
          document: config.main,
          path: named,
          sentence: `etcd does not start: election-timeout (${election} ms) must be at most 50000 ms`,
        }
    },
  },
  {
    id: 'admission-version',
    source:
      'Kubernetes staging/src/k8s.io/pod-security-admission/admission/api/load/load.go: the scheme has v1, v1beta1 and v1alpha1 of pod-security.admission.config.k8s.io',
    level: 'refuse',
    *find({ main }) {
      for (const { path } of main.items(...cluster('apiServer'), 'admissionControl')) {
        if (main.text(...path, 'name') !== 'PodSecurity') continue
        const at = [...path, 'configuration']
        const version = main.text(...at, 'apiVersion')
        const kind = main.text(...at, 'kind')
        if (
          version !== '' &&
          !/^pod-security\.admission\.config\.k8s\.io\/v1(beta1|alpha1)?$/.test(version)
        )
          yield {
            document: main,
            path: [...at, 'apiVersion'],
            sentence: `PodSecurity has no version ${quoted(version)}: write pod-security.admission.config.k8s.io/v1, or the API server does not start`,
          }
        if (kind !== '' && kind !== 'PodSecurityConfiguration')
          yield {
            document: main,
            path: [...at, 'kind'],
            sentence: `The kind ${quoted(kind)} is not PodSecurityConfiguration, so the API server does not start`,
          }
      }
    },
  },
  {
    id: 'custom-network-plugin',
    source:
      'Talos pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go, ValidateCNI: a warning',
    level: 'warn',
    *find({ main }) {
      const path = ['cluster', 'network', 'cni']
      if (main.text(...path, 'name') === 'custom' && main.items(...path, 'urls').length === 0)
        yield {
          document: main,
          path: [...path, 'name'],
          sentence:
            'The network plugin custom has no URLs, so nothing installs one, and nodes stay NotReady',
        }
    },
  },
]

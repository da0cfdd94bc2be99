/** Limits of the API server, the controller manager, the scheduler and etcd. */
import { durationMs } from '../../config/formats.ts'
import { type Report, textOf } from '../../config/report.ts'
import { prefixOf } from '../../network-effect/addresses.ts'
import { type Configuration, type Hit, quoted, type RuntimeRule } from '../rule.ts'
import { cipherSuites } from './values.ts'

const argument = (section: string, name: string): string[] => [
  'cluster',
  section,
  'extraArgs',
  name,
]
const names: Readonly<Record<string, string>> = {
  apiServer: 'the API server',
  controllerManager: 'the controller manager',
  scheduler: 'the scheduler',
}

/** The text of an argument; a list is joined by commas. */
function valueOf(main: Report, section: string, name: string): string | undefined {
  const path = argument(section, name)
  if (!main.has(...path)) return undefined
  const texts = main.texts(...path).map(({ text }) => text)
  return texts.length > 0 ? texts.join(',') : textOf(main.nearest(path))
}

const hour = 3_600_000
/** What is wrong with the value of an argument of the API server, or null. */
const apiServerLimits: Readonly<Record<string, (text: string) => string | null>> = {
  'goaway-chance': (text) =>
    Number(text) >= 0 && Number(text) <= 0.02 ? null : 'is from 0 to 0.02',
  'service-account-max-token-expiration': (text) => {
    const span = durationMs(text) ?? hour
    return span === 0 || (span >= hour && span <= 2 ** 32 * 1000) ? null : 'is at least 1h'
  },
  ...Object.fromEntries(
    ['max-requests-inflight', 'max-mutating-requests-inflight', 'min-request-timeout'].map(
      (name) => [name, (text: string) => (Number(text) < 0 ? 'can’t be negative' : null)],
    ),
  ),
}

/** Times of the election of a leader in ms, with client-go's defaults. */
function* electionProblems(main: Report, section: string): Generator<Hit> {
  if (/^(0|f|false)$/i.test(valueOf(main, section, 'leader-elect') ?? '')) return
  const time = (name: string, otherwise: number): number =>
    durationMs(valueOf(main, section, `leader-elect-${name}`) ?? '') ?? otherwise
  const lease = time('lease-duration', 15_000)
  const renew = time('renew-deadline', 10_000)
  const retry = time('retry-period', 2000)
  const problem =
    lease <= renew
      ? `leader-elect-lease-duration (${lease / 1000} s) must be longer than leader-elect-renew-deadline (${renew / 1000} s)`
      : renew <= 1.2 * retry
        ? `leader-elect-renew-deadline (${renew / 1000} s) must be longer than 1.2 times leader-elect-retry-period (${retry / 1000} s)`
        : null
  if (problem === null) return
  const set = ['lease-duration', 'renew-deadline', 'retry-period'].find((name) =>
    main.has(...argument(section, `leader-elect-${name}`)),
  )
  yield {
    document: main,
    path: argument(section, `leader-elect-${set ?? 'lease-duration'}`),
    sentence: `${problem}, or ${names[section]} does not start`,
  }
}

/** A network in one spelling of several. */
function networkOf(text: string): string {
  const prefix = prefixOf(text.trim())
  return prefix === undefined ? text.trim() : `${prefix.family} ${prefix.value}/${prefix.length}`
}

/** Whether the argument has all chosen networks, as one of two families beside another, or some. */
function sameNetworks(text: string, networks: readonly string[]): boolean {
  const given = text.split(',').map(networkOf)
  const chosen = networks.map(networkOf)
  return given.every((one) => chosen.includes(one)) || chosen.every((one) => given.includes(one))
}

/**
 * Arguments in place of what is chosen with the cluster: its networks, the port of its API, its
 * etcd members.
 */
function* clusterArguments({ main, isWorker }: Configuration): Generator<Hit> {
  if (isWorker) return
  const networks = (key: string): string[] =>
    main.texts('cluster', 'network', key).map(({ text }) => text)
  for (const [section, name, key] of [
    ['apiServer', 'service-cluster-ip-range', 'serviceSubnets'],
    ['controllerManager', 'service-cluster-ip-range', 'serviceSubnets'],
    ['controllerManager', 'cluster-cidr', 'podSubnets'],
  ] as const) {
    const text = valueOf(main, section, name)
    if (text !== undefined && networks(key).length > 0 && !sameNetworks(text, networks(key)))
      yield {
        document: main,
        path: argument(section, name),
        sentence: `${name} ${text} is not the ${key === 'podSubnets' ? 'pod' : 'service'} network ${networks(key).join(', ')} that is chosen with the cluster: its DNS, certificates and nodes keep the old one`,
      }
  }
  const port = valueOf(main, 'apiServer', 'secure-port')
  const own = String(main.number('cluster', 'controlPlane', 'localAPIServerPort') ?? 6443)
  if (port !== undefined && port !== own)
    yield {
      document: main,
      path: argument('apiServer', 'secure-port'),
      sentence: `With secure-port ${port} nobody finds the API server: the endpoint, KubePrism and Steelyard use ${own}`,
    }
  const bind = valueOf(main, 'apiServer', 'bind-address')
  if (bind !== undefined && /^(127\.|::1$)/.test(bind))
    yield {
      document: main,
      path: argument('apiServer', 'bind-address'),
      sentence: `With bind-address ${bind} no other server reaches the API server`,
    }
  for (const name of ['initial-cluster', 'initial-cluster-state', 'initial-cluster-token'])
    if (main.has(...argument('etcd', name)))
      yield {
        document: main,
        path: argument('etcd', name),
        sentence: `${name} decides which etcd a control plane joins, which Talos does otherwise: members may form clusters of their own or not start. Take it out after a recovery`,
      }
  for (const [name, so] of [
    [
      'force-new-cluster',
      'etcd forgets all other members at each start: take it out after a recovery',
    ],
    ['unsafe-no-fsync', 'etcd loses what it has acknowledged when the power fails'],
  ] as const)
    if (/^(1|t|true)$/i.test(valueOf(main, 'etcd', name) ?? ''))
      yield { document: main, path: argument('etcd', name), sentence: `With ${name}, ${so}` }
}

/**
 * Arguments of etcd 3.6 whose successors Talos 1.14 sets itself: feature gates (etcd
 * `server/features/etcd_features.go`, ExperimentalFlagToFeatureMap), and the interval of progress
 * notifications.
 */
const successorsOfTalos = new Set(
  [
    'stop-grpc-service-on-defrag',
    'initial-corrupt-check',
    'compact-hash-check-enabled',
    'txn-mode-write-with-shared-buffer',
    'enable-lease-checkpoint',
    'enable-lease-checkpoint-persist',
    'watch-progress-notify-interval',
  ].map((name) => `experimental-${name}`),
)
/** Arguments of etcd that 3.6 no longer has. */
const removedFromEtcd = /^(enable-v2|experimental-enable-v2v3|proxy(-.+)?)$/

/** Whether etcd is older than 3.6 or 3.7, because the configuration names its image. */
function isOlderEtcd(main: Report, minor: 6 | 7): boolean {
  const image = /:v?3\.(\d+)\.[^/]*$/.exec(main.text('cluster', 'etcd', 'image'))
  return image !== null && Number(image[1]) < minor
}

export const componentLimitRules: readonly RuntimeRule[] = [
  {
    id: 'component-argument-limit',
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/server/options/server_run_options.go, Validate; pkg/kubeapiserver/options/authentication.go; component-base cli/flag/ciphersuites_flag.go',
    level: 'refuse',
    *find({ main }) {
      for (const [name, check] of Object.entries(apiServerLimits)) {
        const text = valueOf(main, 'apiServer', name)
        const problem = text === undefined ? null : check(text)
        if (problem !== null)
          yield {
            document: main,
            path: argument('apiServer', name),
            sentence: `${name} ${problem}, not ${quoted(text!)}, or the API server does not start`,
          }
      }
      for (const [section, component] of Object.entries(names))
        for (const suite of (valueOf(main, section, 'tls-cipher-suites') ?? '').split(',')) {
          if (suite.trim() === '' || cipherSuites.has(suite.trim())) continue
          yield {
            document: main,
            path: argument(section, 'tls-cipher-suites'),
            sentence: `${quoted(suite.trim())} is no cipher suite such as TLS_AES_128_GCM_SHA256, so ${component} does not start`,
          }
        }
      const found = main
        .entries('cluster', 'apiServer', 'extraArgs')
        .find(({ key }) => key.startsWith('oidc-'))
      const missing = ['oidc-issuer-url', 'oidc-client-id'].find(
        (name) => !main.has(...argument('apiServer', name)),
      )
      // With a file of authenticators another rule refuses the flags.
      const isAlone = !main.has(...argument('apiServer', 'authentication-config'))
      if (found !== undefined && missing !== undefined && isAlone)
        yield {
          document: main,
          path: found.path,
          sentence: `${found.key} needs ${missing} beside it, or the API server does not start`,
        }
    },
  },
  {
    id: 'leader-election',
    source:
      'Kubernetes staging/src/k8s.io/client-go/tools/leaderelection/leaderelection.go, NewLeaderElector; component-base config/validation',
    level: 'refuse',
    *find({ main }) {
      for (const section of ['controllerManager', 'scheduler'])
        yield* electionProblems(main, section)
    },
  },
  {
    id: 'argument-of-cluster',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/control_plane_static_pod.go and system/services/etcd.go: these arguments replace what follows from the cluster, and Talos allows them; people recover etcd with them (siderolabs/talos#4179); etcd server/embed/config.go',
    level: 'warn',
    find: clusterArguments,
  },
  {
    id: 'etcd-argument-removed',
    source:
      'etcd docs, "Upgrade etcd from 3.5 to 3.6": the flags of v2 and of its proxy are removed',
    level: 'refuse',
    *find({ main }) {
      if (isOlderEtcd(main, 6)) return
      for (const { path, key } of main.entries('cluster', 'etcd', 'extraArgs'))
        if (removedFromEtcd.test(key))
          yield {
            document: main,
            path,
            sentence: `etcd has no argument ${key} any more, and does not start with it`,
          }
    },
  },
  {
    id: 'etcd-argument-experimental',
    minors: ['1.14'],
    source:
      'etcd 3.7 server/embed/config.go, AddFlags: no flag begins with experimental- (3.6 has their successors)',
    level: 'refuse',
    *find({ main }) {
      if (isOlderEtcd(main, 7)) return
      for (const { path, key } of main.entries('cluster', 'etcd', 'extraArgs'))
        if (key.startsWith('experimental-'))
          yield {
            document: main,
            path,
            sentence: `etcd 3.7 has no argument ${key}, and does not start with it: ${successorsOfTalos.has(key) ? 'take it out, because its successor belongs to Talos' : 'write it without experimental-'}`,
          }
    },
  },
  {
    id: 'network-of-nodes-off',
    source:
      'Flannel Documentation/kubernetes.md: "node pod cidr not assigned"; Kubernetes pkg/apis/core/validation: a privileged container needs --allow-privileged',
    level: 'warn',
    *find(config) {
      const { main, isWorker } = config
      if (isWorker) return
      const isOff = (section: string, name: string): boolean =>
        /^(0|f|false)$/i.test(valueOf(main, section, name) ?? '')
      if (config.hasFlannel && isOff('controllerManager', 'allocate-node-cidrs'))
        yield {
          document: main,
          path: argument('controllerManager', 'allocate-node-cidrs'),
          sentence:
            'Without allocate-node-cidrs Flannel gets no networks for nodes, and their pods no addresses',
        }
      if (isOff('apiServer', 'allow-privileged'))
        yield {
          document: main,
          path: argument('apiServer', 'allow-privileged'),
          sentence:
            'Without allow-privileged no privileged pod starts, such as those of kube-proxy and of most network plugins',
        }
      if (isOff('apiServer', 'enable-bootstrap-token-auth'))
        yield {
          document: main,
          path: argument('apiServer', 'enable-bootstrap-token-auth'),
          sentence:
            'Without enable-bootstrap-token-auth no server joins the cluster: kubelets get their first certificate by a bootstrap token',
        }
    },
  },
  {
    id: 'part-of-control-plane-off',
    source:
      'Talos pkg/machinery/config/types/v1alpha1/v1alpha1_types.go, machine.controlPlane, and types/k8s/scheduler.go, enabled: "assuming it runs on other controlplane node"',
    level: 'warn',
    *find(config) {
      if (config.isWorker) return
      for (const [section, kind, does] of [
        ['scheduler', 'KubeSchedulerConfig', 'no pod gets a node'],
        [
          'controllerManager',
          'KubeControllerManagerConfig',
          'no node gets addresses for pods, and nothing is replaced',
        ],
      ] as const) {
        const path = ['machine', 'controlPlane', section, 'disabled']
        const document = config.of(kind).find((one) => one.has('enabled') && !one.flag('enabled'))
        if (document !== undefined || config.mainAlone.flag(...path))
          yield {
            document: document ?? config.main,
            path: document === undefined ? path : ['enabled'],
            sentence: `This server runs no ${section === 'scheduler' ? 'scheduler' : 'controller manager'}: unless another control plane runs one, ${does}`,
          }
      }
    },
  },
]

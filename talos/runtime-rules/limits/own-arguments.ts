/** Arguments of components that Talos sets and lets nobody else set. */
import { type Configuration, type Hit, quoted, type RuntimeRule } from '../rule.ts'

interface Owned {
  readonly name: string
  readonly section: readonly string[]
  /** Kind of the document in which alone Talos owns them; everywhere if left out. */
  readonly document?: string
  readonly source: string
  readonly keys: ReadonlySet<string>
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))
const cluster = (section: string): readonly string[] => ['cluster', section]

/** Of every version. */
const owned: readonly Owned[] = [
  {
    name: 'the kubelet',
    section: ['machine', 'kubelet'],
    source: 'kubelet_spec.go',
    keys: words(
      'bootstrap-kubeconfig kubeconfig container-runtime container-runtime-endpoint config cert-dir',
    ),
  },
  {
    name: 'the API server',
    section: cluster('apiServer'),
    source: 'control_plane_static_pod.go',
    keys: words(
      'etcd-servers client-ca-file requestheader-client-ca-file proxy-client-cert-file proxy-client-key-file ' +
        'encryption-provider-config etcd-cafile etcd-certfile etcd-keyfile kubelet-client-certificate ' +
        'kubelet-client-key service-account-key-file service-account-signing-key-file tls-cert-file ' +
        'tls-private-key-file authorization-config',
    ),
  },
  {
    name: 'the controller manager',
    section: cluster('controllerManager'),
    source: 'control_plane_static_pod.go',
    keys: words(
      'cluster-signing-cert-file cluster-signing-key-file authentication-kubeconfig ' +
        'authorization-kubeconfig root-ca-file service-account-private-key-file',
    ),
  },
  {
    name: 'the scheduler',
    section: cluster('scheduler'),
    source: 'control_plane_static_pod.go',
    keys: words('kubeconfig authentication-kubeconfig authorization-kubeconfig config'),
  },
  {
    name: 'kube-proxy',
    section: cluster('proxy'),
    source: 'control_plane.go',
    keys: words('kubeconfig'),
  },
  {
    name: 'etcd',
    section: cluster('etcd'),
    source: 'services/etcd.go',
    keys: words(
      'name auto-tls peer-auto-tls data-dir listen-peer-urls listen-client-urls client-cert-auth ' +
        'cert-file key-file trusted-ca-file peer-client-cert-auth peer-cert-file peer-key-file ' +
        'peer-trusted-ca-file',
    ),
  },
]

/** Of 1.12 and 1.13; the etcd of 1.14 doesn't know them. */
const ownedBefore114: readonly Owned[] = [
  {
    name: 'etcd',
    section: cluster('etcd'),
    source: 'services/etcd.go',
    keys: words(
      'experimental-initial-corrupt-check experimental-watch-progress-notify-interval ' +
        'experimental-compact-hash-check-enabled',
    ),
  },
]

/** Since 1.14, of which the versions before let anybody set them. */
const ownedSince114: readonly Owned[] = [
  {
    name: 'the API server',
    section: cluster('apiServer'),
    source: 'control_plane_final.go',
    keys: words('tls-min-version'),
  },
  {
    name: 'kube-proxy',
    section: cluster('proxy'),
    // UseConfigFile is true for the document only.
    document: 'KubeProxyConfig',
    source: 'control_plane.go',
    keys: words('config'),
  },
  {
    name: 'etcd',
    section: cluster('etcd'),
    source: 'services/etcd.go',
    keys: words(
      'listen-client-http-urls feature-gates watch-progress-notify-interval tls-min-version',
    ),
  },
]

function* foreign(
  config: Configuration,
  table: readonly Owned[],
  since: string | null,
): Generator<Hit> {
  const { main } = config
  for (const { name, section, document, keys } of table) {
    if (document !== undefined && config.of(document).length === 0) continue
    // Workers run none of the components of the cluster's sections.
    if (config.isWorker && section[0] === 'cluster') continue
    for (const { path, key } of main.entries(...section, 'extraArgs'))
      if (keys.has(key))
        yield {
          document: main,
          path,
          sentence:
            since === null
              ? `The argument ${key} of ${name} belongs to Talos, which does not start ${name} with another one`
              : `The argument ${key} of ${name} belongs to Talos since ${since}, which does not start ${name} with another one: ${document === undefined ? 'take it out' : `write config of ${document} instead`}`,
        }
  }
}

const sourceOf = (table: readonly Owned[], version: string): string =>
  `Talos internal/app/machined/pkg/controllers/k8s and system/services (${version}): MergeDenied, WithDenyList (${[...new Set(table.map((one) => one.source))].join(', ')}); pkg/argsbuilder, Merge: an error, whatever the value`

export const ownArgumentRules: readonly RuntimeRule[] = [
  {
    id: 'component-argument',
    source: sourceOf(owned, 'v1.13.9'),
    level: 'refuse',
    *find(config) {
      yield* foreign(config, owned, null)
      for (const { name, section } of owned)
        for (const { path, key } of config.main.entries(...section, 'extraArgs'))
          if (key.startsWith('-') || /[\s=]/.test(key))
            yield {
              document: config.main,
              path,
              sentence: `The argument ${quoted(key)} of ${name} is written without dashes, spaces and =: ${key.replace(/^-+/, '').split(/[\s=]/, 1)[0]}`,
            }
    },
  },
  {
    id: 'etcd-argument-of-talos',
    minors: ['1.12', '1.13'],
    source: sourceOf(ownedBefore114, 'v1.13.9'),
    level: 'refuse',
    find: (config) => foreign(config, ownedBefore114, null),
  },
  {
    id: 'component-argument-since-1.14',
    minors: ['1.14'],
    source: sourceOf(ownedSince114, 'v1.14.0-rc.1'),
    level: 'refuse',
    find: (config) => foreign(config, ownedSince114, '1.14'),
  },
]

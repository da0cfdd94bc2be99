/**
 * The configurations that Talos only passes on to Kubernetes's programs: their fields and the types
 * of these, as Kubernetes's minor has them.
 */
import type { MapNode, TreeNode } from '../../config/tree.ts'
import { typeProblems } from '../../kubernetes/judge.ts'
import { minorOfTypes, oldestTypes, typeOfKind, versionsOfKind } from '../../kubernetes/types.ts'
import { clusterMinor, minorOf } from '../component-names.ts'
import { type Configuration, type Hit, quoted, type RuntimeRule } from '../rule.ts'

const kubelet = {
  image: ['machine', 'kubelet', 'image'],
  stops: 'the kubelet does not start',
  onWorkers: true,
} as const
const apiServer = {
  image: ['cluster', 'apiServer', 'image'],
  stops: 'the API server does not start',
}

/** Where Talos takes a configuration of a program. */
interface Place {
  readonly kind: string
  /** "The audit policy": the subject of the sentences. */
  readonly name: string
  readonly program: {
    readonly image: readonly string[]
    readonly stops: string
    readonly onWorkers?: true
  }
  readonly at: (config: Configuration) => readonly (readonly string[])[]
  /**
   * What Talos writes into `apiVersion` and `kind`: `own` its own version, `as_given` what the user
   * wrote, and `filled` its own if the user wrote nothing.
   */
  readonly header: 'own' | 'as_given' | 'filled'
}

const places: readonly Place[] = [
  {
    kind: 'KubeletConfiguration',
    name: 'The kubelet’s configuration',
    program: kubelet,
    at: () => [['machine', 'kubelet', 'extraConfig']],
    header: 'own',
  },
  {
    kind: 'CredentialProviderConfig',
    name: 'The configuration of credential providers',
    program: kubelet,
    at: () => [['machine', 'kubelet', 'credentialProviderConfig']],
    header: 'as_given',
  },
  {
    kind: 'Policy',
    name: 'The audit policy',
    program: apiServer,
    at: () => [['cluster', 'apiServer', 'auditPolicy']],
    header: 'filled',
  },
  {
    kind: 'PodSecurityConfiguration',
    name: 'The configuration of PodSecurity',
    program: apiServer,
    at: ({ main }) =>
      main
        .items('cluster', 'apiServer', 'admissionControl')
        .filter(({ path }) => main.text(...path, 'name') === 'PodSecurity')
        .map(({ path }) => [...path, 'configuration']),
    header: 'as_given',
  },
  {
    kind: 'KubeSchedulerConfiguration',
    name: 'The scheduler’s configuration',
    program: {
      image: ['cluster', 'scheduler', 'image'],
      stops: 'the scheduler does not start',
    },
    at: () => [['cluster', 'scheduler', 'config']],
    header: 'filled',
  },
]

/** Documents of Talos 1.14 that have no older form. */
const documentPlaces: readonly (Omit<Place, 'at'> & {
  readonly document: string
  readonly field: string
})[] = [
  {
    document: 'KubeAuthenticationConfig',
    field: 'configuration',
    kind: 'AuthenticationConfiguration',
    name: 'The configuration of authentication',
    program: apiServer,
    header: 'filled',
  },
  {
    document: 'KubeEtcdEncryptionConfig',
    field: 'config',
    kind: 'EncryptionConfiguration',
    name: 'The configuration of encryption',
    program: apiServer,
    header: 'filled',
  },
  {
    document: 'KubeProxyConfig',
    field: 'config',
    kind: 'KubeProxyConfiguration',
    name: 'The configuration of kube-proxy',
    program: { image: ['cluster', 'proxy', 'image'], stops: 'kube-proxy does not start' },
    header: 'own',
  },
]

/** A configuration of a program, where it stands, and the minor of the program. */
interface Found extends Omit<Place, 'at'> {
  readonly document: Hit['document']
  readonly path: readonly string[]
  readonly node: MapNode
  readonly minor: number | null
}

function* configurations(config: Configuration): Generator<Found> {
  const minorBy = (image: readonly string[]): number | null =>
    minorOf(config, image) ?? clusterMinor(config.kubernetesVersion)
  const found = (place: Omit<Place, 'at'>, document: Hit['document'], path: readonly string[]) => {
    const node: TreeNode = document.nearest(path)
    const runs = place.program.onWorkers || !config.isWorker
    return runs && document.has(...path) && node.is === 'map'
      ? [{ ...place, document, path, node, minor: minorBy(place.program.image) }]
      : []
  }
  for (const { at, ...place } of places)
    for (const path of at(config)) yield* found(place, config.main, path)
  for (const { document, field, ...place } of documentPlaces)
    for (const report of config.of(document)) yield* found(place, report, [field])
}

/** The version and the kind in the text, as far as the program reads them. */
function* headerProblems({
  document,
  path,
  kind,
  name,
  header,
  program: { stops },
  minor,
}: Found): Generator<Hit> {
  if (header === 'own') return
  const known = versionsOfKind(kind, minorOfTypes(minor))
  const texts = { apiVersion: known, kind: [kind] }
  for (const [field, allowed] of Object.entries(texts)) {
    const text = document.text(...path, field)
    if (text === '' ? header === 'filled' : allowed.includes(text)) continue
    const want = `write ${field}: ${allowed.at(-1)}`
    yield {
      document,
      path: text === '' ? path : [...path, field],
      sentence:
        text === ''
          ? `${name} needs ${field}, which Talos does not add, and without it ${stops}: ${want}`
          : `${name} has no ${field} ${quoted(text)}, so ${stops}: ${want}`,
    }
  }
}

function* fieldProblems(found: Found): Generator<Hit> {
  const { document, path, node, kind, name, program } = found
  const minor = minorOfTypes(found.minor)
  const versions = versionsOfKind(kind, minor)
  const given = document.text(...path, 'apiVersion')
  const type = typeOfKind(kind, versions.includes(given) ? given : versions.at(-1)!, minor)
  if (type === undefined) return
  for (const { path: at, field, problem } of typeProblems(node, type, minor, path))
    yield {
      document,
      path: at,
      sentence:
        'unknown' in problem
          ? `${name} has no field ${field}, and with an unknown one ${program.stops}${problem.unknown}`
          : `The field ${field} of ${name.replace(/^T/, 't')} must be ${problem.takes}; otherwise ${program.stops}`,
    }
}

function* problemsOf(config: Configuration, isOlder: boolean): Generator<Hit> {
  for (const found of configurations(config))
    if ((found.minor !== null && found.minor < oldestTypes) === isOlder) {
      yield* headerProblems(found)
      yield* fieldProblems(found)
    }
}

const source =
  'Kubernetes: the programs read their configurations strictly, and refuse unknown fields and other types (pkg/kubelet/kubeletconfig, pkg/scheduler/apis/config/scheme, apiserver pkg/apis/apiserver/load, pkg/audit/policy/reader.go, pkg/credentialprovider/plugin/config.go); Talos internal/app/machined/pkg/controllers/k8s: kubelet_spec.go, kubelet_service.go, render_config_static_pods.go and control_plane.go'

export const kubernetesConfigRules: readonly RuntimeRule[] = [
  {
    id: 'kubernetes-config',
    source,
    level: 'refuse',
    *find(config) {
      yield* problemsOf(config, false)
    },
  },
  {
    id: 'kubernetes-config-older',
    source: `${source}; the types of minors before 1.${oldestTypes} aren't known, so those of 1.${oldestTypes} are taken`,
    level: 'warn',
    *find(config) {
      yield* problemsOf(config, true)
    },
  },
]

/** The API server's lists and policies, labels and taints of nodes, manifests. */
import { isDnsName } from '../config/formats.ts'
import { type Report, textOf } from '../config/report.ts'
import {
  at,
  ConfigError,
  type MapNode,
  readDocuments,
  textAt,
  TooMuch,
  type TreeNode,
} from '../config/tree.ts'
import { isSubdomain } from './kubernetes/values.ts'
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'

const apiServer = ['cluster', 'apiServer'] as const
const podSecuritySource =
  'Kubernetes staging/src/k8s.io/pod-security-admission/admission/api/validation/validation.go'
const isDown = 'the API server does not start'

/** The configurations of PodSecurity. */
const podSecurity = ({ main }: Configuration): string[][] =>
  main
    .items(...apiServer, 'admissionControl')
    .filter(({ path }) => main.text(...path, 'name') === 'PodSecurity')
    .map(({ path }) => [...path, 'configuration'])

/** The texts of a list that stand in it before, with the place of the first. */
function* repeated(document: Report, path: readonly string[]) {
  const first = new Map<string, TreeNode>()
  for (const { path: where, text } of document.texts(...path)) {
    const node = document.nearest(where)
    const other = first.get(text)
    if (other === undefined) first.set(text, node)
    else yield { path: where, text, isOfAnotherLayer: other.source !== node.source }
  }
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

const isLabelOfKubernetes = (namespace: string): boolean =>
  /(^|\.)(kubernetes|k8s)\.io$/.test(namespace)
/** Labels that a kubelet may set on its own node. */
const labelsOfKubelets = words(
  'kubernetes.io/hostname topology.kubernetes.io/zone topology.kubernetes.io/region ' +
    'failure-domain.beta.kubernetes.io/zone failure-domain.beta.kubernetes.io/region ' +
    'beta.kubernetes.io/instance-type node.kubernetes.io/instance-type kubernetes.io/os ' +
    'kubernetes.io/arch beta.kubernetes.io/os beta.kubernetes.io/arch',
)

/** Whether NodeRestriction lets a kubelet set the label on its own node. */
function mayKubeletSet(label: string): boolean {
  const namespace = label.includes('/') ? label.split('/', 1)[0]! : ''
  if (/(^|\.)node-restriction\.kubernetes\.io$/.test(namespace)) return false
  return (
    !isLabelOfKubernetes(namespace) ||
    labelsOfKubelets.has(label) ||
    /(^|\.)(kubelet|node)\.kubernetes\.io$/.test(namespace)
  )
}

/** Labels in the kubelet's argument `node-labels`, which is a text or a list of texts. */
function kubeletLabels(node: TreeNode): string[] {
  const texts = node.is === 'list' ? node.items.map(textOf) : [textOf(node)]
  return texts
    .flatMap((text) => text.split(','))
    .map((pair) => pair.split('=', 1)[0]!.trim())
    .filter((label) => label !== '')
}

/** What our reader refuses although Talos's reader of manifests (Kubernetes's YAML) takes it. */
const takenByTalos = / not allowed$|^Anchors \(&\), aliases|^The key .* is there twice$/

/** Why Kubernetes refuses labels or annotations of an object, or null. */
function pairsProblem(node: TreeNode | undefined): string | null {
  if (node === undefined || (node.is === 'scalar' && node.value === null)) return null
  if (node.is !== 'map') return 'are no mapping such as team: a'
  for (const [key, { value }] of node.entries)
    if (value.is !== 'scalar' || (value.value !== null && typeof value.value !== 'string'))
      return `have no text at ${key}: write it with quotes`
  return null
}

/** The first problem of a manifest's text as Talos reads it, or null. */
function manifestProblem(text: string): string | null {
  if (text.trim() === '') return 'is empty'
  let roots: MapNode[]
  try {
    roots = readDocuments(text, '')
  } catch (error) {
    // A text that is too large or too deep for our reader isn't judged.
    if (error instanceof TooMuch || !(error instanceof ConfigError)) return null
    const problem = error.problems.find(({ message }) => !takenByTalos.test(message))
    return problem === undefined
      ? null
      : `is refused in its line ${problem.line ?? 1}: ${problem.message}`
  }
  for (const root of roots) {
    if (root.entries.size === 0) continue
    const kind = textAt(root, 'kind') ?? ''
    for (const key of ['kind', 'apiVersion'])
      if ((textAt(root, key) ?? '') === '') return `has an object without ${key}`
    const name = textAt(root, 'metadata', 'name') ?? ''
    if (/\{\{|\$\{/.test(name)) return `has the template ${name} in it, and must be rendered first`
    if (!kind.endsWith('List') && name === '')
      return `has an object without metadata.name (${kind})`
    for (const key of ['labels', 'annotations']) {
      const problem = pairsProblem(at(root, 'metadata', key))
      if (problem !== null) return `has ${key} of ${kind} ${name} that ${problem}`
    }
  }
  return null
}

/** The address of the file that a page of GitHub, Gist or GitLab shows; null for other pages. */
function fileOfPage(text: string): string | null {
  const github = /^https?:\/\/github\.com\/([^/]+\/[^/]+)\/(?:blob|tree)\/(.+)$/.exec(text)
  if (github) return `https://raw.githubusercontent.com/${github[1]}/${github[2]}`
  const gist = /^https?:\/\/gist\.github\.com\/([^/]+\/[0-9a-f]+)$/.exec(text)
  if (gist) return `https://gist.githubusercontent.com/${gist[1]}/raw`
  return /^https?:\/\/[^/]+\/.+\/-\/blob\//.test(text) ? text.replace('/-/blob/', '/-/raw/') : null
}

const levels = ['privileged', 'baseline', 'restricted']

export const kubernetesRules: readonly RuntimeRule[] = [
  {
    id: 'pod-security-unique',
    source: `${podSecuritySource}: field.Duplicate; Talos appends lists of a patch (pkg/machinery/config/merge/merge.go)`,
    level: 'refuse',
    *find(config) {
      for (const path of podSecurity(config))
        for (const list of ['namespaces', 'runtimeClasses', 'usernames'])
          for (const one of repeated(config.main, [...path, 'exemptions', list]))
            yield {
              document: config.main,
              path: one.path,
              sentence: one.isOfAnotherLayer
                ? `${one.text} is exempt from PodSecurity already: leave it out. A patch adds to the list exemptions.${list}, and with the same value twice ${isDown}`
                : `${one.text} is in exemptions.${list} twice: leave one out. With both ${isDown}`,
            }
    },
  },
  {
    id: 'pod-security-exemption',
    source: `${podSecuritySource}: validateNamespaces, validateRuntimeClasses, validateUsernames`,
    level: 'refuse',
    *find(config) {
      const isName = {
        namespaces: (text: string) => isSubdomain(text) && !text.includes('.') && text.length <= 63,
        runtimeClasses: isSubdomain,
        usernames: (text: string) => text !== '',
      }
      for (const path of podSecurity(config))
        for (const [list, isRight] of Object.entries(isName))
          for (const one of config.main.texts(...path, 'exemptions', list))
            if (!isRight(one.text))
              yield {
                document: config.main,
                path: one.path,
                sentence: `${quoted(one.text)} in exemptions.${list} of PodSecurity is no name, so ${isDown}`,
              }
    },
  },
  {
    id: 'pod-security-level',
    source: `${podSecuritySource}: validateLevel, validateVersion`,
    level: 'refuse',
    *find(config) {
      const { main } = config
      for (const path of podSecurity(config))
        for (const { path: where, key, node } of main.entries(...path, 'defaults')) {
          const text = textOf(node)
          const isVersion = key.endsWith('-version')
          if (text !== '' && !(isVersion ? /^(latest|v1\.\d+)$/.test(text) : levels.includes(text)))
            yield {
              document: main,
              path: where,
              sentence: isVersion
                ? `${quoted(text)} is not a version of PodSecurity, such as latest or v1.36: ${isDown}`
                : `${quoted(text)} is not a level of PodSecurity (${levels.join(', ')}): ${isDown}`,
            }
        }
    },
  },
  {
    id: 'authorizers-unique',
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go, ValidateAuthorizationConfiguration: field.Duplicate',
    level: 'refuse',
    *find(config) {
      const { main } = config
      const seen = new Set<string>()
      for (const { path } of main.items(...apiServer, 'authorizationConfig')) {
        const type = main.text(...path, 'type')
        const name = main.text(...path, 'name')
        for (const [key, what] of [
          [`name ${name}`, `The authorizer ${name}`],
          ...(type === 'Node' || type === 'RBAC'
            ? [[`type ${type}`, `An authorizer of the type ${type}`] as const]
            : []),
        ] as const) {
          if (seen.has(key))
            yield { document: main, path, sentence: `${what} is there twice: ${isDown}` }
          seen.add(key)
        }
      }
    },
  },
  {
    id: 'audit-policy',
    source:
      'Kubernetes staging/src/k8s.io/apiserver/pkg/audit/policy/reader.go: "loaded illegal policy with 0 rules"',
    level: 'refuse',
    *find({ main }) {
      const path = [...apiServer, 'auditPolicy']
      const policy = main.entries(...path)
      if (policy.length === 0) return
      const problem =
        !['', 'Policy'].includes(main.text(...path, 'kind')) ||
        main.text(...path, 'apiVersion') !== 'audit.k8s.io/v1'
          ? 'needs apiVersion: audit.k8s.io/v1 and kind: Policy'
          : main.items(...path, 'rules').length === 0
            ? 'needs rules'
            : null
      if (problem !== null)
        yield {
          document: main,
          path,
          sentence: `The audit policy ${problem}; a patch replaces it as a whole, and without it ${isDown}`,
        }
    },
  },
  {
    id: 'manifest-address',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/extra_manifest.go: http and https are fetched only',
    level: 'refuse',
    *find({ main }) {
      for (const { path, text } of main.texts('cluster', 'extraManifests'))
        if (!/^https?:\/\/[^/?#\s]+(\/\S*)?$/.test(text))
          yield {
            document: main,
            path,
            sentence: `The manifest ${quoted(text)} can’t be fetched: it must be a URL of http or https. Write its text into cluster.inlineManifests instead`,
          }
    },
  },
  {
    id: 'manifest-page',
    source: 'Talos internal/app/machined/pkg/adapters/k8s/manifest.go, SetYAML: a page is no YAML',
    level: 'warn',
    *find({ main }) {
      for (const { path, text } of main.texts('cluster', 'extraManifests')) {
        const file = fileOfPage(text)
        if (file !== null)
          yield {
            document: main,
            path,
            sentence: `${text} is a page about the file. The file is at ${file}`,
          }
      }
    },
  },
  {
    id: 'inline-manifest',
    source: 'Talos internal/app/machined/pkg/adapters/k8s/manifest.go, SetYAML',
    level: 'refuse',
    *find({ main }) {
      for (const { path, node } of main.items('cluster', 'inlineManifests')) {
        const problem = manifestProblem(textOf(at(node, 'contents')))
        if (problem !== null)
          yield {
            document: main,
            path: [...path, 'contents'],
            sentence: `The manifest ${textOf(at(node, 'name'))} ${problem}, so Talos never applies it`,
          }
      }
    },
  },
  {
    id: 'kubelet-label',
    source:
      'Kubernetes cmd/kubelet/app/options/options.go, ValidateKubeletFlags: unknown kubernetes.io or k8s.io labels',
    level: 'refuse',
    *find({ main }) {
      for (const { path, key, node } of main.entries('machine', 'kubelet', 'extraArgs'))
        for (const label of key === 'node-labels' ? kubeletLabels(node) : [])
          if (!mayKubeletSet(label))
            yield {
              document: main,
              path,
              sentence: `The kubelet does not start with the label ${label}: set it with kubectl`,
            }
    },
  },
  {
    id: 'label-of-worker',
    source:
      'Kubernetes plugin/pkg/admission/noderestriction/admission.go, getForbiddenLabels; Talos writes a worker’s labels with the kubelet’s credentials (internal/app/machined/pkg/controllers/k8s/node_apply.go)',
    level: 'warn',
    *find(config) {
      if (!config.isWorker) return
      for (const { path, key } of config.main.entries('machine', 'nodeLabels'))
        if (!mayKubeletSet(key))
          yield {
            document: config.main,
            path,
            sentence: `Kubernetes lets no worker give itself the label ${key}, so none of its labels and taints is set. Set this one with kubectl label node`,
          }
    },
  },
  {
    id: 'taint-of-worker',
    source:
      'Kubernetes plugin/pkg/admission/noderestriction/admission.go: "is not allowed to modify taints"; Talos internal/app/machined/pkg/controllers/k8s/node_apply.go',
    level: 'warn',
    *find(config) {
      if (!config.isWorker) return
      for (const { path, key, node } of config.main.entries('machine', 'nodeTaints')) {
        const [value, effect] = textOf(node).includes(':')
          ? textOf(node).split(':', 2)
          : ['', textOf(node)]
        yield {
          document: config.main,
          path,
          sentence: `Kubernetes lets no worker change its own taints, so none of its labels and taints is set. In machine.kubelet.extraArgs, register-with-taints: ${key}=${value}:${effect} works when it joins; later use kubectl taint node`,
        }
      }
    },
  },
  {
    id: 'cluster-domain',
    source:
      'Kubernetes cmd/kubeadm/app/apis/kubeadm/validation/validation.go, ValidateNetworking: IsDNS1123Subdomain; Talos and the kubelet check nothing',
    level: 'warn',
    *find({ main }) {
      const path = ['cluster', 'network', 'dnsDomain']
      const domain = main.text(...path)
      if (domain !== '' && isDnsName(domain) && domain !== domain.toLowerCase())
        yield {
          document: main,
          path,
          sentence: `The cluster’s domain ${domain} should be in lower case, as Kubernetes expects of its names`,
        }
    },
  },
  {
    id: 'kubeprism-port',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/kubeprism.go listens on 127.0.0.1; ports of pkg/machinery/constants',
    level: 'refuse',
    *find({ main }) {
      const path = ['machine', 'features', 'kubePrism', 'port']
      const port = main.number(...path)
      const owner = port === undefined ? undefined : takenPorts.get(port)
      if (owner !== undefined)
        yield {
          document: main,
          path,
          sentence: `KubePrism can’t have the port ${port}, which ${owner} has`,
        }
    },
  },
]

/** Ports that Talos and Kubernetes listen on, on every server. */
const takenPorts: ReadonlyMap<number, string> = new Map([
  [2379, 'etcd'],
  [2380, 'etcd'],
  [6443, 'the API server'],
  [10_248, 'the kubelet'],
  [10_250, 'the kubelet'],
  [10_257, 'the controller manager'],
  [10_259, 'the scheduler'],
  [50_000, 'Talos’s API'],
  [50_001, 'trustd'],
])

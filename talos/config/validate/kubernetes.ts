/** Rules for the documents of Kubernetes (Talos `pkg/machinery/config/types/k8s`). */
import { certificatesIn } from '../../pki/certificates.ts'
import { readKey } from '../../pki/keys.ts'
import { kubernetesProblem, modelledMinors } from '../../versions.ts'
import {
  endpointProblem,
  isCidrOrAddress,
  isDnsSubdomain,
  isLabelValue,
  isQualifiedName,
  kubernetesVersionOf,
  prefixLength,
} from '../formats.ts'
import { type Report, textOf } from '../report.ts'
import { type Check, isPem, required } from './forms.ts'

/** Why the image of a Kubernetes component can't run on this Talos, or undefined. */
export function imageProblem(image: string, talosVersion: string): string | undefined {
  const version = kubernetesVersionOf(image)
  return version === undefined
    ? `${image} has no tag such as :v1.36.3`
    : kubernetesProblem(talosVersion, version, modelledMinors)
}

function componentImage(report: Report, talosVersion: string): void {
  const image = report.text('image')
  const problem = image === '' ? 'image is missing' : imageProblem(image, talosVersion)
  if (problem !== undefined) report.error(['image'], problem)
}

/** Requests and limits of a pod (Talos `ResourcesConfig.Validate`). */
export function podResources(report: Report, ...section: string[]): void {
  for (const part of ['requests', 'limits'])
    for (const { path, key } of report.entries(...section, 'resources', part))
      if (key !== 'cpu' && key !== 'memory')
        report.error(path, `${key} is not a resource that can be set; cpu and memory are`)
}

/** Labels, annotations and taints of the node, each at a path (Talos `pkg/machinery/labels`). */
export function nodeMetadata(
  report: Report,
  labels: readonly string[],
  annotations: readonly string[],
  taints: readonly string[],
): void {
  for (const { path, key, node } of report.entries(...labels)) {
    if (!isQualifiedName(key)) report.error(path, `${key} is not a label’s name`)
    if (!isLabelValue(textOf(node))) report.error(path, `${textOf(node)} is not a label’s value`)
  }
  let bytes = 0
  for (const { path, key, node } of report.entries(...annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(textOf(node))
    if (!isQualifiedName(key)) report.error(path, `${key} is not an annotation’s name`)
    if (/^talos\.dev\/owned-(annotations|labels|taints)$/.test(key))
      report.error(path, `The annotation ${key} is Talos’s own`)
  }
  // `pkg/machinery/labels/validate.go`, TotalAnnotationSizeLimitB
  if (bytes > 256 * 1024)
    report.error(
      annotations,
      `A node’s annotations can have 256 KiB together; these have ${Math.ceil(bytes / 1024)}`,
    )
  for (const { path, key, node } of report.entries(...taints)) {
    const [value, effect] = textOf(node).includes(':')
      ? textOf(node).split(/:(.*)/s)
      : ['', textOf(node)]
    if (!isQualifiedName(key)) report.error(path, `${key} is not a taint’s name`)
    else if (!['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect ?? ''))
      report.error(path, 'A taint’s effect is NoSchedule, PreferNoSchedule or NoExecute')
    else if (!isLabelValue(value ?? '')) report.error(path, `${value} is not a taint’s value`)
  }
}

/** Fields of the kubelet's configuration that Talos sets itself (`pkg/machinery/kubelet`). */
const ownedByTalos = new Set(
  (
    'apiVersion authentication authorization cgroupRoot kind kubeletCgroups port protectKernelDefaults resolvConf rotateCertificates ' +
    'systemCgroups staticPodPath seccompDefault'
  ).split(' '),
)

export function kubeletFields(report: Report, ...section: string[]): void {
  for (const { path, key } of report.entries(...section))
    if (ownedByTalos.has(key)) report.error(path, `The kubelet’s field ${key} is Talos’s own`)
}

export const talosRoles: ReadonlySet<string> = new Set([
  'os:admin',
  'os:operator',
  'os:reader',
  'os:etcd:backup',
  'os:impersonator',
  'os:meta:writer',
  'os:image:verifier',
])

const isCertificate = (text: string): boolean => {
  try {
    return isPem(text) && certificatesIn(text).length > 0
  } catch {
    return false
  }
}
const isKey = (text: string): boolean => {
  try {
    readKey(text)
    return true
  } catch {
    return false
  }
}

/** An authority of Kubernetes (Talos `meta.CertificateAndKey`). */
function authority(report: Report): void {
  if (report.has('issuingCA')) {
    if (!isCertificate(report.text('issuingCA', 'cert')))
      report.error(['issuingCA', 'cert'], 'The certificate is not readable PEM')
    if (!isKey(report.text('issuingCA', 'key')))
      report.error(['issuingCA', 'key'], 'The key is not a readable private key in PEM')
  }
  for (const { path, text } of report.texts('acceptedCAs'))
    if (!isPem(text)) report.error(path, 'An accepted authority is a certificate in PEM')
}

const manifestName = (report: Report) => {
  const name = report.text('name')
  if (name !== '' && !isDnsSubdomain(name))
    report.error(['name'], `${name} must have lower case letters, digits, hyphens and dots only`)
}

const httpUrl = (report: Report, field: string) => {
  if (!/^https?:\/\/./.test(report.text(field)))
    report.error([field], `${field} must be a URL of http or https`)
}

/** Arguments of the API server that a document of its own replaces. The longest prefix counts. */
const deniedArguments: readonly (readonly [string, string])[] = [
  ['oidc-signing-algs', 'it has no equivalent: all asymmetric algorithms are accepted'],
  ['anonymous-auth', 'use KubeAuthenticationConfig'],
  ['oidc-', 'use KubeAuthenticationConfig'],
  ['authentication-config', 'use KubeAuthenticationConfig'],
  ['authorization-config', 'use KubeAuthorizerConfig'],
  ['authorization-mode', 'use KubeAuthorizerConfig'],
  ['authorization-webhook-', 'use KubeAuthorizerConfig'],
]

/** Bits of an address of this family. */
const bitsOf = (subnet: string): number => (subnet.includes(':') ? 128 : 32)

/** Networks of pods or services: one, or one of each family. */
function subnets(report: Report, list: string, sizeProblem: (subnet: string) => string | null) {
  const all = report.texts(list)
  if (all.length === 0) report.error([list], `${list} needs a network`)
  const families = all.map(({ text }) => bitsOf(text))
  if (new Set(families).size < families.length)
    report.error([list], 'At most one network of each family, IPv4 and IPv6, is possible')
  for (const { path, text } of all) {
    const length = prefixLength(text)
    if (length === null) {
      report.error(path, `${text} is not a network, whose address ends with zeros`)
      continue
    }
    const problem =
      bitsOf(text) - length < 4 ? `must be larger than /${bitsOf(text) - 4}` : sizeProblem(text)
    if (problem !== null) report.error(path, `${text} ${problem}`)
  }
}

/** Sizes of networks (Talos `k8s/network.go`; `MaxHostBitsForServiceSubnet`, `PodSubnetNodeMaskMaxDiff`). */
const networks: Check = (report) => {
  const masks = {
    32: report.number('nodeCIDRMaskSizeIPv4'),
    128: report.number('nodeCIDRMaskSizeIPv6'),
  }
  const maskOf = (subnet: string) => (bitsOf(subnet) === 32 ? masks[32] || 24 : masks[128] || 64)
  for (const [field, bits] of [
    ['nodeCIDRMaskSizeIPv4', 32],
    ['nodeCIDRMaskSizeIPv6', 128],
  ] as const)
    if ((masks[bits] ?? 0) > bits) report.error([field], `${field} must be from 1 to ${bits}`)
  subnets(report, 'podSubnets', (subnet) => {
    const [length, mask] = [prefixLength(subnet)!, maskOf(subnet)]
    if (mask > bitsOf(subnet)) return null
    if (length > mask) return `is smaller than each node’s part, /${mask}`
    return mask - length > 16 ? `must be at least /${mask - 16} for parts of /${mask}` : null
  })
  subnets(report, 'serviceSubnets', (subnet) => {
    const shortest = bitsOf(subnet) - 20
    return prefixLength(subnet)! < shortest ? `must be at least /${shortest}` : null
  })
  if (report.items('podSubnets').length !== report.items('serviceSubnets').length)
    report.error(['serviceSubnets'], 'Pods and services need networks of the same families')
}

/** A component that can be switched off; nothing of it is checked then. */
const component =
  (more: Check = () => undefined): Check =>
  (report, talosVersion) => {
    if (report.has('enabled') && !report.flag('enabled')) return
    componentImage(report, talosVersion)
    more(report, talosVersion)
    podResources(report)
  }

export const kubernetesChecks: Readonly<Record<string, Check>> = {
  KubeClusterConfig: (report) => {
    required(report, 'clusterName', 'endpoint')
    const endpoint = report.text('endpoint')
    const problem = endpoint === '' ? undefined : endpointProblem(endpoint)
    if (problem !== undefined) report.error(['endpoint'], `The endpoint ${problem}`)
  },
  KubeNodeConfig: (report) => {
    for (const { path, text } of report.texts('nodeIP', 'validSubnets'))
      if (!isCidrOrAddress(text.replace(/^!/, '')))
        report.error(path, `${text} is not a network or an address`)
    nodeMetadata(report, ['labels'], ['annotations'], ['taints'])
  },
  KubeletConfig: (report, talosVersion) => {
    componentImage(report, talosVersion)
    kubeletFields(report, 'config')
  },
  KubeNetworkConfig: networks,
  KubeAPIServerCAConfig: authority,
  KubeAggregatorCAConfig: (report) => {
    required(report, 'issuingCA')
    authority(report)
  },
  KubePrismConfig: (report) => {
    const port = report.number('port') ?? 0
    if (port < 1 || port > 65_535) report.error(['port'], 'port must be from 1 to 65535')
  },
  KubeAuthorizerConfig: (report) => {
    const type = report.text('type')
    if (!['Node', 'RBAC', 'Webhook'].includes(type))
      report.error(['type'], 'The type of an authorizer is Node, RBAC or Webhook')
    const hasWebhook = report.entries('webhook').length > 0
    if (type === 'Webhook' && !hasWebhook) report.error(['webhook'], 'webhook is missing')
    if (type !== 'Webhook' && hasWebhook) report.warn('Only an authorizer Webhook has webhook')
  },
  KubeEtcdEncryptionConfig: (report) => {
    if (report.entries('config').length === 0) report.error(['config'], 'config is missing')
  },
  KubeServiceAccountConfig: (report) => {
    if (!isKey(report.text('issuer', 'privateKey')))
      report.error(['issuer', 'privateKey'], 'The key is not a readable private key in PEM')
    if (report.text('issuer', 'issuerURL') === '')
      report.error(['issuer', 'issuerURL'], 'issuerURL is missing')
  },
  KubeAPIServerConfig: (report, talosVersion) => {
    componentImage(report, talosVersion)
    for (const { path, key } of report.entries('extraArgs')) {
      const denied = deniedArguments.find(([prefix]) => key.startsWith(prefix))
      if (denied !== undefined)
        report.error(path, `The argument ${key} can’t be used here: ${denied[1]}`)
    }
    podResources(report)
  },
  KubeControllerManagerConfig: component(),
  KubeSchedulerConfig: component(),
  KubeProxyConfig: component((report) => {
    const mode = report.text('mode')
    if (!['', 'nftables', 'iptables', 'ipvs'].includes(mode))
      report.error(['mode'], 'The mode of kube-proxy is nftables, iptables or ipvs')
    if (mode === 'iptables' || mode === 'ipvs')
      report.warn(`The mode ${mode} of kube-proxy is not recommended; nftables is`)
    if (report.entries('extraArgs').length > 0)
      report.warn('Arguments of kube-proxy may not work; use config')
  }),
  KubeFlannelCNIConfig: (report) => {
    required(report, 'backendType')
    podResources(report)
  },
  KubeTalosAPIAccessConfig: (report) => {
    if (!report.has('allowedRoles')) report.warn('Without allowedRoles nobody has access')
    for (const { path, text } of report.texts('allowedRoles'))
      if (!talosRoles.has(text)) report.error(path, `Talos has no role ${text}`)
  },
  KubeExternalManifestConfig: (report) => {
    manifestName(report)
    httpUrl(report, 'url')
  },
  KubeInlineManifestConfig: manifestName,
  KubeStaticPodConfig: (report) => {
    manifestName(report)
    if (report.entries('pod').length === 0) report.error(['pod'], 'pod is missing')
  },
}

/**
 * The checks of documents that Talos 1.14 added, in its words (Talos:
 * pkg/machinery/config/types/k8s, cluster, runtime, network).
 */
import { isIP } from 'node:net'
import { celProblem } from './cel/cel.ts'
import { endpointError, imageProblem, KUBELET_FIELDS } from './judge-main.ts'
import { judgeOfVolumes } from './judge-volumes.ts'
import type { ConfigDocument } from './load.ts'
import { type Body, isObject, list, object, text } from './shape.ts'
import { minorOf } from './versions.ts'

interface Context {
  talosVersion: string
  warnings: string[]
}

type Judge = (document: ConfigDocument, context: Context) => string[]

const unless = (isRight: boolean, message: string): string[] => (isRight ? [] : [message])

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** @param what as Talos calls the object: `manifest` */
const judgeName = (name: string, what: string): string[] =>
  name === ''
    ? [`${what} name is required`]
    : unless(
        SUBDOMAIN.test(name) && name.length <= 253,
        `${what} name is invalid: subdomain must not be more than 253 characters and must consist of lower case alphanumeric characters, '-' or '.'`,
      )

const judgePem = (value: unknown, type: string): string | null => {
  const blocks = [...text(value).matchAll(/-----BEGIN ([A-Z0-9 ]+)-----/g)].map((match) => match[1])
  const wrong = blocks.find((block) => block !== type)
  if (wrong !== undefined)
    return `unexpected PEM block type "${wrong}", expected one of ["${type}"]`
  return blocks.length === 0 ? 'no PEM blocks found' : null
}

/** An authority that a machine issues with, and others that it accepts. */
const judgeAuthorities = ({ issuingCA, acceptedCAs }: Body, isRequired: boolean): string[] => {
  const errors: string[] = []
  if (!isObject(issuingCA)) {
    if (isRequired) errors.push('issuing CA is not set')
  } else {
    const problem = judgePem(issuingCA.cert, 'CERTIFICATE')
    if (problem !== null) errors.push(`issuing CA: certificate: ${problem}`)
    if (!text(issuingCA.key).includes('-----BEGIN '))
      errors.push('issuing CA: key: no PEM blocks found')
  }
  for (const [index, accepted] of list(acceptedCAs).entries()) {
    const problem = judgePem(accepted, 'CERTIFICATE')
    if (problem !== null) errors.push(`accepted CA #${index}: ${problem}`)
  }
  return errors
}

/** @param component as the messages name it: `kube-apiserver` */
const judgeImage = (component: string, { image }: Body, { talosVersion }: Context): string[] => {
  if (text(image) === '') return [`${component} image cannot be empty`]
  const problem = imageProblem(text(image), talosVersion)
  return problem === null ? [] : [`${component} image is not valid: ${problem}`]
}

const judgeResources = ({ resources }: Body): string[] => {
  const { requests, limits } = object(resources)
  const wrong = [...Object.keys(object(requests)), ...Object.keys(object(limits))].find(
    (key) => key !== 'cpu' && key !== 'memory',
  )
  return wrong === undefined ? [] : [`unsupported pod resource "${wrong}"`]
}

const judgePod =
  (component: string): Judge =>
  ({ body }, context) =>
    body.enabled === false ? [] : [...judgeImage(component, body, context), ...judgeResources(body)]

/** Arguments of the API server that other documents set; the longest prefix counts. */
const DENIED: readonly (readonly [prefix: string, reason: string])[] = [
  [
    'oidc-signing-algs',
    'not supported with KubeAuthenticationConfig: kube-apiserver rejects --oidc-* flags when structured authentication configuration is used, and the configuration has no equivalent setting (all RFC 7518 asymmetric algorithms are accepted)',
  ],
  ['anonymous-auth', 'use KubeAuthenticationConfig'],
  ['oidc-', 'use KubeAuthenticationConfig'],
  ['authentication-config', 'use KubeAuthenticationConfig'],
  ['authorization-config', 'use KubeAuthorizerConfig'],
  ['authorization-mode', 'use KubeAuthorizerConfig'],
  ['authorization-webhook-', 'use KubeAuthorizerConfig'],
]

const judgeApiServer: Judge = ({ body }, context) => [
  ...judgeImage('kube-apiserver', body, context),
  ...Object.keys(object(body.extraArgs))
    .toSorted()
    .flatMap((argument) => {
      const denied = DENIED.find(([prefix]) => argument.startsWith(prefix))
      return denied
        ? [`kube-apiserver extra argument "${argument}" is not allowed: ${denied[1]}`]
        : []
    }),
  ...judgeResources(body),
]

const judgeProxy: Judge = ({ body }, context) => {
  if (body.enabled === false) return []
  const mode = text(body.mode)
  if (mode === 'iptables' || mode === 'ipvs')
    context.warnings.push(
      `proxy mode "${mode}" is not recommended, please switch to nftables if possible`,
    )
  if (Object.keys(object(body.extraArgs)).length > 0)
    context.warnings.push(
      'extra arguments for kube-proxy may not work as expected, please use configuration instead',
    )
  return [
    ...judgeImage('proxy', body, context),
    ...unless(
      ['', 'nftables', 'iptables', 'ipvs'].includes(mode),
      `invalid proxy mode "${mode}": supported modes are iptables, ipvs and nftables`,
    ),
    ...judgeResources(body),
  ]
}

const judgeNetwork: Judge = ({ body }) => {
  const [pods, services] = [list(body.podSubnets), list(body.serviceSubnets)]
  const wrongIn = (subnets: unknown[]) =>
    subnets
      .map(text)
      .find((subnet) => isIP(subnet.split('/')[0] ?? '') === 0 || !subnet.includes('/'))
  const mask = (value: unknown, most: number): boolean =>
    value === undefined || value === null || (Number(value) >= 1 && Number(value) <= most)
  return [
    ...unless(mask(body.nodeCIDRMaskSizeIPv4, 32), 'nodeCIDRMaskSizeIPv4 must be between 1 and 32'),
    ...unless(
      mask(body.nodeCIDRMaskSizeIPv6, 128),
      'nodeCIDRMaskSizeIPv6 must be between 1 and 128',
    ),
    ...(['pod', 'service'] as const).flatMap((what) => {
      const wrong = wrongIn(what === 'pod' ? pods : services)
      return wrong === undefined ? [] : [`${what} subnets: invalid subnet: "${wrong}"`]
    }),
    ...unless(
      pods.length === services.length,
      'the number of pod subnets must match the number of service subnets',
    ),
  ]
}

const judgeAuthorizer: Judge = ({ name, body }, { warnings }) => {
  const type = text(body.type)
  const hasWebhook = Object.keys(object(body.webhook)).length > 0
  if (type !== 'Webhook' && hasWebhook)
    warnings.push('authorizer webhook configuration is not allowed non-Webhook authorizer types')
  return [
    ...unless(name !== '', 'authorizer name is required'),
    ...unless(type !== '', 'authorizer type is required'),
    ...unless(
      ['Node', 'RBAC', 'Webhook'].includes(type),
      `authorizer type ${type} is not allowed, allowed types are [Node RBAC Webhook]`,
    ),
    ...unless(
      type !== 'Webhook' || hasWebhook,
      'authorizer webhook configuration is required for Webhook authorizer type',
    ),
  ]
}

const judgeIdentity: Judge = ({ body }) => {
  if (text(body.clusterID) === '') return ['clusterID is required']
  const secret = text(body.clusterSecret)
  if (secret === '') return ['clusterSecret is required']
  const { length } = Buffer.from(secret, 'base64')
  return Buffer.from(secret, 'base64').toString('base64') === secret && length === 32
    ? []
    : [`invalid clusterSecret: expected 32 bytes, got ${length}`]
}

const judgeResolver: Judge = ({ body }) => {
  const hostDns = object(body.hostDNS)
  const isOn = hostDns.enabled === true
  return [
    ...unless(
      isOn || hostDns.forwardKubeDNSToHost !== true,
      'hostDNS.forwardKubeDNSToHost cannot be enabled when hostDNS.enabled is false',
    ),
    ...unless(
      isOn || hostDns.resolveMemberNames !== true,
      'hostDNS.resolveMemberNames cannot be enabled when hostDNS.enabled is false',
    ),
    ...list(body.nameservers).flatMap((item, index) => {
      const { protocol, tlsServerName, address } = object(item)
      const isEncrypted = protocol === 'DoT' || protocol === 'DoH'
      return [
        ...unless(
          !isEncrypted || text(tlsServerName) !== '',
          `tlsServerName must be set when protocol is ${text(protocol)}: entry ${index}`,
        ),
        ...unless(
          isEncrypted || text(tlsServerName) === '',
          `tlsServerName must be empty when protocol is Do53: entry ${index}`,
        ),
        ...unless(
          isIP(text(address)) !== 0,
          `nameserver address must be a valid IP: entry ${index}`,
        ),
      ]
    }),
  ]
}

const judgeUnattended: Judge = ({ body }, { talosVersion, warnings }) => {
  if (text(object(body.installer).image) === '')
    warnings.push(
      'installer.image is not set, if Talos is not booted from asset built by Image Factory, installation will fail',
    )
  const match = text(object(object(body.provisioning).diskSelector).match)
  if (match === '') return ['provisioning.diskSelector.match is required']
  const problem = celProblem(match, 'disk', minorOf(talosVersion))
  return problem === null ? [] : [`provisioning.diskSelector.match: ${problem}`]
}

/** Names of Linux links have at most 15 bytes. */
const judgeVeth: Judge = ({ name, body }) => {
  const peer = text(object(body.peer).name)
  const own = (what: string, value: string): string[] =>
    value === ''
      ? [`${what} must be specified`]
      : unless(Buffer.byteLength(value) <= 15, `${what} must be at most 15 characters long`)
  return [
    ...own('name', name),
    ...own('peer name', peer),
    ...unless(name === '' || name !== peer, 'name and peer name must be different'),
  ]
}

const judgeEmptyKeys =
  (what: string): Judge =>
  ({ body }) =>
    unless(!('' in object(body.params)), `${what} key cannot be empty`)

const judgeInterval: Judge = ({ body }) =>
  unless(!text(body.interval).startsWith('-'), 'interval cannot be negative')

/** The checks by kind. */
export const judgeOf14: Readonly<Record<string, Judge>> = {
  KubeAdmissionControlConfig: ({ name }) =>
    unless(name !== '', 'admission control plugin name is required'),
  KubeAggregatorCAConfig: ({ body }) => judgeAuthorities(body, true),
  KubeAPIServerCAConfig: ({ body }) => judgeAuthorities(body, false),
  KubeAPIServerConfig: judgeApiServer,
  KubeAuthorizerConfig: judgeAuthorizer,
  KubeClusterConfig: ({ body }) => {
    const wrong = endpointError(text(body.endpoint))
    return [
      ...unless(text(body.clusterName) !== '', 'clusterName must be specified'),
      ...(text(body.endpoint) === ''
        ? ['endpoint must be specified']
        : wrong === null
          ? []
          : [`cluster endpoint is invalid: ${wrong}`]),
    ]
  },
  KubeControllerManagerConfig: judgePod('kube-controller-manager'),
  KubeSchedulerConfig: judgePod('scheduler'),
  KubeEtcdEncryptionConfig: ({ body }) =>
    unless(Object.keys(object(body.config)).length > 0, 'etcd encryption config is required'),
  KubeExternalManifestConfig: ({ name, body }) => [
    ...judgeName(name, 'manifest'),
    ...(text(body.url) === ''
      ? ['manifest URL is required']
      : unless(
          /^https?:/.test(text(body.url)),
          `manifest URL scheme must be http or https: "${text(body.url).split(':')[0]}"`,
        )),
  ],
  KubeFlannelCNIConfig: ({ body }) => [
    ...unless(text(body.backendType) !== '', 'flannel backend type must be specified'),
    ...judgeResources(body),
  ],
  KubeInlineManifestConfig: ({ name }) => judgeName(name, 'manifest'),
  KubeletConfig: ({ body }, context) => [
    ...judgeImage('kubelet', body, context),
    ...KUBELET_FIELDS.filter((field) => field in object(body.config)).map(
      (field) => `kubelet configuration field "${field}" can't be overridden`,
    ),
  ],
  KubeNetworkConfig: judgeNetwork,
  KubePrismConfig: ({ body }) =>
    unless(
      Number(body.port) > 0 && Number(body.port) <= 65_535,
      `invalid port ${Number(body.port ?? 0)}: must be in range 1-65535`,
    ),
  KubeProxyConfig: judgeProxy,
  KubeServiceAccountConfig: ({ body }) => {
    const { privateKey, issuerURL } = object(body.issuer)
    return [
      ...(text(privateKey) === ''
        ? ['service issuer private key is required']
        : unless(
            text(privateKey).includes('-----BEGIN '),
            'service issuer private key is invalid: failed to parse PEM block',
          )),
      ...unless(text(issuerURL) !== '', 'service issuer URL is required'),
    ]
  },
  KubeStaticPodConfig: ({ name, body }) => [
    ...judgeName(name, 'static pod'),
    ...unless(Object.keys(object(body.pod)).length > 0, 'static pod spec is required'),
  ],
  KubeTalosAPIAccessConfig: ({ body }) =>
    list(body.allowedRoles)
      .map(text)
      .filter((role) => !/^os:(admin|operator|reader|etcd:backup|impersonator)$/.test(role))
      .map((role) => `invalid role "${role}" in .allowedRoles`),
  DiscoveryIdentityConfig: judgeIdentity,
  DiscoveryServiceConfig: ({ name, body }) =>
    name === ''
      ? ['name is required']
      : text(body.endpoint) === ''
        ? ['endpoint is required']
        : unless(
            /^https?:\/\/[^/]+\/?$/.test(text(body.endpoint)),
            'cluster discovery service path should be empty',
          ),
  KernelModuleConfig: ({ name }) => unless(name !== '', 'name is required'),
  EtcFileConfig: ({ name }) => unless(name !== '', 'user etc file name cannot be empty'),
  CRICustomizationConfig: ({ name }) =>
    unless(name !== 'customization', `name "${name}" is reserved for the legacy CRI customization`),
  FilesystemTrimConfig: judgeInterval,
  FilesystemScrubConfig: judgeInterval,
  ResolverConfig: judgeResolver,
  SysctlConfig: judgeEmptyKeys('sysctl'),
  SysfsConfig: judgeEmptyKeys('sysfs'),
  UnattendedInstallConfig: judgeUnattended,
  VethConfig: judgeVeth,
  ...judgeOfVolumes,
}

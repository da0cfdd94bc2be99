import type { Loaded } from './load.ts'
import { type Body, isObject, list, object, text } from './shape.ts'

/**
 * The settings of a machine by component, each from its home. Up to Talos 1.13 that is a section of
 * the main document. Since 1.14 most components have documents of their own, and a configuration
 * may have one component there and another in the main document (Talos:
 * pkg/machinery/config/container/container.go). The sections have the main document's names.
 */
export interface Settings {
  machine: Body
  cluster: Body
  kubelet: Body
  apiServer: Body
  controllerManager: Body
  scheduler: Body
  proxy: Body
  coreDns: Body
  /** DNS domain and subnets of pods and Services. */
  network: Body
  /** `flannel`, `none`, or `custom`. */
  cni: string
  name: string
  endpoint: string
  apiServerPort: number
  discovery: boolean
  id: string
  secret: string
  kubePrism: boolean
  kubernetesCa: Authorities
  aggregatorCa: Authorities
  /** PEM. */
  serviceAccountKey: string | null
  encryption: readonly Provider[]
  /** Labels and taints of the node, also those of a control plane. */
  labels: Body
  taints: Body
  install: Installation | null
  /** Objects that Talos creates in the cluster, as YAML. */
  manifests: readonly { name: string; contents: string }[]
  /** What the API server reads from files, in addition to its section. */
  files: readonly Body[]
}

/** A PEM pair of a configuration; `key` is null on machines that only verify certificates. */
export interface Pair {
  crt: string
  key: string | null
}
interface Authorities {
  issuing: Pair | null
  accepted: readonly string[]
}

/** A provider of the API server's encryption of Secrets, the first of which encrypts. */
export interface Provider {
  kind: 'secretbox' | 'aescbc' | 'aesgcm' | 'identity'
  name: string
  secret: string
}

export interface Installation {
  /** Since Talos 1.14, a controller installs by a document while the machine boots. */
  isUnattended: boolean
  image: string
  disk: string
  selector: Body | null
  /** An expression, which only the document has. */
  match: string
  wipe: boolean
  /** Whether the machine restarts after the installation. */
  restarts: boolean
}

/** Decodes a PEM text, which the main document contains in base64. Null if absent. */
export const pem = (value: unknown): string | null => {
  const encoded = text(value)
  if (encoded === '') return null
  return Buffer.from(encoded, 'base64').toString('utf8')
}

/** Decodes a pair of the main document. */
export const pair = (value: unknown): Pair | null => {
  const { crt, key } = object(value)
  const certificate = pem(crt)
  return certificate === null ? null : { crt: certificate, key: pem(key) }
}

const texts = (value: unknown): string[] => list(value).map(text)

/** The authority of a section of the main document. */
const sectionAuthorities = (issuing: unknown, accepted: unknown): Authorities => ({
  issuing: pair(issuing),
  accepted: list(accepted).flatMap((item) => pair(item)?.crt ?? []),
})

/** The authority of a document. A machine that issues nothing has only accepted ones. */
const documentAuthorities = ({ issuingCA, acceptedCAs }: Body): Authorities => {
  const { cert, key } = object(issuingCA)
  const accepted = texts(acceptedCAs)
  if (text(cert) !== '') return { issuing: { crt: text(cert), key: text(key) || null }, accepted }
  const [first, ...others] = accepted
  return { issuing: first === undefined ? null : { crt: first, key: null }, accepted: others }
}

const identityProvider: Provider = { kind: 'identity', name: '', secret: '' }

/** Talos's providers for the keys of the main document (Talos: k8stemplates/apiserver.go). */
const sectionProviders = (cluster: Body): Provider[] => {
  const keys: Provider[] = [
    { kind: 'secretbox', name: 'key2', secret: text(cluster.secretboxEncryptionSecret) },
    { kind: 'aescbc', name: 'key1', secret: text(cluster.aescbcEncryptionSecret) },
  ]
  return [...keys.filter(({ secret }) => secret !== ''), identityProvider]
}

/** The providers for Secrets of a document, which the API server gets as it is. */
const documentProviders = ({ config }: Body): Provider[] =>
  list(object(config).resources)
    .map(object)
    .filter(({ resources }) =>
      texts(resources).some((name) => name === 'secrets' || name === '*.*'),
    )
    .flatMap(({ providers }) => list(providers).map(object))
    .flatMap((provider) =>
      (['secretbox', 'aescbc', 'aesgcm', 'identity'] as const).flatMap((kind): Provider[] => {
        if (!(kind in provider)) return []
        if (kind === 'identity') return [identityProvider]
        return list(object(provider[kind]).keys).map((key) => ({
          kind,
          name: text(object(key).name),
          secret: text(object(key).secret),
        }))
      }),
    )

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane'

/** Reads each component's settings from its home. */
export const settingsOf = ({ v1alpha1, documents }: Loaded): Settings => {
  const machine = object(v1alpha1?.machine)
  const cluster = object(v1alpha1?.cluster)
  const features = object(machine.features)
  const documentOf = (kind: string): Body | undefined =>
    documents.find((document) => document.kind === kind)?.body
  const named = (kind: string) => documents.filter((document) => document.kind === kind)
  const isControlPlane = ['controlplane', 'init'].includes(text(machine.type))
  /** The settings of a document in the main document's names, or else the section. */
  const from = (kind: string, section: unknown, translate = (body: Body) => body): Body => {
    const document = documentOf(kind)
    return document ? translate(document) : object(section)
  }

  const node = documentOf('KubeNodeConfig')
  const whole = documentOf('KubeClusterConfig') ?? {
    clusterName: cluster.clusterName,
    endpoint: object(cluster.controlPlane).endpoint,
  }
  const discovery = object(cluster.discovery)
  const hasIdentity = text(cluster.id) !== '' || text(cluster.secret) !== ''
  const identity = hasIdentity ? undefined : documentOf('DiscoveryIdentityConfig')
  const kubernetesCa = documentOf('KubeAPIServerCAConfig')
  const aggregatorCa = documentOf('KubeAggregatorCAConfig')
  const serviceAccount = documentOf('KubeServiceAccountConfig')
  const encryption = documentOf('KubeEtcdEncryptionConfig')
  const apiServer = documentOf('KubeAPIServerConfig')
  const prism = documentOf('KubePrismConfig')
  const isNetworkApart = documentOf('KubeNetworkConfig') !== undefined
  const schedulesAnywhere =
    cluster.allowSchedulingOnControlPlanes === true || cluster.allowSchedulingOnMasters === true
  return {
    machine,
    cluster,
    kubelet: from('KubeletConfig', machine.kubelet, ({ config, ...rest }) => ({
      ...rest,
      extraConfig: config,
      ...(node && {
        nodeIP: node.nodeIP,
        skipNodeRegistration: node.skipNodeRegistration,
        registerWithFQDN: node.registerWithFQDN,
      }),
    })),
    apiServer: from('KubeAPIServerConfig', cluster.apiServer, ({ certExtraSANs, ...rest }) => ({
      ...rest,
      certSANs: certExtraSANs,
    })),
    controllerManager: from('KubeControllerManagerConfig', cluster.controllerManager),
    scheduler: from('KubeSchedulerConfig', cluster.scheduler),
    proxy: from('KubeProxyConfig', cluster.proxy, ({ enabled, ...rest }) => ({
      ...rest,
      disabled: enabled === false,
    })),
    coreDns: from('KubeCoreDNSConfig', cluster.coreDNS, ({ enabled, ...rest }) => ({
      ...rest,
      disabled: enabled === false,
    })),
    network: from('KubeNetworkConfig', cluster.network),
    cni: isNetworkApart
      ? documentOf('KubeFlannelCNIConfig')
        ? 'flannel'
        : 'none'
      : text(object(object(cluster.network).cni).name) || 'flannel',
    name: text(whole.clusterName),
    endpoint: text(whole.endpoint),
    apiServerPort: Number(
      (apiServer ? apiServer.apiPort : object(cluster.controlPlane).localAPIServerPort) ?? 6443,
    ),
    discovery: isObject(cluster.discovery)
      ? discovery.enabled === true
      : named('DiscoveryServiceConfig').length > 0,
    id: text(identity ? identity.clusterID : cluster.id),
    secret: text(identity ? identity.clusterSecret : cluster.secret),
    kubePrism: prism ? true : object(features.kubePrism).enabled === true,
    kubernetesCa: kubernetesCa
      ? documentAuthorities(kubernetesCa)
      : sectionAuthorities(cluster.ca, cluster.acceptedCAs),
    aggregatorCa: aggregatorCa
      ? documentAuthorities(aggregatorCa)
      : sectionAuthorities(cluster.aggregatorCA, []),
    serviceAccountKey: serviceAccount
      ? text(object(serviceAccount.issuer).privateKey) || null
      : pem(object(cluster.serviceAccount).key),
    encryption: encryption ? documentProviders(encryption) : sectionProviders(cluster),
    // Labels and taints of the document are used as they are.
    labels: node
      ? object(node.labels)
      : { ...(isControlPlane && { [CONTROL_PLANE]: '' }), ...object(machine.nodeLabels) },
    taints: node
      ? object(node.taints)
      : {
          ...(isControlPlane && !schedulesAnywhere && { [CONTROL_PLANE]: 'NoSchedule' }),
          ...object(machine.nodeTaints),
        },
    install: installationOf(documentOf('UnattendedInstallConfig'), machine.install),
    manifests: [
      ...list(cluster.inlineManifests).map((item) => ({
        name: text(object(item).name),
        contents: text(object(item).contents),
      })),
      ...named('KubeInlineManifestConfig').map(({ name, body }) => ({
        name,
        contents: text(body.manifest),
      })),
    ],
    files: documents.filter(({ kind }) => FILES.has(kind)).map(({ body }) => body),
  }
}

/** Documents from which Talos writes files for the API server. */
const FILES = new Set([
  'KubeAdmissionControlConfig',
  'KubeAuditPolicyConfig',
  'KubeAuthenticationConfig',
  'KubeAuthorizerConfig',
])

const installationOf = (document: Body | undefined, section: unknown): Installation | null => {
  if (document) {
    const { diskSelector, wipe } = object(document.provisioning)
    const image = text(object(document.installer).image)
    return {
      isUnattended: true,
      image,
      disk: '',
      selector: null,
      match: text(object(diskSelector).match),
      wipe: wipe !== false,
      restarts: typeof document.reboot === 'boolean' ? document.reboot : image !== '',
    }
  }
  if (!isObject(section)) return null
  return {
    isUnattended: false,
    image: text(section.image),
    disk: text(section.disk),
    selector: isObject(section.diskSelector) ? section.diskSelector : null,
    match: '',
    wipe: section.wipe === true,
    restarts: true,
  }
}

import type { Loaded } from './load.ts'
import { pair, type Pair, type Provider, settingsOf } from './settings.ts'
import { type Body, list, object, text } from './shape.ts'
import { imageTag } from './versions.ts'

export type { Pair, Provider }

/** The parts of a validated configuration that the simulated server uses. */
export type NodeConfig = NonNullable<ReturnType<typeof readNodeConfig>>

/** The static pods of a control plane. */
export const STATIC_PODS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const

export type StaticPodName = (typeof STATIC_PODS)[number]

const texts = (value: unknown): string[] => list(value).map(text)
const textMap = (value: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(object(value)).map(([key, item]) => [key, text(item)]))

/** Reads a complete configuration; null for one without its main document. */
export const readNodeConfig = (loaded: Loaded) => {
  if (!loaded.v1alpha1) return null
  const settings = settingsOf(loaded)
  const { machine, cluster, apiServer, kubelet, network, proxy, coreDns } = settings
  const apiServerVersion = imageTag(text(apiServer.image)) ?? imageTag(text(kubelet.image)) ?? ''
  const staticPod = (name: StaticPodName, section: Body): { image: string; spec: string } => {
    const { apiVersion: _, kind: __, certSANs: ___, image, ...rest } = section
    const spec = Object.entries(rest).filter(([key]) => !filesOfPods.has(key))
    return {
      image: text(image) || `registry.k8s.io/${name}:${apiServerVersion}`,
      spec: JSON.stringify(Object.fromEntries(spec)),
    }
  }
  const filesOf = (section: Body) => Object.entries(section).filter(([key]) => filesOfPods.has(key))
  const role: 'controlplane' | 'worker' = ['controlplane', 'init'].includes(text(machine.type))
    ? 'controlplane'
    : 'worker'
  return {
    role,
    token: text(machine.token),
    talosCa: pair(machine.ca),
    acceptedCas: list(machine.acceptedCAs).flatMap((item) => pair(item)?.crt ?? []),
    certSans: texts(machine.certSANs),
    hostname: hostnameOf(loaded),
    kubeletImage: text(kubelet.image),
    kubeletVersion: imageTag(text(kubelet.image)) ?? '',
    /** The settings of the kubelet as text. */
    kubelet: JSON.stringify(kubelet),
    /**
     * Whether programs on the machine reach the API servers through a local load balancer instead
     * of the cluster's endpoint.
     */
    kubePrism: settings.kubePrism,
    nodeLabels: textMap(settings.labels),
    nodeTaints: textMap(settings.taints),
    install: settings.install,
    cluster: {
      id: settings.id,
      name: settings.name,
      secret: settings.secret,
      endpoint: settings.endpoint,
      token: text(cluster.token),
      encryption: settings.encryption,
      discovery: settings.discovery,
      ca: settings.kubernetesCa.issuing,
      acceptedCas: settings.kubernetesCa.accepted,
      etcdCa: pair(object(cluster.etcd).ca),
      /** Empty for the default of Talos. */
      etcdImage: text(object(cluster.etcd).image),
      aggregatorCa: settings.aggregatorCa.issuing,
      serviceAccountKey: settings.serviceAccountKey,
      apiServerVersion,
      /** Image of each static pod, and its other settings as text. */
      staticPods: {
        'kube-apiserver': staticPod('kube-apiserver', apiServer),
        'kube-controller-manager': staticPod('kube-controller-manager', settings.controllerManager),
        'kube-scheduler': staticPod('kube-scheduler', settings.scheduler),
      } satisfies Record<StaticPodName, object>,
      /** Settings that Talos gives to static pods as files, as text. */
      staticPodFiles: JSON.stringify([
        filesOf(apiServer),
        filesOf(settings.scheduler),
        ...settings.files,
      ]),
      apiServerSans: texts(apiServer.certSANs),
      apiServerPort: settings.apiServerPort,
      serviceSubnet: texts(network.serviceSubnets)[0] ?? '10.96.0.0/12',
      podSubnet: texts(network.podSubnets)[0] ?? '10.244.0.0/16',
      dnsDomain: text(network.dnsDomain) || 'cluster.local',
      cni: settings.cni,
      proxy: { isEnabled: proxy.disabled !== true, image: text(proxy.image) },
      coreDns: { isEnabled: coreDns.disabled !== true, image: text(coreDns.image) },
      manifests: settings.manifests,
    },
    virtualAddresses: virtualAddressesOf(loaded),
  }
}

/**
 * Settings that Talos writes into files for the API server and the scheduler (Talos:
 * controllers/k8s/render_config_static_pods.go).
 */
const filesOfPods: ReadonlySet<string> = new Set([
  'admissionControl',
  'auditPolicy',
  'authorizationConfig',
  'config',
])

const hostnameOf = (loaded: Loaded): string | null => {
  const named = loaded.documents.find((document) => document.kind === 'HostnameConfig')
  const own =
    text(named?.body.hostname) || text(object(object(loaded.v1alpha1?.machine).network).hostname)
  return own === '' ? null : own
}

const virtualAddressesOf = (loaded: Loaded): { address: string; link: string }[] => [
  ...loaded.documents
    .filter(({ kind }) => kind === 'Layer2VIPConfig')
    .map(({ name, body }) => ({ address: name, link: text(body.link) })),
  ...interfacesOf(loaded).flatMap((item) => {
    const address = text(object(item.vip).ip)
    return address === '' ? [] : [{ address, link: text(item.interface) }]
  }),
]

export const interfacesOf = (loaded: Loaded): Record<string, unknown>[] =>
  list(object(object(loaded.v1alpha1?.machine).network).interfaces).map(object)

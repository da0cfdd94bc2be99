import type { Loaded } from './load.ts'
import { isObject, list, object, text } from './shape.ts'
import { imageTag } from './versions.ts'

/** A PEM pair of a configuration; `key` is null on machines that only verify certificates. */
export interface Pair {
  crt: string
  key: string | null
}

/** The parts of a validated configuration that the simulated server uses. */
export type NodeConfig = NonNullable<ReturnType<typeof readNodeConfig>>

/** The static pods of a control plane. */
export const STATIC_PODS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const

export type StaticPodName = (typeof STATIC_PODS)[number]

const texts = (value: unknown): string[] => list(value).map(text)
const textMap = (value: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(object(value)).map(([key, item]) => [key, text(item)]))

/** Decodes a PEM text, which configurations contain in base64. Null if absent. */
export const pem = (value: unknown): string | null => {
  const encoded = text(value)
  if (encoded === '') return null
  return Buffer.from(encoded, 'base64').toString('utf8')
}

const pair = (value: unknown): Pair | null => {
  const { crt, key } = object(value)
  const certificate = pem(crt)
  return certificate === null ? null : { crt: certificate, key: pem(key) }
}

/** Reads a complete configuration; null for one without its v1alpha1 document. */
export const readNodeConfig = (loaded: Loaded) => {
  if (!loaded.v1alpha1) return null
  const machine = object(loaded.v1alpha1.machine)
  const cluster = object(loaded.v1alpha1.cluster)
  const apiServer = object(cluster.apiServer)
  const network = object(cluster.network)
  const install = object(machine.install)
  const kubelet = object(machine.kubelet)
  const controlPlane = object(cluster.controlPlane)
  const apiServerVersion = imageTag(text(apiServer.image)) ?? imageTag(text(kubelet.image)) ?? ''
  const staticPod = (
    name: StaticPodName,
    section: Record<string, unknown>,
  ): { image: string; spec: string } => {
    const { certSANs: _, image, ...rest } = section
    const spec = Object.entries(rest).filter(([key]) => !filesOfPods.has(key))
    return {
      image: text(image) || `registry.k8s.io/${name}:${apiServerVersion}`,
      spec: JSON.stringify(Object.fromEntries(spec)),
    }
  }
  const filesOf = (section: Record<string, unknown>) =>
    Object.entries(section).filter(([key]) => filesOfPods.has(key))
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
    /**
     * Whether programs on the machine reach the API servers through a local load balancer instead
     * of the cluster's endpoint.
     */
    kubePrism: object(object(machine.features).kubePrism).enabled === true,
    nodeLabels: textMap(machine.nodeLabels),
    nodeTaints: textMap(machine.nodeTaints),
    install: {
      disk: text(install.disk),
      selector: isObject(install.diskSelector) ? install.diskSelector : null,
      image: text(install.image),
      wipe: install.wipe === true,
    },
    cluster: {
      id: text(cluster.id),
      name: text(cluster.clusterName),
      secret: text(cluster.secret),
      endpoint: text(controlPlane.endpoint),
      token: text(cluster.token),
      /** Keys of the API server's encryption of Secrets, empty if not set. */
      secretboxSecret: text(cluster.secretboxEncryptionSecret),
      aescbcSecret: text(cluster.aescbcEncryptionSecret),
      discovery: object(cluster.discovery).enabled === true,
      ca: pair(cluster.ca),
      acceptedCas: list(cluster.acceptedCAs).flatMap((item) => pair(item)?.crt ?? []),
      etcdCa: pair(object(cluster.etcd).ca),
      /** Empty for the default of Talos. */
      etcdImage: text(object(cluster.etcd).image),
      aggregatorCa: pair(cluster.aggregatorCA),
      serviceAccountKey: pem(object(cluster.serviceAccount).key),
      apiServerVersion,
      /** Image of each static pod, and its other settings as text. */
      staticPods: {
        'kube-apiserver': staticPod('kube-apiserver', apiServer),
        'kube-controller-manager': staticPod(
          'kube-controller-manager',
          object(cluster.controllerManager),
        ),
        'kube-scheduler': staticPod('kube-scheduler', object(cluster.scheduler)),
      } satisfies Record<StaticPodName, object>,
      /** Settings that Talos gives to static pods as files, as text. */
      staticPodFiles: JSON.stringify([filesOf(apiServer), filesOf(object(cluster.scheduler))]),
      apiServerSans: texts(apiServer.certSANs),
      apiServerPort: Number(controlPlane.localAPIServerPort ?? 6443),
      serviceSubnet: texts(network.serviceSubnets)[0] ?? '10.96.0.0/12',
      podSubnet: texts(network.podSubnets)[0] ?? '10.244.0.0/16',
      scheduleOnControlPlanes:
        cluster.allowSchedulingOnControlPlanes === true ||
        cluster.allowSchedulingOnMasters === true,
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

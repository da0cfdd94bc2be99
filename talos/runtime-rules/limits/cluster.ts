/** What a cluster loses when a part that Talos needs is switched off, left out or unknown. */
import type { Report } from '../../config/report.ts'
import { type Configuration, type Hit, quoted, type RuntimeRule } from '../rule.ts'
import { folderOf, placeOf } from './folders.ts'

/** The values of an argument, which is a text or a list of texts. */
const textsOf = (main: Report, path: readonly string[]): string[] => [
  ...main.texts(...path).map(({ text }) => text),
  main.text(...path),
]

/** Components that run in the version of their image, on control planes but for the first. */
const images = [
  { section: ['machine', 'kubelet'], name: 'the kubelet' },
  { section: ['cluster', 'apiServer'], name: 'the API server' },
  { section: ['cluster', 'controllerManager'], name: 'the controller manager' },
  { section: ['cluster', 'scheduler'], name: 'the scheduler' },
] as const

/** 36 for 1.36.3, of the cluster or of the kubelet's image; NaN if unknown. */
const minorOf = ({ main, kubernetesVersion }: Configuration): number =>
  Number(
    /^v?1\.(\d+)/.exec(
      kubernetesVersion ?? main.text('machine', 'kubelet', 'image').split(':').at(-1)!,
    )?.[1],
  )

/** Where kube-proxy is switched off, in both forms; undefined if it runs. */
function proxyOff(config: Configuration): { document: Report; path: string[] } | undefined {
  const path = ['cluster', 'proxy', 'disabled']
  if (config.mainAlone.flag(...path)) return { document: config.main, path }
  const document = config
    .of('KubeProxyConfig')
    .find((one) => one.has('enabled') && !one.flag('enabled'))
  return document && { document, path: ['enabled'] }
}

const discovery = ['cluster', 'discovery'] as const

/** What is wrong with a path of a volume of a static pod, or null. */
function volumeProblem(host: string, mount: string): string | null {
  if (host === '' || mount === '') return 'needs hostPath and mountPath'
  return host.split('/').includes('..') ? `can’t have .. in its hostPath ${host}` : null
}

const etcd = ['cluster', 'etcd'] as const

/**
 * Whether etcd can't listen at a URL beside its own listeners. They are on all addresses, or on
 * those of the networks that it is given, so that a port of another address may be free.
 */
function isTaken(main: Report, url: string): boolean {
  const host = /^https?:\/\/(.*):(?:2379|2380)\/?$/.exec(url)?.[1]
  const isOnAll = !['listenSubnets', 'advertisedSubnets'].some((key) => main.has(...etcd, key))
  return host !== undefined && (isOnAll || ['', '0.0.0.0', '[::]'].includes(host))
}

const metricsPath = [...etcd, 'extraArgs', 'listen-metrics-urls'] as const
/** The URLs of etcd's metrics, of a text with commas or of a list of such texts. */
const metricsUrls = (main: Report): string[] =>
  textsOf(main, metricsPath).flatMap((text) => text.split(','))

/** The folders of the host that static pods get, as paths without empty parts. */
const volumesOf = (main: Report) =>
  images.slice(1).flatMap(({ section, name }) =>
    main.items(...section, 'extraVolumes').map(({ path }) => {
      const [host, mount] = [main.text(...path, 'hostPath'), main.text(...path, 'mountPath')]
      return { name, path, host, mount, folder: folderOf(host) }
    }),
  )

export const clusterLimitRules: readonly RuntimeRule[] = [
  {
    id: 'image-left-out',
    source:
      'Talos pkg/machinery/config/types/v1alpha1/v1alpha1_provider.go, Image: constants.DefaultKubernetesVersion; https://kubernetes.io/releases/version-skew-policy/',
    level: 'warn',
    *find(config) {
      const { main, isWorker } = config
      // Documents of Talos 1.14 can't leave it out.
      for (const { section, name } of images.slice(0, isWorker ? 1 : images.length))
        if (!main.has(...section, 'image'))
          yield {
            document: main,
            path: section,
            sentence: `Without ${section.join('.')}.image, ${name} is of the Kubernetes version that this Talos was built with, whatever version the cluster has: keep the image`,
          }
    },
  },
  {
    id: 'image-of-another-registry',
    source:
      'https://kubernetes.io/blog/2023/03/10/image-registry-redirect/: k8s.gcr.io answers by a redirect, which ends at some point; Kubernetes publishes no image of the kubelet (https://kubernetes.io/releases/download/), Talos does (pkg/machinery/constants, KubeletImage)',
    level: 'warn',
    *find({ main }) {
      for (const { section, name } of images) {
        const path = [...section, 'image']
        const host = main.text(...path).split('/', 1)[0]
        const isKubelet = name === 'the kubelet'
        if (host === 'k8s.gcr.io' || (host === 'registry.k8s.io' && isKubelet))
          yield {
            document: main,
            path,
            sentence: isKubelet
              ? `${host} has no image of the kubelet, so it may not start: write ghcr.io/siderolabs/kubelet`
              : `${host} is given up, and only redirects to registry.k8s.io until it is switched off: write registry.k8s.io`,
          }
      }
    },
  },
  {
    id: 'proxy-off',
    source:
      'Talos docs, "Deploy Cilium CNI": cluster.proxy.disabled goes with a network plugin that replaces kube-proxy; Flannel does not carry Services',
    level: 'warn',
    *find(config) {
      const place = config.isWorker || !config.hasFlannel ? undefined : proxyOff(config)
      if (place !== undefined)
        yield {
          ...place,
          sentence:
            'Without kube-proxy nothing carries Services beside Flannel, so that pods find neither DNS nor the API server: keep kube-proxy, or choose the network plugin none and install one that replaces it',
        }
    },
  },
  {
    id: 'discovery-by-kubernetes',
    source:
      'Talos docs, "Discovery Service": not compatible with Kubernetes 1.32 and later, whose AuthorizeNodeWithSelectors lets a kubelet read only its own Node (siderolabs/talos#9980)',
    level: 'warn',
    *find(config) {
      const { main, isWorker } = config
      const path = [...discovery, 'registries', 'kubernetes', 'disabled']
      const gates = textsOf(main, ['cluster', 'apiServer', 'extraArgs', 'feature-gates']).join()
      const isOn = main.flag(...discovery, 'enabled') && main.has(...path) && !main.flag(...path)
      if (!isWorker && isOn && minorOf(config) >= 32 && !/AuthorizeNodeWithSelectors/.test(gates))
        yield {
          document: main,
          path,
          sentence:
            'With Kubernetes 1.32 and later a server sees only itself in the registry of Kubernetes: use the registry service',
        }
    },
  },
  {
    id: 'kubespan-without-registry',
    // Since 1.14 the service may have a document of its own.
    minors: ['1.12', '1.13'],
    source:
      'Talos internal/app/machined/pkg/controllers/cluster/affiliate_merge.go and kubespan/peer_spec.go: peers are the affiliates that the registries tell',
    level: 'warn',
    *find(config) {
      const { main } = config
      const isOff = (registry: string): boolean =>
        main.flag(...discovery, 'registries', registry, 'disabled')
      const isOn =
        main.flag('machine', 'network', 'kubespan', 'enabled') ||
        config.of('KubeSpanConfig').some((document) => document.flag('enabled'))
      if (!isOn || !main.flag(...discovery, 'enabled')) return
      if (isOff('service') && isOff('kubernetes'))
        yield {
          document: main,
          path: [...discovery, 'registries', 'service', 'disabled'],
          sentence:
            'With both registries of cluster.discovery disabled KubeSpan learns of no other server, so no tunnel comes up',
        }
    },
  },
  {
    id: 'volume-of-pod',
    source:
      'Kubernetes pkg/apis/core/validation/validation.go (v1.35.0), validateHostPathVolumeSource and ValidateVolumeMounts: the kubelet refuses the static pod; containerd internal/cri/opts/spec_linux.go makes the folder of a host, which fails on the read-only root (hpe-storage/csi-driver#379: "failed to mkdir … read-only file system")',
    level: 'refuse',
    *find({ main, isWorker }): Generator<Hit> {
      if (isWorker) return
      for (const { name, path, host, mount, folder } of volumesOf(main)) {
        const problem = volumeProblem(host, mount)
        if (problem !== null)
          yield {
            document: main,
            path,
            sentence: `A volume of ${name} ${problem}, or ${name} does not start`,
          }
        else if (host.startsWith('/') && placeOf(folder) === 'nothing')
          yield {
            document: main,
            path: [...path, 'hostPath'],
            sentence: `The folder ${quoted(host)} can’t be made, because Talos’s root file system is read-only, so ${name} does not start: use a folder below /var, such as /var${folder}`,
          }
      }
    },
  },
  {
    id: 'volume-unknown',
    source:
      'Talos Dockerfile, rootfs, and pkg/machinery/constants, Overlays: /etc and /usr are read-only but for some folders such as /etc/kubernetes (hpe-storage/csi-driver#379: "failed to mkdir "/etc/hpe-storage""). Packages and extensions may bring more files',
    level: 'warn',
    *find({ main, isWorker }): Generator<Hit> {
      if (isWorker) return
      for (const { name, path, host, folder } of volumesOf(main))
        if (
          host.startsWith('/') &&
          !host.split('/').includes('..') &&
          placeOf(folder) === 'unknown'
        )
          yield {
            document: main,
            path: [...path, 'hostPath'],
            sentence: `Talos’s image is not known to have ${quoted(host)}, and nothing can be made there, because /${folder.split('/')[1]} is read-only, so ${name} may not start: use a folder below /var, such as /var${folder}`,
          }
    },
  },
  {
    id: 'etcd-metrics-port',
    source:
      'etcd server/embed/etcd.go, serveMetrics: its own listener; Talos internal/app/machined/pkg/controllers/etcd/spec.go and system/services/etcd.go: etcd listens on 2379 and 2380 of 0.0.0.0, or of the addresses in listenSubnets',
    level: 'refuse',
    *find({ main, isWorker }) {
      if (isWorker) return
      const url = metricsUrls(main).find((one) => isTaken(main, one))
      if (url !== undefined)
        yield {
          document: main,
          path: metricsPath,
          sentence: `etcd itself listens on the port of ${url}, and does not start with it: use another one, such as 2381`,
        }
    },
  },
  {
    id: 'etcd-metrics-loopback',
    source:
      'Talos internal/app/machined/pkg/controllers/etcd/spec.go: beside the addresses in listenSubnets, clients reach etcd at 127.0.0.1, or at ::1 if the server has a routed address of IPv6; members only at the addresses',
    level: 'warn',
    *find({ main, isWorker }) {
      if (isWorker) return
      const url = metricsUrls(main).find(
        (one) =>
          !isTaken(main, one) &&
          /^https?:\/\/(?:127\.0\.0\.1|\[::1\]|localhost):2379\/?$/.test(one),
      )
      if (url !== undefined)
        yield {
          document: main,
          path: metricsPath,
          sentence: `etcd also listens on port 2379 of the server’s address for itself, so it may not start with ${url}: use another port, such as 2381`,
        }
    },
  },
]

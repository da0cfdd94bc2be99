/** Settings that open a component to everybody, and settings of a cluster that differ on a server. */
import { isAddress } from '../../config/formats.ts'
import { type Hit, quoted, type RuntimeRule } from '../rule.ts'
import { lastOf, settingOf } from './values.ts'

const kubelet = ['machine', 'kubelet'] as const
const isOn = (text: string): boolean => /^(1|t|true)$/i.test(text)

export const accessLimitRules: readonly RuntimeRule[] = [
  {
    id: 'open-to-everybody',
    source:
      'Kubernetes docs, "Using Node Authorization" and "Kubelet authentication/authorization": AlwaysAllow allows all requests; a flag of the kubelet wins over its configuration, in which Talos sets Webhook (kubelet_spec.go)',
    level: 'warn',
    *find({ main }) {
      const of = (...path: string[]) => ({
        path,
        text: [...main.texts(...path).map(({ text }) => text), main.text(...path)].join(','),
      })
      const allow = (text: string): boolean =>
        text.split(',').some((mode) => mode.trim() === 'AlwaysAllow')
      const server = of('cluster', 'apiServer', 'extraArgs', 'authorization-mode')
      if (allow(server.text))
        yield {
          document: main,
          path: server.path,
          sentence:
            'With AlwaysAllow everybody whom the API server knows, also each pod, may do everything in the cluster',
        }
      // anonymous-auth alone lets nobody in: the API server then decides about system:anonymous.
      const mode = of(...kubelet, 'extraArgs', 'authorization-mode')
      if (allow(mode.text))
        yield {
          document: main,
          path: mode.path,
          sentence:
            'With authorization-mode: AlwaysAllow the kubelet lets others than the API server read its pods and run commands in them',
        }
    },
  },
  {
    id: 'swap-refused',
    source:
      'Kubernetes pkg/kubelet/cm/container_manager_linux.go: "running with swap on is not supported"; Talos kubelet_spec.go sets failSwapOn: false unless it is set',
    level: 'refuse',
    *find(config) {
      const { main } = config
      const path = settingOf(main, 'failSwapOn')
      if (config.of('SwapVolumeConfig').length === 0 || path === undefined) return
      if (isOn(lastOf(main, path)))
        yield {
          document: main,
          path,
          sentence: `With ${path.at(-1)}: true the kubelet does not start on a server that has swap (SwapVolumeConfig)`,
        }
    },
  },
  {
    id: 'domain-of-pods',
    source:
      'Kubernetes pkg/kubelet/network/dns/dns.go: the kubelet writes its domain into the resolv.conf of pods; CoreDNS answers for cluster.network.dnsDomain',
    level: 'warn',
    *find({ main }) {
      const own = main.text('cluster', 'network', 'dnsDomain')
      const path = settingOf(main, 'clusterDomain')
      const text = path === undefined ? own : lastOf(main, path)
      if (path !== undefined && own !== '' && text !== own)
        yield {
          document: main,
          path,
          sentence: `Pods look for names in ${text}, and the cluster’s domain is ${own}: they don’t find Services by their short names`,
        }
    },
  },
  {
    id: 'dns-of-pods',
    source:
      'Kubernetes pkg/kubelet/kubelet.go, NewMainKubelet: an entry of clusterDNS that is no address is logged and left out',
    level: 'warn',
    *find({ main }): Generator<Hit> {
      if (main.has(...kubelet, 'extraArgs', 'cluster-dns')) return
      for (const { path, text } of main.texts(...kubelet, 'extraConfig', 'clusterDNS'))
        if (!isAddress(text))
          yield {
            document: main,
            path,
            sentence: `${quoted(text)} in clusterDNS is no address, so the kubelet leaves it out`,
          }
    },
  },
  {
    id: 'etcd-image-older',
    source:
      'etcd CHANGELOG-3.6.md, "Breaking Changes": "etcd will no longer start on data dir created by newer versions"; Talos pkg/machinery/constants, DefaultEtcdVersion (3.6 since 1.12)',
    level: 'warn',
    *find({ main }) {
      const path = ['cluster', 'etcd', 'image']
      const image = main.text(...path)
      const older = /:v?(3\.[0-5])\.\d+[^/]*$/.exec(image)?.[1]
      if (older !== undefined)
        yield {
          document: main,
          path,
          sentence: `etcd ${older} does not start on data that etcd 3.6 has written, which Talos runs without an image: leave the image out, unless this cluster has never run it`,
        }
    },
  },
]

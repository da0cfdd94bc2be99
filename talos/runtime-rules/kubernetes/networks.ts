/** Values of Talos's own pod network and of kube-proxy in the documents of Talos 1.14. */
import { quoted, type RuntimeRule } from '../rule.ts'

/** flannel `main.go` at v0.27: the back ends that it registers. */
const backends = 'alivpc alloc extension host-gw ipip ipsec tencent-vpc udp vxlan wireguard'.split(
  ' ',
)
const proxyModes = ['nftables', 'iptables', 'ipvs']

export const podNetworkRules: readonly RuntimeRule[] = [
  {
    id: 'flannel-backend',
    minors: ['1.14'],
    source:
      'flannel pkg/backend/manager.go, GetBackend: "unknown backend type", of the name in lower case; Talos 1.14 pkg/machinery/config/types/k8s/flannel.go checks only that it is not empty',
    level: 'refuse',
    *find(config) {
      if (config.isWorker) return
      for (const document of config.of('KubeFlannelCNIConfig')) {
        const type = document.text('backendType')
        if (type !== '' && !backends.includes(type.toLowerCase()))
          yield {
            document,
            path: ['backendType'],
            sentence: `Flannel has no back end ${quoted(type)} (${backends.join(', ')}), so the pods get no network`,
          }
      }
    },
  },
  {
    id: 'proxy-config-mode',
    minors: ['1.14'],
    source:
      'Kubernetes pkg/proxy/apis/config/validation/validation.go, validateProxyModeLinux; Talos 1.14 checks the mode of the document, not that in its config',
    level: 'refuse',
    *find(config) {
      if (config.isWorker) return
      for (const document of config.of('KubeProxyConfig')) {
        const mode = document.text('config', 'mode')
        if (mode !== '' && !proxyModes.includes(mode))
          yield {
            document,
            path: ['config', 'mode'],
            sentence: `${quoted(mode)} is no mode of kube-proxy (${proxyModes.join(', ')}), so it does not start on any node`,
          }
      }
    },
  },
]

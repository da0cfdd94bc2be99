/** Patches that violate the rules of `limits/`. */
import type { Cases } from './case.ts'

const kubelet = (text: string): string => `machine: {kubelet: {extraConfig: {${text}}}}`
const kubeletArgs = (text: string): string => `machine: {kubelet: {extraArgs: {${text}}}}`
const args = (section: string, text: string): string =>
  `cluster: {${section}: {extraArgs: {${text}}}}`

const mount = (text: string): string =>
  `machine: {kubelet: {extraMounts: [{destination: /var/lib/a, source: /var/lib/a, ${text}}]}}`
const pod = (name: string, containers: string): string =>
  `machine: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: ${name}}, spec: {containers: [${containers}]}}]}`
const volume = (section: string, mountPath: string): string =>
  `cluster: {${section}: {extraVolumes: [{hostPath: /var/x, mountPath: ${mountPath}}]}}`

const swap =
  '---\napiVersion: v1alpha1\nkind: SwapVolumeConfig\nname: swap\nprovisioning: {minSize: 1GiB, maxSize: 2GiB, diskSelector: {match: "!system_disk"}}\n'

export const casesOfLimits: Cases = {
  'open-to-everybody': {
    bad: [
      args('apiServer', 'authorization-mode: "Node,RBAC,AlwaysAllow"'),
      kubeletArgs('authorization-mode: AlwaysAllow'),
      kubeletArgs('authorization-mode: [AlwaysAllow], anonymous-auth: "true"'),
    ],
    good: [
      kubeletArgs('anonymous-auth: "true"'),
      args('apiServer', 'authorization-mode: "Node,RBAC"'),
      kubeletArgs('anonymous-auth: "false", authorization-mode: Webhook'),
    ],
  },
  'swap-refused': {
    bad: [
      `${kubelet('failSwapOn: true')}\n${swap}`,
      `${kubeletArgs('fail-swap-on: "true"')}\n${swap}`,
      `${kubelet('failSwapOn: true, maxPods: 100')}\n${swap}`,
      `${kubeletArgs('fail-swap-on: ["false", "true"]')}\n${swap}`,
    ],
    good: [
      kubelet('failSwapOn: true'),
      `${kubelet('failSwapOn: false')}\n${swap}`,
      `${kubelet('failSwapOn: true}, extraArgs: {fail-swap-on: "false"')}\n${swap}`,
    ],
  },
  'domain-of-pods': {
    bad: [
      kubelet('clusterDomain: k8s.example.org'),
      kubeletArgs('cluster-domain: k8s.example.org'),
      `${kubelet('clusterDomain: cluster.local')}\ncluster: {network: {dnsDomain: a.example.org}}`,
    ],
    good: [
      kubelet('clusterDomain: cluster.local'),
      kubelet('clusterDomain: a.example.org}, extraArgs: {cluster-domain: cluster.local'),
      kubeletArgs('cluster-domain: [cluster.local]'),
    ],
  },
  'dns-of-pods': {
    bad: ['dns.example.org', '10.96.0.10:53', '10.96.0'].map((one) =>
      kubelet(`clusterDNS: ["${one}"]`),
    ),
    good: [kubelet('clusterDNS: [10.96.0.10, 169.254.20.10]')],
  },
  'etcd-image-older': {
    bad: [
      'gcr.io/etcd-development/etcd:v3.5.21',
      'registry.k8s.io/etcd:3.5.9-0',
      'a.example.org:5000/etcd:v3.4.3',
    ].map((image) => `cluster: {etcd: {image: "${image}"}}`),
    good: ['registry.k8s.io/etcd:v3.6.5', 'registry.k8s.io/etcd:3.6.5-0'].map(
      (image) => `cluster: {etcd: {image: "${image}"}}`,
    ),
  },
  'static-pod-form': {
    bad: [
      pod('a', ''),
      pod('A_b', '{name: a, image: b}'),
      pod('a', '{name: a}'),
      pod('a', '{name: a, image: b}, {name: a, image: c}'),
    ],
    good: [
      pod('nginx.a', '{name: a, image: b}, {name: c, image: d}'),
      pod('a'.repeat(80), '{name: a, image: b}'),
    ],
  },
  'kubelet-mount-type': {
    bad: [mount('type: bind'), mount('options: [rshared, rw]'), mount('type: none, options: [rw]')],
    good: [mount('type: bind, options: [bind, rshared, rw]'), mount('options: [rbind, ro]')],
  },
  'kubelet-mount-twice': {
    bad: ['/var/lib/a', '/var/lib/a/', '/var/lib/a'].map((destination) =>
      mount(
        `options: [bind]}, {destination: ${destination}, source: /var/mnt/b, type: bind, options: [bind]`,
      ),
    ),
    good: [mount('options: [bind]}, {destination: /var/b, source: /var/b, options: [bind]')],
  },
  'volume-of-talos': {
    bad: [
      volume('apiServer', '/system/secrets/kubernetes/kube-apiserver'),
      volume('apiServer', '/var/log/audit/kube'),
      volume('scheduler', '/system/config/kubernetes/kube-scheduler'),
    ],
    good: ['/var/lib/x', '/var/log/audit/kube/'].map((at) => volume('apiServer', at)),
  },
  'removed-from-kubernetes': {
    bad: [
      args('apiServer', 'cloud-config: /etc/cloud.conf'),
      kubeletArgs('cloud-config: /etc/cloud.conf'),
      kubeletArgs('pod-infra-container-image: x'),
    ],
    good: [kubeletArgs('v: 2')],
  },
  'feature-gate': {
    bad: [
      args('apiServer', 'feature-gates: "TTLAfterFinished=true,MutatingAdmissionPolicy=true"'),
      args('scheduler', 'feature-gates: EphemeralContainers=true'),
      args('controllerManager', 'feature-gates: [AllAlpha=true, HPAScaleToZeros=true]'),
      args('apiServer', 'feature-gates: "kube:UserNamespacesPodSecurityStandards=true"'),
      kubelet('featureGates: {AppArmor: true}'),
      kubelet('featureGates: {UserNamespacesPodSecurityStandards: true}'),
      kubeletArgs('feature-gates: GracefulNodeShutdowns=true'),
    ],
    good: [
      args('apiServer', 'feature-gates: "MutatingAdmissionPolicy=true, AllBeta=true,"'),
      args('apiServer', 'feature-gates: kube:WatchList=true'),
      kubelet('featureGates: {NodeSwap: true, ContextualLogging: true}'),
      'machine: {kubelet: {image: "a/kubelet:v1.31.0", extraConfig: {featureGates: {KMSv2: true}}}}',
      'machine: {kubelet: {image: "a/kubelet:v1.99.0", extraConfig: {featureGates: {New: true}}}}',
    ],
  },
  'feature-gate-locked': {
    bad: [
      kubelet('featureGates: {NodeSwap: false}'),
      args('apiServer', 'feature-gates: "AllBeta=true,DynamicResourceAllocation=false"'),
      args('scheduler', 'feature-gates: [DynamicResourceAllocation=0]'),
    ],
    good: [
      kubelet('featureGates: {NodeSwap: true}'),
      'machine: {kubelet: {image: "a/kubelet:v1.33.0", extraConfig: {featureGates: {NodeSwap: false}}}}',
    ],
  },
  'api-version': {
    bad: [
      args('apiServer', 'runtime-config: batch/v2alpha1=true'),
      args('apiServer', 'runtime-config: "api/all=true,autoscaling/v2beta2=true"'),
      args('apiServer', 'runtime-config: [batch/v1=true, a.io/v1=true]'),
      args('apiServer', 'runtime-config: api/v1=true'),
    ],
    good: [
      args('apiServer', 'runtime-config: "v1=true,batch/v1=true,apps/v1/deployments=false"'),
      args('apiServer', 'runtime-config: "api/alpha=true,resource.k8s.io/v1beta1=true"'),
      'cluster: {apiServer: {image: "a/kube-apiserver:v1.35.1", extraArgs: {runtime-config: autoscaling/v2beta2=true}}}',
      'cluster: {apiServer: {image: "a/kube-apiserver:v1.31.1", extraArgs: {runtime-config: batch/v9=true}}}',
    ],
  },
  'api-version-of-old-minor': {
    bad: ['batch/v2alpha1=true', 'a.io/v1', '[v1=true, node.k8s.io/v2/x=true]'].map(
      (text) =>
        `cluster: {apiServer: {image: "a/kube-apiserver:v1.31.1", extraArgs: {runtime-config: ${text}}}}`,
    ),
    good: [args('apiServer', 'runtime-config: batch/v2alpha1=true')],
  },
  'sysctl-harmful': {
    bad: [
      'kernel.modules_disabled: "1"',
      'net.bridge.bridge-nf-call-iptables: "0"',
      'net/bridge/bridge-nf-call-ip6tables: "0"',
    ].map((text) => `machine: {sysctls: {${text}}}`),
    good: [
      'machine: {sysctls: {net.bridge.bridge-nf-call-iptables: "1"}}',
      'machine: {sysctls: {net.bridge.bridge-nf-call-iptables: "0"}}\ncluster: {network: {cni: {name: none}}}',
    ],
  },
  'kubelet-range': {
    bad: [
      'maxPods: -1',
      'containerLogMaxFiles: 1',
      'oomScoreAdj: -1001',
      'enforceNodeAllocatable: [pods, system]',
      'enforceNodeAllocatable: [none, pods]',
      'tlsCipherSuites: [ECDHE-RSA-AES128-GCM-SHA256]',
      'imageMaximumGCAge: 1m',
      'serializeImagePulls: true, maxParallelImagePulls: 5',
      'shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 60}]',
      'shutdownGracePeriod: 500ms, shutdownGracePeriodCriticalPods: 0s',
      'containerLogMonitorInterval: 1s',
      'runOnce: true',
      'reservedSystemCPUs: "0..3"',
      'reservedSystemCPUs: "3-0"',
      'reservedSystemCPUs: "0-99999999999"',
      'maxPods: 100}, extraArgs: {reserved-cpus: "0,8192"',
      'reservedSystemCPUs: "0-3", systemReservedCgroup: /system',
      'allowedUnsafeSysctls: [net.core.somaxconn, vm.max_map_count]',
      'allowedUnsafeSysctls: ["kernel.*"]',
      'allowedUnsafeSysctls: [fs/inotify/max_user_watches]',
      'allowedUnsafeSysctls: ["net.core.somaxconn=1024"]',
      'maxPods: 100}, extraArgs: {allowed-unsafe-sysctls: "net.core.somaxconn,kernel.pid_max"',
      'maxPods: 100}, extraArgs: {enforce-node-allocatable: "pods,system"',
      'maxPods: 100}, extraArgs: {tls-cipher-suites: ECDHE-RSA-AES128-GCM-SHA256',
    ].map(kubelet),
    good: [
      'maxPods: 250, oomScoreAdj: -450, nodeStatusMaxImages: -1',
      'registryPullQPS: -1, maxPods: -1}, extraArgs: {registry-qps: "5", max-pods: "110"',
      'imageMaximumGCAge: 168h, maxParallelImagePulls: 5',
      'enforceNodeAllocatable: [none]',
      'allowedUnsafeSysctls: ["kernel.shm*", "kernel.msg*", kernel.sem, "fs.mqueue.*", "net.*", net/ipv4/conf/eth0.5/forwarding]',
      'allowedUnsafeSysctls: [kernel.domainname, "user.*"]',
      'allowedUnsafeSysctls: [vm.swappiness]}, extraArgs: {allowed-unsafe-sysctls: "net.*,kernel.msgmax"',
      'shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 60}], shutdownGracePeriod: 0s, shutdownGracePeriodCriticalPods: 0s',
      'shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 60}], shutdownGracePeriod: 0s, shutdownGracePeriodCriticalPods: null',
      'reservedSystemCPUs: "0-3,8"',
      'reservedSystemCPUs: "0..3"}, extraArgs: {reserved-cpus: "8191"',
      'tlsCipherSuites: [TLS_CHACHA20_POLY1305_SHA256, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305]',
      'imageMaximumGCAge: 90s}, extraArgs: {minimum-image-ttl-duration: 1m',
      'serializeImagePulls: true, maxParallelImagePulls: 5}, extraArgs: {serialize-image-pulls: "false"',
    ].map(kubelet),
  },
  'kubelet-reserved': {
    bad: [
      kubelet('systemReserved: {cpu: lots}'),
      kubelet('kubeReserved: {memory: 512 Mi}'),
      kubelet('kubeReserved: {ephemeral_storage: 1Gi}'),
      kubeletArgs('system-reserved: "cpu=500m,memory=1GB"'),
    ],
    good: [
      kubelet('systemReserved: {cpu: 500m, memory: 1Gi, ephemeral-storage: 2e9, pid: "100"}'),
      kubeletArgs('kube-reserved: "cpu=0.25,memory=1500Mi"'),
      kubelet('systemReserved: {cpu: lots}}, extraArgs: {system-reserved: "cpu=1"'),
      kubeletArgs('kube-reserved: ["cpu=250m, memory=1.5Gi"], system-reserved: "pid=100"'),
    ],
  },
  'kubelet-eviction': {
    bad: [
      kubelet('evictionHard: {memory.available: lots}'),
      kubelet('evictionHard: {memory.free: 5%}'),
      kubelet('evictionHard: {nodefs.available: 101%}'),
      kubelet('evictionSoft: {memory.available: 500Mi}'),
      kubelet(
        'evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {memory.available: "90"}',
      ),
      kubeletArgs('eviction-hard: "memory.available=500Mi"'),
    ],
    good: [
      kubelet(
        'evictionHard: {memory.available: 500Mi, nodefs.available: 10%, imagefs.inodesFree: 0%}',
      ),
      kubelet(
        'evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {memory.available: 1m30s}',
      ),
      kubeletArgs('eviction-hard: "memory.available<300Mi,nodefs.available<10%"'),
      kubelet(
        'evictionHard: {allocatableMemory.available: 5%, memory.available: .5%, pid.available: "100", containerfs.inodesFree: 5%}',
      ),
      kubelet('evictionSoft: {memory.available: 0%, nodefs.available: 100%}'),
    ],
  },
  'kubelet-static-policy': {
    bad: [
      kubelet('cpuManagerPolicy: static, systemReserved: {memory: 1Gi}'),
      kubeletArgs('cpu-manager-policy: static, system-reserved: memory=1Gi'),
      kubelet('memoryManagerPolicy: Static'),
      kubeletArgs('cpu-manager-policy: [static], system-reserved: memory=1Gi'),
    ],
    good: [
      kubelet('cpuManagerPolicy: static'),
      kubelet('cpuManagerPolicy: static, systemReserved: {cpu: 500m}'),
      kubelet('cpuManagerPolicy: static, systemReserved: {memory: 1Gi}, kubeReserved: {cpu: 50m}'),
      kubeletArgs('cpu-manager-policy: static, system-reserved: memory=1Gi, kube-reserved: cpu=1'),
      kubelet(
        'cpuManagerPolicy: static, systemReserved: {memory: 1Gi}}, extraArgs: {cpu-manager-policy: none',
      ),
      kubelet('cpuManagerPolicy: static, systemReserved: {memory: 1Gi}, reservedSystemCPUs: "0"'),
      kubelet(
        'memoryManagerPolicy: Static, reservedMemory: [{numaNode: 0, limits: {memory: 612Mi}}]',
      ),
    ],
  },
  'kubelet-policy-option': {
    bad: [
      'cpuManagerPolicyOptions: {full-pcpus-only: "true"}',
      'cpuManagerPolicy: static, cpuManagerPolicyOptions: {full-pcpu-only: "true"}',
      'cpuManagerPolicy: static, cpuManagerPolicyOptions: {full-pcpus-only: "yes"}',
      'cpuManagerPolicy: static, cpuManagerPolicyOptions: {full-pcpus-only: "true", distribute-cpus-across-cores: "true"}',
      'cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node, cpuManagerPolicyOptions: {align-by-socket: "true"}',
      'topologyManagerPolicy: restricted, topologyManagerPolicyOptions: {prefer-closest-numa: "true"}',
      'topologyManagerPolicy: restricted, topologyManagerPolicyOptions: {max-allowable-numa-nodes: "4"}',
      'cpuManagerPolicy: static}, extraArgs: {cpu-manager-policy-options: "full-pcpus-only=true,strict-cpu-reservation=true"',
      'cpuManagerPolicy: static, cpuManagerPolicyOptions: {full-pcpus-only: "true"}}, extraArgs: {cpu-manager-policy: none',
    ].map(kubelet),
    good: [
      'cpuManagerPolicy: static, cpuManagerPolicyOptions: {full-pcpus-only: "true", distribute-cpus-across-numa: "1", strict-cpu-reservation: "false"}',
      'cpuManagerPolicyOptions: {}',
      'topologyManagerPolicyOptions: {prefer-closest-numa: "true"}',
      'topologyManagerPolicy: best-effort, topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true", max-allowable-numa-nodes: "12"}',
      'cpuManagerPolicy: static}, extraArgs: {cpu-manager-policy-options: [full-pcpus-only=true, strict-cpu-reservation=true]',
    ].map(kubelet),
  },
  'kubelet-alpha-option': {
    bad: [
      'cpuManagerPolicyOptions: {align-by-socket: "true"}',
      'cpuManagerPolicyOptions: {distribute-cpus-across-cores: "false"}',
      'cpuManagerPolicyOptions: {align-by-socket: "true"}, featureGates: {CPUManagerPolicyAlphaOptions: false}',
    ].map((text) => kubelet(`cpuManagerPolicy: static, ${text}`)),
    good: [
      'cpuManagerPolicyOptions: {strict-cpu-reservation: "true"}',
      'cpuManagerPolicyOptions: {align-by-socket: "true"}, featureGates: {CPUManagerPolicyAlphaOptions: true}',
      'cpuManagerPolicyOptions: {align-by-socket: "true"}}, extraArgs: {feature-gates: "AllAlpha=true"',
    ].map((text) => kubelet(`cpuManagerPolicy: static, ${text}`)),
  },
  'kubelet-cut-off': {
    bad: [
      kubelet('registerNode: false'),
      kubelet('enableServer: false'),
      kubeletArgs('register-node: "false"'),
      kubeletArgs('register-node: ["false"]'),
    ],
    good: [
      kubelet('registerNode: true, enableServer: true'),
      kubelet('registerNode: false}, extraArgs: {register-node: "true"'),
      'machine: {kubelet: {skipNodeRegistration: true, extraConfig: {registerNode: false}}}',
    ],
  },
  'kubelet-listens-to-itself': {
    bad: [
      kubelet('address: 127.0.0.1'),
      kubelet('address: "::1"'),
      kubeletArgs('address: 127.0.0.1'),
      kubeletArgs('address: [0.0.0.0, 127.0.0.1]'),
    ],
    good: [kubelet('address: "::"'), kubelet('address: 127.0.0.1}, extraArgs: {address: 0.0.0.0')],
  },
  'pods-beyond-addresses': {
    bad: [
      kubelet('maxPods: 500'),
      kubeletArgs('max-pods: "254"'),
      kubeletArgs('max-pods: ["254"]'),
      `${kubelet('maxPods: 200')}\n${args('controllerManager', 'node-cidr-mask-size: "25"')}`,
    ],
    good: [
      kubelet('maxPods: 250'),
      kubelet('maxPods: 500}, extraArgs: {max-pods: "110"'),
      `${kubelet('maxPods: 500')}\n${args('controllerManager', 'node-cidr-mask-size: "22"')}`,
      `${kubelet('maxPods: 500')}\n${args('controllerManager', 'node-cidr-mask-size: ["22"]')}`,
      `${kubelet('maxPods: 500')}\ncluster: {network: {cni: {name: none}}}`,
    ],
  },
  'kubelet-node-address': {
    bad: ['eth0', '10.0.0.5/24', '127.0.0.1'].map((text) => kubeletArgs(`node-ip: ${text}`)),
    good: ['10.0.0.5', '"10.0.0.5,fd00::5"', '"::"', '""', '[10.0.0.5]'].map((text) =>
      kubeletArgs(`node-ip: ${text}`),
    ),
  },
  'kubelet-cloud-provider': {
    bad: ['aws', 'vsphere', 'openstack'].map((text) => kubeletArgs(`cloud-provider: ${text}`)),
    good: ['external', '[external]', '""'].map((text) => kubeletArgs(`cloud-provider: ${text}`)),
  },
  'component-argument-limit': {
    bad: [
      'goaway-chance: "0.5"',
      'service-account-max-token-expiration: 30m',
      'max-requests-inflight: "-1"',
      'tls-cipher-suites: "TLS_AES_128_GCM_SHA256,ECDHE-RSA-AES128"',
      'oidc-issuer-url: "https://a.example.org"',
      'oidc-groups-claim: groups, oidc-client-id: k',
    ].map((text) => args('apiServer', text)),
    good: [
      'goaway-chance: "0.001", service-account-max-token-expiration: 24h',
      'tls-cipher-suites: "TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"',
      'oidc-issuer-url: "https://a.example.org", oidc-client-id: k, oidc-groups-prefix: ""',
      'goaway-chance: "0.02", service-account-max-token-expiration: 4294967296s',
    ].map((text) => args('apiServer', text)),
  },
  'leader-election': {
    bad: [
      args('controllerManager', 'leader-elect-lease-duration: 5s'),
      args('scheduler', 'leader-elect-renew-deadline: 20s'),
      args('scheduler', 'leader-elect-retry-period: 9s'),
    ],
    good: [
      args('scheduler', 'leader-elect-lease-duration: 60s, leader-elect-renew-deadline: 40s'),
      args('scheduler', 'leader-elect: "false", leader-elect-lease-duration: 5s'),
    ],
  },
  'argument-of-cluster': {
    bad: [
      args('apiServer', 'service-cluster-ip-range: 10.1.0.0/16'),
      args('controllerManager', 'cluster-cidr: 10.1.0.0/16'),
      args('apiServer', 'secure-port: "8443"'),
      args('apiServer', 'bind-address: 127.0.0.1'),
      args('etcd', 'initial-cluster-state: new'),
      args('etcd', 'force-new-cluster: "true"'),
      args('etcd', 'unsafe-no-fsync: "true"'),
    ],
    good: [
      args('apiServer', 'service-cluster-ip-range: 10.96.0.0/12, secure-port: "6443"'),
      args('controllerManager', 'cluster-cidr: 10.244.0.0/16'),
      args('apiServer', 'bind-address: "::"'),
      args('etcd', 'force-new-cluster: "false"'),
      args('apiServer', 'service-cluster-ip-range: "10.96.0.0/12,fd00:10::/112"'),
      args('apiServer', 'secure-port: 6443'),
      'cluster: {network: {serviceSubnets: ["fd00:10:0::/112"]}, apiServer: {extraArgs: {service-cluster-ip-range: "FD00:10::0/112, 10.96.0.0/12"}}}',
    ],
  },
  'etcd-argument-removed': {
    bad: ['enable-v2: "true"', 'proxy: "on"', 'proxy-dial-timeout: "1000"'].map((text) =>
      args('etcd', text),
    ),
    good: [
      args('etcd', 'snapshot-count: "10000"'),
      'cluster: {etcd: {image: "a.example.org:5000/etcd:v3.5.21", extraArgs: {enable-v2: "false"}}}',
    ],
  },
  'etcd-argument-of-talos': {
    bad: [
      'experimental-initial-corrupt-check: "true"',
      'experimental-watch-progress-notify-interval: 10s',
      'experimental-compact-hash-check-enabled: "true"',
    ].map((text) => args('etcd', text)),
    good: [args('etcd', 'experimental-compaction-batch-limit: "500"')],
  },
  'etcd-argument-experimental': {
    bad: [
      'experimental-initial-corrupt-check: "true"',
      'experimental-compaction-batch-limit: "500"',
      'experimental-warning-apply-duration: 1s',
    ].map((text) => args('etcd', text)),
    good: [
      args('etcd', 'compaction-batch-limit: "500"'),
      'cluster: {etcd: {image: "registry.k8s.io/etcd:3.6.5-0", extraArgs: {experimental-compaction-batch-limit: "500"}}}',
    ],
  },
  'network-of-nodes-off': {
    bad: [
      args('controllerManager', 'allocate-node-cidrs: "false"'),
      args('apiServer', 'allow-privileged: "false"'),
      args('apiServer', 'enable-bootstrap-token-auth: "false"'),
    ],
    good: [
      `cluster:\n  network: {cni: {name: none}}\n  controllerManager: {extraArgs: {allocate-node-cidrs: "false"}}`,
      args('apiServer', 'allow-privileged: "true"'),
    ],
  },
}

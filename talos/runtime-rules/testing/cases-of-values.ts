/** Like `cases.ts`, for values of components, of the kubelet and of the kernel. */
import type { Cases } from './case.ts'

const kubelet = (config: string): string => `machine: {kubelet: {${config}}}`
const kubeletConfig = (config: string): string => kubelet(`extraConfig: {${config}}`)
const cluster = (config: string): string => `cluster: {${config}}`
const install = (args: string): string =>
  `machine: {install: {grubUseUKICmdline: false, extraKernelArgs: [${args}]}}`
const customization = (content: string): string =>
  `machine: {files: [{path: /etc/cri/conf.d/20-customization.part, op: create, content: ${JSON.stringify(content)}}]}`
const admission = (config: string): string =>
  cluster(`apiServer: {admissionControl: [{name: PodSecurity, configuration: {${config}}}]}`)

const words = (text: string): string[] => text.split(/\s+/)
const mounted = (source: string): string =>
  kubelet(`extraMounts: [{destination: /x, type: bind, source: ${source}, options: [bind]}]`)

export const casesOfValues: Cases = {
  'kubelet-value': {
    bad: [
      'shutdownGracePeriod: 30s, shutdownGracePeriodCriticalPods: 60s',
      'shutdownGracePeriod: 5s',
      'imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 80',
      'imageGCHighThresholdPercent: 75',
      'cpuManagerPolicy: Static',
      'memorySwap: {swapBehavior: UnlimitedSwap}',
      'logging: {format: jsno}',
      'maxPods: 100}, extraArgs: {cpu-manager-policy: statc',
      'topologyManagerPolicy: none}, extraArgs: {topology-manager-policy: [strict]',
      'registerWithTaints: [{key: dedicated, value: storage, effect: NoSchedul}]',
    ].map(kubeletConfig),
    good: [
      'shutdownGracePeriod: 60s, shutdownGracePeriodCriticalPods: 20s',
      'imageGCHighThresholdPercent: 75, imageGCLowThresholdPercent: 70, cpuManagerPolicy: static',
      'registerWithTaints: [{key: dedicated, value: storage, effect: NoSchedule}]',
      'logging: {format: jsno}, cpuManagerPolicy: Static}, extraArgs: {logging-format: text, cpu-manager-policy: none',
    ].map(kubeletConfig),
  },
  'kubelet-argument': {
    // talos#7977: one letter less.
    bad: ['rotate-server-certificate: "true"', 'maxPods: "250"', 'max-pod: "250"'].map((one) =>
      kubelet(`extraArgs: {${one}}`),
    ),
    good: [
      'rotate-server-certificates: "true", max_pods: "250", v: "4", node-ip: 10.0.0.5',
      'cloud-provider: external, image-credential-provider-config: /x',
    ].map((one) => kubelet(`extraArgs: {${one}}`)),
  },
  'kubelet-mount': {
    bad: words(
      `/data /storage/a /longhorn/x /mnt/data /root/x /boot/x tmpfs /etc/../data /etc/hosts
      /etc/ssl/certs/ca-certificates.crt ""`,
    ).map(mounted),
    good: words(
      `/var/mnt/data /dev /etc/cni /run/x /mnt /opt/cni/bin /sys/fs/bpf /lib/modules
      /usr/libexec/kubernetes var/x /etc/own /usr/share/zoneinfo`,
    ).map(mounted),
  },
  'kubelet-mount-unknown': {
    bad: ['/etc/iscsi2', '/usr/share/x', '/lib/x', '/usr/local/x', '/etc/ssl/own'].map(mounted),
    good: words(
      `/etc/iscsi /etc/ssl/certs /etc/kubernetes/x /etc/cni/net.d/x /usr/lib /lib/modules/x
      /usr/local/lib/kubelet/credentialproviders /lib64 /mnt/x`,
    ).map(mounted),
  },
  'kubelet-mount-flexvolume': {
    bad: ['', '/kubelet-plugins', '/kubelet-plugins/volume/exec'].map((more) =>
      mounted(`/usr/libexec/kubernetes${more}`),
    ),
    good: ['/var/lib/kubelet/plugins', '/usr/libexec'].map(mounted),
  },
  'component-argument-typed': {
    bad: [
      'etcd: {extraArgs: {election-timout: "5000"}}',
      'apiServer: {extraArgs: {service-node-port-ranges: "1-2"}}',
      'controllerManager: {extraArgs: {node-cidr-masksize: "25"}}',
      'proxy: {extraArgs: {ipvs-strictarp: "true"}}',
    ].map(cluster),
    good: [
      'etcd: {extraArgs: {quota-backend-bytes: "8589934592"}}',
      'apiServer: {extraArgs: {audit-log-mode: batch, oidc-issuer-url: "https://a.example.org"}}',
    ].map(cluster),
  },
  'component-resources': {
    bad: [
      'apiServer: {resources: {requests: {memory: 1 Gi}}}',
      'scheduler: {resources: {limits: {cpu: half}}}',
      'controllerManager: {resources: {requests: {memory: 512MB}}}',
    ].map(cluster),
    good: [
      'apiServer: {resources: {requests: {memory: 1.5Gi, cpu: 500m}, limits: {cpu: "2"}}}',
    ].map(cluster),
  },
  'proxy-mode': {
    bad: ['ipvsx', 'IPVS', 'ebpf'].map((mode) => cluster(`proxy: {mode: ${mode}}`)),
    good: ['ipvs', 'nftables'].map((mode) => cluster(`proxy: {mode: ${mode}}`)),
  },
  'etcd-timing': {
    bad: [
      'heartbeat-interval: "500"',
      'heartbeat-interval: "2000", election-timeout: "5000"',
      'election-timeout: "60000"',
    ].map((one) => cluster(`etcd: {extraArgs: {${one}}}`)),
    good: ['"5000"', '["5000"]'].map((election) =>
      cluster(`etcd: {extraArgs: {heartbeat-interval: "500", election-timeout: ${election}}}`),
    ),
  },
  'node-network-size': {
    bad: [
      'node-cidr-mask-size: "12"',
      'node-cidr-mask-size-ipv4: "12"',
      'node-cidr-mask-size: "33"',
      'cluster-cidr: "fd00::/56", node-cidr-mask-size: "80"',
    ].map((one) => cluster(`controllerManager: {extraArgs: {${one}}}`)),
    good: [
      cluster('controllerManager: {extraArgs: {node-cidr-mask-size: "25"}}'),
      cluster(
        'controllerManager: {extraArgs: {node-cidr-mask-size: "12", allocate-node-cidrs: "false"}}',
      ),
    ],
  },
  'admission-version': {
    bad: [
      'apiVersion: pod-security.admission.config.k8s.io/v2',
      'apiVersion: policy/v1',
      'kind: PodSecurityPolicy',
    ].map(admission),
    good: ['apiVersion: pod-security.admission.config.k8s.io/v1beta1'].map(admission),
  },
  'custom-network-plugin': {
    bad: ['{name: custom}', '{name: custom, urls: []}', '{name: custom, urls: null}'].map((cni) =>
      cluster(`network: {cni: ${cni}}`),
    ),
    good: [
      cluster('network: {cni: {name: custom, urls: ["https://a.example.org/b.yaml"]}}'),
      cluster('network: {cni: {name: none}}'),
    ],
  },
  'kernel-argument': {
    bad: [
      'talos.experimental.wipe=system',
      '"talos.experimental.wipe=system:EPHEMERAL,STATE"',
      'talos.halt_if_installed=1',
      '"vlan=eth0.5000:eth0"',
      '"talos.config=https://a.example.org/b"',
    ].map(install),
    good: ['net.ifnames=0, console=ttyS0', '-talos.config', '"vlan=eth0.100:eth0"'].map(install),
  },
  'kernel-module': {
    bad: ['"nvidia "', 'zfs.ko', '/lib/modules/x'].map(
      (name) => `machine: {kernel: {modules: [{name: ${name}}]}}`,
    ),
    good: ['machine: {kernel: {modules: [{name: nvidia_uvm}, {name: br-netfilter}]}}'],
  },
  'proxy-address': {
    bad: [
      'http_proxy: "http://proxy:99999"',
      'HTTPS_PROXY: "proxy example"',
      'https_proxy: "ftp://p"',
    ].map((one) => `machine: {env: {${one}}}`),
    good: [
      'machine: {env: {http_proxy: "proxy.example.org:3128", no_proxy: 10.0.0.0/8}}',
      'machine: {env: {HTTPS_PROXY: "http://user:word@10.0.0.1:3128"}}',
    ],
  },
  'sysctl-value': {
    bad: [
      'fs.inotify.max_user_watches: lots',
      'net.ipv4.ip_forward: true',
      'vm/max_map_count: "262144;"',
      'vm.max_map_count: "${COUNT}"',
    ].map((one) => `machine: {sysctls: {${one}}}`),
    good: [
      'vm.max_map_count: 262144, net.ipv4.tcp_rmem: "4096 87380 16777216", kernel.core_pattern: "|x"',
      'net.core.default_qdisc: fq, net.ipv4.tcp_congestion_control: bbr',
    ].map((one) => `machine: {sysctls: {${one}}}`),
  },
  'file-below-file': {
    bad: ['/var/a/b', '/var/a/b/c', '/var/a/x.conf'].map(
      (path) =>
        `machine: {files: [{path: /var/a, op: create, content: x}, {path: ${path}, op: create, content: z}]}`,
    ),
    good: [
      'machine: {files: [{path: /var/a/b, op: create, content: x}, {path: /var/a/bc, op: create, content: z}]}',
    ],
  },
  'file-twice': {
    bad: ['/var/a', '/etc/hosts', '/var/lib/b'].map((path) => {
      const op = path.startsWith('/etc') ? 'overwrite' : 'create'
      return `machine: {files: [{path: ${path}, op: ${op}, content: x}, {path: ${path}, op: ${op}, content: z}]}`
    }),
    good: [
      'machine: {files: [{path: /var/a, op: create, content: x}, {path: /var/a, op: append, content: z}]}',
    ],
  },
  'file-customization-toml': {
    bad: [
      '[plugins\n  disable = true\n',
      '[plugins."io.containerd.nri.v1.nri"]\n  disable = true\n[plugins."io.containerd.nri.v1.nri"]\n  a = 1\n',
      '[metrics]\naddress: "0.0.0.0:11234"\n',
      '[metrics]\naddress = 0.0.0.0:11234x\naddress = "a"\n',
      '[metrics]\naddress = localhost\n',
      '[a]\nb = [1,\n 2\n',
      'a = "x',
      "a = 'x\n",
      'a = 1\na.b = 2\n',
      'a = 9223372036854775808\n',
      '\u{FEFF}a = 1\n',
    ].map(customization),
    good: [
      // talos#9550, talos#11132
      '[plugins]\n  [plugins."io.containerd.nri.v1.nri"]\n    disable = false\n',
      '# comment\n[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]\n  discard_unpacked_layers = false # x\n  a.b = "c"\n  list = [\n    "x",\n  ]\n',
      '[[a]]\n[a.b] # x]\n[[a]]\n[a.b]\n',
      '[a."b]c"]\nd = 1\n',
      'a = "x \\" [ y"\n',
      'a = \'x " [ y\' # "\nb = 9223372036854775807\n',
      'a = """\nb = ""\n[c\n"""\n',
      '',
    ].map(customization),
  },
  'server-on-itself': {
    bad: [
      'machine: {network: {nameservers: [127.0.0.1]}}',
      'machine: {time: {servers: [0.0.0.0]}}',
      'apiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: "::1"}]',
    ],
    good: ['machine: {network: {nameservers: [10.0.0.1]}, time: {servers: [10.0.0.1]}}'],
  },
  'name-server-in-cluster': {
    bad: [
      'machine: {network: {nameservers: [169.254.116.108]}}',
      'apiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: 10.96.0.10}]',
      'machine: {network: {nameservers: [10.244.3.7]}}',
    ],
    good: [
      'machine: {network: {nameservers: [1.1.1.1, 10.0.0.53]}}',
      'cluster: {network: {serviceSubnets: [10.50.0.0/16]}}\nmachine: {network: {nameservers: [10.96.0.10]}}',
    ],
  },
  'registry-certificate': {
    bad: ['aGVsbG8=', 'AAAA', 'LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t'].map(
      (ca) => `machine: {registries: {config: {a.example.org: {tls: {ca: ${ca}}}}}}`,
    ),
    good: [
      `machine: {registries: {config: {a.example.org: {tls: {ca: ${Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64')}}}}}}`,
    ],
  },
  'registry-auth': {
    bad: ['not base64 !', 'aGVsbG8=', 'user:password'].map(
      (auth) => `machine: {registries: {config: {ghcr.io: {auth: {auth: "${auth}"}}}}}`,
    ),
    good: [
      `machine: {registries: {config: {ghcr.io: {auth: {auth: ${Buffer.from('me:word').toString('base64')}}}}}}`,
      'machine: {registries: {config: {ghcr.io: {auth: {username: me, password: word}}}}}',
    ],
  },
  'registry-user-in-url': {
    bad: ['user:word@m.example.org', 'user@m.example.org', 'u:w@10.0.0.1:5000/a'].map(
      (rest) => `machine: {registries: {mirrors: {docker.io: {endpoints: ["https://${rest}"]}}}}`,
    ),
    good: ['machine: {registries: {mirrors: {docker.io: {endpoints: ["https://m/a@b"]}}}}'],
  },
  'registry-closed': {
    bad: [
      'machine: {registries: {mirrors: {docker.io: {skipFallback: true}}}}',
      'machine: {registries: {mirrors: {docker.io: {endpoints: [], skipFallback: true}}}}',
      'apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: docker.io\nskipFallback: true',
    ],
    good: [
      'machine: {registries: {mirrors: {docker.io: {endpoints: ["https://m"], skipFallback: true}}}}',
    ],
  },
}
